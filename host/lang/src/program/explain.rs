//! Programs as text.

use std::fmt::{self, Display, Formatter};

use warpath_shared::ir::{ABSENT, FAIL, Instr, LiteralKind, Op, PASS, Test, TestKind, relation};

use super::Program;

const RELATIONS: [(u32, &str); 6] = [
    (relation::EQUAL, "=="),
    (relation::UNEQUAL, "!="),
    (relation::LESS, "<"),
    (relation::LESS | relation::EQUAL, "<="),
    (relation::GREATER, ">"),
    (relation::GREATER | relation::EQUAL, ">="),
];

const OPS: [(Op, &str); 9] = [
    (Op::Return, "return"),
    (Op::Emit, "emit"),
    (Op::Name, "name"),
    (Op::Index, "index"),
    (Op::Slice, "slice"),
    (Op::Wildcard, "wildcard"),
    (Op::Filter, "filter"),
    (Op::Descend, "descend"),
    (Op::Collect, "collect"),
];

impl Program {
    fn text(&self, (offset, len): (u32, u32)) -> String {
        let (offset, len) = (offset as usize, len as usize);
        let bytes = self.literals.get(offset..offset + len).unwrap_or(b"?");
        format!("{:?}", String::from_utf8_lossy(bytes))
    }

    /// Writes the singular path of a test, or the block that it runs.
    fn write_path(&self, f: &mut Formatter<'_>, test: &Test) -> fmt::Result {
        f.write_str(if test.from_root != 0 { "$" } else { "@" })?;
        if test.kind >= TestKind::FIRST_THAT_RUNS_BLOCK {
            return write!(f, " -> {}", test.path);
        }
        for step in self.instrs[test.path as usize..].iter().take_while(|step| step.op != Op::Return as u32) {
            if step.op == Op::Name as u32 {
                write!(f, "[{}]", self.text(step.name()))?;
            } else {
                write!(f, "[{}]", step.a)?;
            }
        }
        Ok(())
    }

    /// Writes the literal of a test. `kind` is the literal's kind.
    fn write_literal(&self, f: &mut Formatter<'_>, test: &Test, kind: u32) -> fmt::Result {
        let text = || self.text((test.offset, test.len));
        match kind {
            kind if kind == LiteralKind::Null as u32 => f.write_str("null"),
            kind if kind == LiteralKind::False as u32 => f.write_str("false"),
            kind if kind == LiteralKind::True as u32 => f.write_str("true"),
            kind if kind == LiteralKind::Number as u32 && test.len == 0 => f.write_str("0"),
            kind if kind == LiteralKind::Number as u32 => {
                let sign = if test.negative != 0 { "-" } else { "" };
                write!(f, "{sign}0.{}e{}", text().trim_matches('"'), test.exponent)
            }
            _ => {
                let literal = self.literals.get(test.offset as usize..(test.offset + test.len) as usize);
                match literal.and_then(|literal| self.host_tests.describe(literal)) {
                    Some(described) => f.write_str(described),
                    None => f.write_str(&text()),
                }
            }
        }
    }

    /// Writes the automaton of a test: its offset, and the function and the pattern that it is of.
    fn write_accepted(&self, f: &mut Formatter<'_>, test: &Test) -> fmt::Result {
        write!(f, " accepted by {}", test.offset)?;
        match self.accepted.iter().find(|(at, _)| *at == test.offset) {
            Some((_, of)) => write!(f, ": {of}"),
            None => Ok(()),
        }
    }

    /// Writes a test.
    fn write_test(&self, f: &mut Formatter<'_>, test: &Test) -> fmt::Result {
        const LOADS: [(TestKind, &str); 3] =
            [(TestKind::LoadPath, ""), (TestKind::Count, "count "), (TestKind::Value, "value ")];
        let relation = RELATIONS.iter().find(|(relation, _)| *relation == test.relation);
        let relation = relation.map_or("?", |(_, text)| text);
        let slot = ["a", "b"][test.slot as usize & 1];
        if test.kind < TestKind::Exists as u32 {
            self.write_path(f, test)?;
            write!(f, " {relation} ")?;
            return self.write_literal(f, test, test.kind);
        }
        if let Some((_, what)) = LOADS.iter().find(|(kind, _)| *kind as u32 == test.kind) {
            write!(f, "{slot} = {what}")?;
            return self.write_path(f, test);
        }
        match test.kind {
            kind if kind == TestKind::LoadLiteral as u32 => {
                write!(f, "{slot} = ")?;
                self.write_literal(f, test, test.raw)
            }
            kind if kind == TestKind::Length as u32 => write!(f, "{slot} = length {slot}"),
            kind if kind == TestKind::Compare as u32 => write!(f, "a {relation} b"),
            kind if kind == TestKind::PatternOf as u32 => {
                f.write_str("a")?;
                self.write_accepted(f, test)
            }
            kind if kind == TestKind::PatternAtRun as u32 && test.negative == 0 => f.write_str("a matches b"),
            kind if kind == TestKind::PatternAtRun as u32 => f.write_str("a contains b"),
            kind if kind == TestKind::Pattern as u32 => {
                self.write_path(f, test)?;
                self.write_accepted(f, test)
            }
            _ => {
                f.write_str("any ")?;
                self.write_path(f, test)
            }
        }
    }

    /// Returns true if a test is shown with its filter: it is the first and the only one.
    fn is_told(&self, at: usize) -> bool {
        let is_first = |instr: &Instr| instr.op == Op::Filter as u32 && instr.a as usize == at;
        Self::is_alone(&self.tests[at]) && self.instrs[..self.blocks as usize].iter().any(is_first)
    }

    /// Returns true if a test is the whole filter, and is then shown with the filter.
    fn is_alone(test: &Test) -> bool {
        test.kind <= TestKind::Exists as u32 && test.then == PASS && test.otherwise == FAIL
    }

    fn write_instr(&self, f: &mut Formatter<'_>, at: usize, instr: &Instr) -> fmt::Result {
        let name = OPS.iter().find(|(op, _)| *op as u32 == instr.op).map_or("?", |(_, name)| name);
        // A filter of the node itself has a name of its own.
        let name = if instr.op == Op::Filter as u32 && instr.b == 0 { "only if" } else { name };
        write!(f, "{at:>4}  {name:<9}")?;
        let bound = |bound: i64| if bound == ABSENT { String::new() } else { bound.to_string() };
        match instr.op {
            op if op == Op::Emit as u32 => write!(f, "path {}", instr.target)?,
            op if op == Op::Name as u32 => f.write_str(&self.text(instr.name()))?,
            op if op == Op::Index as u32 => write!(f, "{}", instr.a)?,
            op if op == Op::Slice as u32 => {
                write!(f, "{}:{}:{}", bound(instr.a), bound(instr.b), instr.c)?;
            }
            op if op == Op::Filter as u32 => match &self.tests[instr.a as usize] {
                test if Self::is_alone(test) => self.write_test(f, test)?,
                _ => write!(f, "test {}", instr.a)?,
            },
            _ => {}
        }
        let enters = ![Op::Return, Op::Emit, Op::Collect].iter().any(|op| *op as u32 == instr.op);
        if enters { writeln!(f, "  -> {}", instr.target) } else { writeln!(f) }
    }
}

impl Display for Program {
    /// Writes one instruction per line: its number, its name, the nodes that it selects, and the block that
    /// it enters. Then come the tests of filters with several tests, one per line, each with the next test.
    /// The paths of filters are shown where they are used.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let paths = if self.paths == 1 { "path" } else { "paths" };
        let levels = if self.levels == 1 { "level" } else { "levels" };
        let singular = if self.singular { ", singular" } else { "" };
        if self.needs_trees {
            writeln!(f, "{} {paths}, by trees", self.paths)?;
        } else {
            writeln!(f, "{} {paths}, {} {levels}{singular}", self.paths, self.levels)?;
        }
        for (at, instr) in self.instrs[..self.blocks as usize].iter().enumerate() {
            let line = Shown(|f: &mut Formatter<'_>| self.write_instr(f, at, instr)).to_string();
            writeln!(f, "{}", line.trim_end())?;
        }
        for (at, test) in self.tests.iter().enumerate().filter(|(at, _)| !self.is_told(*at)) {
            let asked = Shown(|f: &mut Formatter<'_>| self.write_test(f, test)).to_string();
            let next = |next| match next {
                PASS => "pass".to_owned(),
                FAIL => "fail".to_owned(),
                next => next.to_string(),
            };
            let (then, otherwise) = (next(test.then), next(test.otherwise));
            write!(f, "test {at:<3}  {asked}  -> {then}")?;
            if then == otherwise { writeln!(f)? } else { writeln!(f, ", else {otherwise}")? }
        }
        Ok(())
    }
}

/// A function as a `Display`.
struct Shown<F>(F);

impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Shown<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}
