//! Compiles the templates of generated data to Rust, so that they are written as fast as code.
//!
//! A template in `templates` is made of sections. A section has a header that begins at the first column, and
//! indented lines. Lines that begin with `#` are comments.
//!
//! | header | lines |
//! |---|---|
//! | `list NAME` | values between ` \| ` |
//! | `rows NAME COLUMN…` | one row a line, of values between ` \| `; `row.COLUMN` is a value of a row |
//! | `fields NAME…` | none: the names of the elements of lists that the template makes |
//! | `start` | evaluated at the beginning of each block; its variables are known in all parts |
//! | `record` | the record |
//! | `part NAME PARAMETER…` | text that other parts write with `{NAME(…)}` |
//!
//! A value is a number or a text, which may be in double quotes. `@NAME` is another table, `&NAME` a part
//! with one parameter or none. The lines of a part are joined without their indentation. A tag is in braces
//! and begins with a small letter, a digit, `'` or `(`; all other braces are text:
//!
//! | tag | effect |
//! |---|---|
//! | `{VALUE}` | writes a value |
//! | `{x = VALUE}`, `{x += VALUE}` | sets a variable |
//! | `{if VALUE}…{elif VALUE}…{else}…{end}`, `{while VALUE}…{end}` | as in other languages |
//! | `{for x in VALUE}…{end}` | once for each element, or for each number below the value |
//! | `{list x in VALUE}…{end}` | the same, with commas between the elements |
//! | `{capture x}…{end}` | sets a variable to a text, and writes nothing |
//! | `{return VALUE}` | the value of a call of the part; the last tag of the part |
//!
//! Values have Rust's operators on wrapping 64-bit numbers, `a ? b : c`, `'text'`, `[a, b]`, `list[n]`,
//! `row.COLUMN`, and calls of parts and of the functions of `src/generate/template.rs`. They are evaluated
//! from left to right, so that random numbers are drawn in the order of the text.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The names of templates and their files.
const TEMPLATES: [(&str, &[&str]); 11] = [
    ("bestbuy", &["bestbuy"]),
    ("bluesky", &["languages", "bluesky"]),
    ("dblp", &["dblp"]),
    ("events", &["events"]),
    ("logs", &["logs"]),
    ("maps", &["maps"]),
    ("names", &["names"]),
    ("sized", &["sized"]),
    ("twitter", &["languages", "twitter"]),
    ("urls", &["urls"]),
    ("walmart", &["walmart"]),
];

/// Variables that are set before `start`: the number of the block, and what the shape's name says.
const GIVEN: [&str; 4] = ["block", "line_bytes", "message", "order"];

/// The operators, how tightly they bind, and the functions that they call. Longer texts come before their
/// beginnings.
const OPERATORS: [(&str, u8, &str); 17] = [
    ("||", 1, "or"),
    ("&&", 2, "and"),
    ("==", 3, "equal"),
    ("!=", 3, "differ"),
    ("<<", 6, "shift_left"),
    (">>", 6, "shift_right"),
    ("<=", 3, "at_most"),
    (">=", 3, "at_least"),
    ("<", 3, "less"),
    (">", 3, "greater"),
    ("|", 4, "bits_or"),
    ("&", 5, "bits_and"),
    ("+", 7, "sum"),
    ("-", 7, "difference"),
    ("*", 8, "product"),
    ("/", 8, "quotient"),
    ("%", 8, "remainder"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=templates");
    let mut code = String::new();
    for (name, files) in TEMPLATES {
        let read = |file: &&str| {
            let path = format!("templates/{file}.tmpl");
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        code += &compile(name, &files.iter().map(read).collect::<String>());
    }
    let folder = env::var_os("OUT_DIR").expect("cargo sets the folder");
    fs::write(Path::new(&folder).join("templates.rs"), code).expect("cargo has made the folder");
}

/// The names that all parts of a template can use.
#[derive(Default)]
struct Names<'a> {
    template: &'a str,
    /// The parameters of each part.
    parts: HashMap<&'a str, &'a [&'a str]>,
    tables: Vec<&'a str>,
    columns: HashMap<&'a str, usize>,
    globals: Vec<&'a str>,
}

/// The code of a template: its tables, its parts, and a `Template` with the name of the template.
fn compile(template: &str, source: &str) -> String {
    let mut sections: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in source.lines() {
        match (line.bytes().next(), sections.last_mut()) {
            (None | Some(b'#'), _) => {}
            (Some(b' '), Some((_, lines))) => lines.push(line.trim()),
            _ => sections.push((line.split_whitespace().collect(), Vec::new())),
        }
    }
    let mut names = Names { template, globals: GIVEN.to_vec(), ..Names::default() };
    for (header, _) in &sections {
        match header[..] {
            ["part", name, ..] => _ = names.parts.insert(name, &header[2..]),
            ["list" | "rows", name, ..] => {
                names.tables.push(name);
                names.columns(&header[2..]);
            }
            ["fields", ..] => names.columns(&header[1..]),
            _ => {}
        }
    }
    let mut code = String::new();
    for (header, lines) in &sections {
        let rows = lines.iter().map(|line| names.values(line));
        let values: Vec<String> = match header[0] {
            "list" => rows.flatten().collect(),
            "rows" => rows.map(|row| format!("Table(&[{}])", row.join(", "))).collect(),
            _ => continue,
        };
        let name = names.table(header[1]);
        let _ = writeln!(code, "const {name}: &[Value] = &[{}];", values.join(", "));
    }
    // The variables of `start` are known in all parts, which are therefore compiled after it.
    let is_start = |header: &[&str]| header[0] == "start";
    let (start, others): (Vec<_>, Vec<_>) = sections.iter().partition(|(header, _)| is_start(header));
    code += "impl Run {\n";
    if start.is_empty() {
        code += &Part::compile(&mut names, "start", &[], "");
    }
    for (header, lines) in start.into_iter().chain(others) {
        let text = lines.concat();
        code += &match header[0] {
            "part" => Part::compile(&mut names, header[1], &header[2..], &text),
            name @ ("start" | "record") => Part::compile(&mut names, name, &[], &text),
            _ => continue,
        };
    }
    let tables = names.tables.iter().map(|name| format!("({name:?}, {})", names.table(name)));
    let parts = names.parts.iter().filter(|(_, parameters)| parameters.is_empty());
    let parts = parts.map(|(name, _)| format!("({name:?}, Run::{template}_{name})"));
    let mut parts = parts.collect::<Vec<_>>();
    parts.sort();
    let _ = writeln!(
        code,
        "}}\npub(super) static {}: Template = Template {{ start: Run::{template}_start, record: Run::{template}_record, \
         globals: &{:?}, tables: &[{}], parts: &[{}] }};",
        template.to_uppercase(),
        names.globals,
        tables.collect::<Vec<_>>().join(", "),
        parts.join(", ")
    );
    code
}

impl<'a> Names<'a> {
    fn table(&self, name: &str) -> String {
        format!("{}_{name}", self.template).to_uppercase()
    }

    fn columns(&mut self, columns: &[&'a str]) {
        for (at, column) in columns.iter().enumerate() {
            let known = *self.columns.entry(column).or_insert(at);
            assert!(known == at, "{column} is the name of two columns");
        }
    }

    fn values(&self, line: &str) -> Vec<String> {
        line.split(" | ").map(|text| self.value(text.trim())).collect()
    }

    fn value(&self, text: &str) -> String {
        if let Some(table) = text.strip_prefix('@') {
            return format!("Table({})", self.table(table));
        }
        if let Some(part) = text.strip_prefix('&') {
            let name = format!("{}_{part}", self.template);
            return if self.parts[part].is_empty() {
                format!("Part(|run, _| run.{name}(), {part:?})")
            } else {
                format!("Part(Run::{name}, {part:?})")
            };
        }
        if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return format!("Text({text:?})");
        }
        // A text that would be another as a number stays a text.
        match text.parse::<u64>() {
            Ok(number) if number.to_string() == text => format!("Number({number})"),
            _ => format!("Text({text:?})"),
        }
    }
}

enum Segment<'a> {
    Text(&'a str),
    Tag(&'a str),
}

fn segments(mut text: &str) -> Vec<Segment<'_>> {
    let is_tag = |after: &str| {
        after.starts_with(|char: char| {
            char.is_ascii_lowercase() || char.is_ascii_digit() || char == '\'' || char == '('
        })
    };
    let mut segments = Vec::new();
    while !text.is_empty() {
        let tag = text.match_indices('{').map(|(at, _)| at).find(|at| is_tag(&text[at + 1..]));
        let (before, rest) = text.split_at(tag.unwrap_or(text.len()));
        if !before.is_empty() {
            segments.push(Segment::Text(before));
        }
        text = rest;
        if tag.is_some() {
            let mut quoted = false;
            let end = rest.find(|char| {
                quoted ^= char == '\'';
                char == '}' && !quoted
            });
            let end = end.unwrap_or_else(|| panic!("no end of the tag: {rest}"));
            segments.push(Segment::Tag(&rest[1..end]));
            text = &rest[end + 1..];
        }
    }
    segments
}

/// A part that is compiled.
struct Part<'n, 'a> {
    names: &'n mut Names<'a>,
    name: &'a str,
    locals: Vec<&'a str>,
    segments: std::vec::IntoIter<Segment<'a>>,
    /// The unread rest of the tag.
    rest: &'a str,
    value: String,
}

fn end_of_name(text: &str) -> usize {
    text.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(text.len())
}

/// A call of a method of the state, whose arguments may call others.
fn call(method: &str, arguments: &[String]) -> String {
    let names: Vec<String> = (0..arguments.len()).map(|at| format!("a{at}")).collect();
    let names = names.join(", ");
    match arguments {
        [] => format!("self.{method}()"),
        _ => format!("{{ let ({names},) = ({},); self.{method}({names}) }}", arguments.join(", ")),
    }
}

impl<'a> Part<'_, 'a> {
    /// The function of a part.
    fn compile(names: &mut Names<'a>, name: &'a str, parameters: &[&'a str], text: &str) -> String {
        let text: &'a str = text.to_owned().leak();
        let segments = segments(text).into_iter();
        let value = "Nothing".into();
        let mut part = Part { names, name, locals: parameters.to_vec(), segments, rest: "", value };
        let (body, last) = part.block();
        assert!(last.is_empty(), "{name}: {last} without a beginning");
        let (value, template) = (part.value, part.names.template);
        let signature: String =
            parameters.iter().map(|parameter| format!(", p_{parameter}: Value")).collect();
        // An array, so that a variable may be set without being used.
        let mut variables: Vec<String> =
            parameters.iter().map(|parameter| format!("p_{parameter}")).collect();
        variables.resize(part.locals.len(), "Nothing".into());
        let uses = body.contains("v[") || value.contains("v[");
        let variables =
            if uses { format!("let v = &mut [{}];", variables.join(", ")) } else { String::new() };
        format!("fn {template}_{name}(&mut self{signature}) -> Value {{ {variables}\n{body}{value} }}\n")
    }

    /// Compiles up to a tag that ends a block, and returns that, or an empty text at the end of the part.
    fn block(&mut self) -> (String, &'a str) {
        let mut code = String::new();
        while let Some(segment) = self.segments.next() {
            let tag = match segment {
                Segment::Text(text) => {
                    let method = if text.is_ascii() { "plain" } else { "text" };
                    let _ = writeln!(code, "self.{method}({text:?});");
                    continue;
                }
                Segment::Tag(tag) => tag,
            };
            let (word, rest) = tag.split_once(' ').unwrap_or((tag, ""));
            code += &match word {
                "end" | "else" | "elif" => return (code, tag),
                "if" => self.branches(rest),
                "while" => format!("while {}.holds() {{\n{}}}\n", self.whole(rest), self.body()),
                "for" | "list" => {
                    let (name, of) = rest.split_once(" in ").unwrap_or_else(|| panic!("no `in`: {tag}"));
                    let of = self.whole(of);
                    let comma = if word == "list" { "if at > 0 { self.plain(\",\"); }" } else { "" };
                    let variable = self.variable(name);
                    let body = self.body();
                    format!(
                        "{{ let of = {of}; for at in 0..self.elements(of) {{ {comma}{variable} = self.element(of, at);\n{body}}} }}\n"
                    )
                }
                "capture" => {
                    let variable = self.variable(rest);
                    let body = self.body();
                    format!("{{ let begin = self.written();\n{body}{variable} = self.captured(begin); }}\n")
                }
                "return" => {
                    self.value = self.whole(rest);
                    continue;
                }
                _ => self.assignment(tag),
            };
        }
        (code, "")
    }

    fn body(&mut self) -> String {
        let (body, last) = self.block();
        assert_eq!(last, "end", "{}", self.name);
        body
    }

    fn branches(&mut self, condition: &'a str) -> String {
        let mut code = format!("if {}.holds()", self.whole(condition));
        loop {
            let (body, last) = self.block();
            let _ = write!(code, " {{\n{body}}}");
            match last.strip_prefix("elif ") {
                Some(other) => code += &format!(" else if {}.holds()", self.whole(other)),
                None if last == "else" => code += " else",
                None => return code + "\n",
            }
        }
    }

    /// A tag that sets a variable, or else writes a value.
    fn assignment(&mut self, tag: &'a str) -> String {
        let (name, operator) = tag.split_at(end_of_name(tag));
        if let Some(value) = operator.strip_prefix(" = ") {
            let value = self.whole(value);
            return format!("{} = {value};\n", self.variable(name));
        }
        if let Some(value) = operator.strip_prefix(" += ") {
            let value = self.whole(value);
            let variable = self.variable(name);
            return format!("{variable} = sum({variable}, {value});\n");
        }
        call("write", &[self.whole(tag)]) + ";\n"
    }

    /// The variable of a name, which becomes one if it is none yet.
    fn variable(&mut self, name: &'a str) -> String {
        if let Some(known) = self.known(name) {
            return known;
        }
        let names = if self.name == "start" { &mut self.names.globals } else { &mut self.locals };
        names.push(name);
        self.known(name).expect("it was added")
    }

    fn known(&self, name: &str) -> Option<String> {
        let at = |names: &[&str]| names.iter().position(|known| *known == name);
        let local = at(&self.locals).map(|at| format!("v[{at}]"));
        local.or_else(|| at(&self.names.globals).map(|at| format!("self.globals[{at}]")))
    }

    /// Compiles a text that is one expression.
    fn whole(&mut self, text: &'a str) -> String {
        self.rest = text;
        let expression = self.expression();
        assert!(self.rest.is_empty(), "{}: {} is left of {text}", self.name, self.rest);
        expression
    }

    /// Skips spaces and `token`, if that is next.
    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expects(&mut self, token: &str) {
        assert!(self.takes(token), "{}: {token} expected before {:?}", self.name, self.rest);
    }

    fn name(&mut self) -> &'a str {
        let (name, rest) = self.rest.split_at(end_of_name(self.rest));
        self.rest = rest;
        name
    }

    fn expression(&mut self) -> String {
        let condition = self.operation(1);
        if !self.takes("?") {
            return condition;
        }
        let then = self.expression();
        self.expects(":");
        format!("if {condition}.holds() {{ {then} }} else {{ {} }}", self.expression())
    }

    /// Compiles operations that bind at least so tightly.
    fn operation(&mut self, least: u8) -> String {
        let mut left = self.operand();
        loop {
            let rest = self.rest.trim_start();
            let next = OPERATORS.iter().find(|(text, ..)| rest.starts_with(text));
            let Some((text, level, function)) = next.filter(|(_, level, _)| *level >= least) else {
                return left;
            };
            self.expects(text);
            let right = self.operation(level + 1);
            left = match *function {
                // The right side is evaluated only if the left side does not decide.
                "and" => format!("truth({left}.holds() && {right}.holds())"),
                "or" => format!("truth({left}.holds() || {right}.holds())"),
                function => format!("{function}({left}, {right})"),
            };
        }
    }

    fn operand(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let mut value = if self.takes("!") {
            return format!("truth(!{}.holds())", self.operand());
        } else if self.takes("(") {
            let value = self.expression();
            self.expects(")");
            format!("group({value})")
        } else if self.takes("[") {
            format!("{{ let list = [{}]; self.made(&list) }}", self.list("]").join(", "))
        } else if self.takes("'") {
            let (text, rest) = self.rest.split_once('\'').expect("texts end");
            self.rest = rest;
            format!("Text({text:?})")
        } else {
            let name = self.name();
            self.named(name)
        };
        loop {
            if self.takes("[") {
                let at = self.expression();
                self.expects("]");
                value = call("item", &[value, at]);
            } else if self.takes(".") {
                let name = self.name();
                let at = name.parse().ok().or_else(|| self.names.columns.get(name).copied());
                let at = at.unwrap_or_else(|| panic!("{}: no column {name}", self.name));
                value = call("item", &[value, format!("Number({at})")]);
            } else if self.takes("(") {
                let argument = self.list(")").pop().unwrap_or_else(|| "Nothing".into());
                value = call("apply", &[value, argument]);
            } else {
                return value;
            }
        }
    }

    fn named(&mut self, name: &str) -> String {
        if name.starts_with(|char: char| char.is_ascii_digit()) {
            return format!("Number({name})");
        }
        if let Some(variable) = self.known(name) {
            return variable;
        }
        if name == "nl" {
            return "Text(\"\\n\")".into();
        }
        if self.names.tables.contains(&name) {
            return format!("Table({})", self.names.table(name));
        }
        self.expects("(");
        let arguments = self.list(")");
        if self.names.parts.contains_key(name) {
            return call(&format!("{}_{name}", self.names.template), &arguments);
        }
        call(name, &arguments)
    }

    /// Compiles expressions between commas, up to `end`.
    fn list(&mut self, end: &str) -> Vec<String> {
        let mut values = Vec::new();
        while !self.takes(end) {
            assert!(values.is_empty() || self.takes(","), "{}: comma before {:?}", self.name, self.rest);
            values.push(self.expression());
        }
        values
    }
}
