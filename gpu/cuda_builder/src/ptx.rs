//! Reads PTX text: its definitions, and the things that it must not contain.
//!
//! The reader is not a PTX parser. It reads the text that LLVM's NVPTX backend writes. In this text, each
//! directive that matters here begins a line, and assembly from `asm!` and `global_asm!` is between marker
//! comments.

use std::fmt;

/// The definitions of a PTX file, and its violations of the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The kernels, in the order of the file.
    pub entries: Vec<Function>,
    /// Functions that were not inlined, in the order of the file. Each call costs time, and passes values
    /// through memory that an inlined call would not use.
    pub functions: Vec<Function>,
    /// The violations, in the order of their lines.
    pub violations: Vec<Violation>,
}

/// A kernel, or a function that kernels call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// The name in the PTX.
    pub name: String,
    /// The line of the function's head, counted from 1.
    pub line: usize,
    /// Bytes of each thread's local memory that the function declares (LLVM's `__local_depot`). Local memory
    /// holds arrays whose index is known only at run time, or whose address is taken. `ptxas` may add spills,
    /// or keep part of the memory in registers.
    pub local_bytes: u64,
}

/// A rule that the PTX breaks, and its position. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A function that is called but defined nowhere; a driver would refuse the module. Usually it belongs to
    /// another crate and is `#[inline(never)]` or recursive.
    #[error("line {line}: the function `{name}` is external; nothing can define it")]
    ExternalFunction {
        /// The line of the declaration.
        line: usize,
        /// The name.
        name: String,
    },
    /// A variable that is used but defined nowhere: a `static` of another crate (for example `core`'s Unicode
    /// tables). A `const` causes no violation, because it is copied into the crate that uses it. Dynamic
    /// shared memory is no violation either.
    #[error("line {line}: the variable `{name}` is external; nothing can define it")]
    ExternalVariable {
        /// The line of the declaration.
        line: usize,
        /// The name.
        name: String,
    },
    /// An expected kernel that is missing.
    #[error("the entry `{name}` is missing")]
    MissingEntry {
        /// The name.
        name: String,
    },
    /// A kernel that is not expected.
    #[error("line {line}: the entry `{name}` is not expected")]
    UnexpectedEntry {
        /// The line of the kernel's head.
        line: usize,
        /// The name.
        name: String,
    },
    /// An instruction that threads execute together, written as inline assembly. LLVM treats `asm!` as an
    /// ordinary computation and may move or copy it into divergent branches. There it hangs or gives wrong
    /// results. An LLVM intrinsic stays at its position.
    #[error(
        "line {line}: `{instruction}` is inline assembly, which the compiler may move; use the intrinsic"
    )]
    CollectiveInAssembly {
        /// The line of the instruction.
        line: usize,
        /// The instruction, without operands.
        instruction: String,
    },
    /// A path of the machine that compiled the PTX. The path would make the file differ from machine to
    /// machine.
    #[error("line {line}: contains the path `{path}` of this machine")]
    MachinePath {
        /// The line of the path.
        line: usize,
        /// The path.
        path: String,
    },
}

/// The instructions that a group of threads executes together, by the first part of their names. `activemask`
/// is not one of them: it returns the threads that are active at that point, wherever the point is.
const COLLECTIVES: &[&str] = &[
    "bar",
    "barrier",
    "elect",
    "ldmatrix",
    "match",
    "mma",
    "movmatrix",
    "redux",
    "shfl",
    "stmatrix",
    "vote",
    "wgmma",
    "wmma",
];

impl Report {
    /// Reads the text of a PTX file.
    pub fn read(ptx: &str) -> Self {
        let mut report = Self::default();
        let mut in_assembly = false;
        // The kind of function whose lines are being read. The function is the last element of that list.
        let mut inside = None;
        for (line, text) in (1..).zip(ptx.lines()) {
            let text = text.trim();
            match text {
                "// begin inline asm" | "// Start of file scope inline assembly" => in_assembly = true,
                "// end inline asm" | "// End of file scope inline assembly" => in_assembly = false,
                _ => {}
            }
            let code = text.split_once("//").map_or(text, |(code, _)| code).trim_end();
            if in_assembly {
                report.violations.extend(collectives(code).map(|instruction| {
                    Violation::CollectiveInAssembly { line, instruction: instruction.to_owned() }
                }));
            }
            if let Some(declared) = code.strip_prefix(".extern ") {
                report.violations.extend(external(line, declared));
            } else if let Some(name) = head(code, ".entry") {
                report.entries.push(Function { name: name.to_owned(), line, local_bytes: 0 });
                inside = Some(FunctionKind::Entry);
            } else if let Some(name) = head(code, ".func") {
                report.functions.push(Function { name: name.to_owned(), line, local_bytes: 0 });
                inside = Some(FunctionKind::Function);
            } else if let Some(bytes) = local_bytes(code) {
                let list = match inside {
                    Some(FunctionKind::Entry) => &mut report.entries,
                    Some(FunctionKind::Function) => &mut report.functions,
                    None => continue,
                };
                if let Some(function) = list.last_mut() {
                    function.local_bytes += bytes;
                }
            }
        }
        // A function may be declared before its body. The declaration and the body are then one function.
        let bodies = report.functions.clone();
        report.functions.retain(|f| !bodies.iter().any(|other| other.name == f.name && other.line > f.line));
        report
    }

    /// Adds a violation for each name in `expected` that is no entry, and for each entry that is not in
    /// `expected`.
    pub fn expect_entries<S: AsRef<str>>(&mut self, expected: &[S]) {
        let is_expected = |entry: &&Function| expected.iter().any(|name| name.as_ref() == entry.name);
        let unexpected = self.entries.iter().filter(|entry| !is_expected(entry));
        let unexpected =
            unexpected.map(|entry| Violation::UnexpectedEntry { line: entry.line, name: entry.name.clone() });
        let is_there = |name: &&S| self.entries.iter().any(|entry| entry.name == name.as_ref());
        let missing = expected.iter().filter(|name| !is_there(name));
        let missing = missing.map(|name| Violation::MissingEntry { name: name.as_ref().to_owned() });
        self.violations.extend(unexpected.chain(missing).collect::<Vec<_>>());
    }

    /// Adds a violation for each line of `ptx` that contains one of `paths`.
    pub(crate) fn forbid_paths(&mut self, ptx: &str, paths: &[String]) {
        for (line, text) in (1..).zip(ptx.lines()) {
            if let Some(path) = paths.iter().find(|path| text.contains(path.as_str())) {
                self.violations.push(Violation::MachinePath { line, path: path.clone() });
            }
        }
    }
}

/// Writes one line for each kernel and for each function that was not inlined.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("entry", &self.entries), ("function", &self.functions)];
        for (kind, function) in kinds.iter().flat_map(|(kind, list)| list.iter().map(move |f| (kind, f))) {
            let Function { name, line, local_bytes } = function;
            writeln!(f, "{kind} {name}: line {line}, {local_bytes} bytes of local memory")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum FunctionKind {
    Entry,
    Function,
}

/// The name in the head of a function of this kind: `.visible .func  (.param .b64 func_retval0) name(`.
pub(crate) fn head<'a>(code: &'a str, directive: &str) -> Option<&'a str> {
    let linkage = [".visible ", ".weak ", ".common "];
    let code = linkage.iter().find_map(|linkage| code.strip_prefix(linkage)).unwrap_or(code);
    name_after(code.strip_prefix(directive)?)
}

/// The first name, after a return value in parentheses if there is one.
fn name_after(code: &str) -> Option<&str> {
    let code = code.trim_start();
    let code = match code.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim_start(),
        None => code,
    };
    let end = code.find(|c: char| !is_name(c)).unwrap_or(code.len());
    (end > 0).then(|| &code[..end])
}

/// Returns `true` if names may contain this character.
pub(crate) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// The violation, if any, of a declaration that follows `.extern`.
fn external(line: usize, declared: &str) -> Option<Violation> {
    if let Some(rest) = declared.strip_prefix(".func") {
        let name = name_after(rest).unwrap_or_default().to_owned();
        return Some(Violation::ExternalFunction { line, name });
    }
    if declared.starts_with(".shared") {
        return None;
    }
    // `.global .align 4 .b8 name[204];`
    let name = declared.split_whitespace().last().unwrap_or_default();
    let name = name.split(['[', ';']).next().unwrap_or_default().to_owned();
    Some(Violation::ExternalVariable { line, name })
}

/// The size in `.local .align 4 .b8 __local_depot1[32];`.
fn local_bytes(code: &str) -> Option<u64> {
    let (declaration, rest) = code.strip_prefix(".local ")?.split_once('[')?;
    declaration.contains("__local_depot").then(|| rest.split_once(']')?.0.parse().ok()).flatten()
}

/// The collective instructions of a line of assembly, which may hold several statements, blocks, labels and
/// predicates: `{ @p shfl.sync.up.b32 r|q, a, 1, 0, -1; L: bar.sync 0; }`.
fn collectives(code: &str) -> impl Iterator<Item = &str> {
    code.split([';', '{', '}', ':']).filter_map(|statement| {
        let mut words = statement.split_whitespace();
        let instruction = words.find(|word| !word.starts_with('@'))?;
        let (first, _) = instruction.split_once('.')?;
        COLLECTIVES.contains(&first).then_some(instruction)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of the form that LLVM 22 writes.
    const PTX: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 7.8
.target sm_90
.address_size 64

	// .globl	one
// Start of file scope inline assembly
.extern .shared .align 16 .b8 DYNAMIC[];

// End of file scope inline assembly
.func  (.param .b64 func_retval0) _RNv_7quarter
(
	.param .b64 _RNv_7quarter_param_0
)
;
.global .align 4 .b8 TABLE[24] = {5, 0, 0, 0};

.visible .func  (.param .b64 func_retval0) _RNv_4half(
	.param .b64 _RNv_4half_param_0
)
{
	.local .align 4 .b8 	__local_depot0[8];
	ret;
}
	// .globl	one
.visible .entry one(
	.param .align 8 .b8 one_param_0[24]
)
{
	.reg .pred 	%p<2>;

	// begin inline asm
	activemask.b32 %r1;
	// end inline asm
	shfl.sync.up.b32 	%r6, %r5, 1, 0, -1;
	bar.sync 	0; // barrier
	// begin inline asm
	ld.acquire.gpu.b64 %rd1, [%rd2];
	// end inline asm
	ret;

}
.visible .entry two()
.maxntid 256
{
	.local .align 16 .b8 	__local_depot2[48];
	.local .align 4 .b8 	other[5];
	ret;
}
.func  (.param .b64 func_retval0) _RNv_7quarter(
	.param .b64 _RNv_7quarter_param_0
)
{
	ret;
}
";

    fn function(name: &str, line: usize, local_bytes: u64) -> Function {
        Function { name: name.into(), line, local_bytes }
    }

    fn assembly(line: usize, instruction: &str) -> Violation {
        Violation::CollectiveInAssembly { line, instruction: instruction.into() }
    }

    #[test]
    fn entries_functions_and_depots() {
        let report = Report::read(PTX);
        assert_eq!(report.entries, [function("one", 29, 0), function("two", 46, 48)]);
        assert_eq!(report.functions, [function("_RNv_4half", 21, 8), function("_RNv_7quarter", 53, 0)]);
        assert_eq!(report.violations, []);
        assert_eq!(
            report.to_string(),
            "entry one: line 29, 0 bytes of local memory\n\
             entry two: line 46, 48 bytes of local memory\n\
             function _RNv_4half: line 21, 8 bytes of local memory\n\
             function _RNv_7quarter: line 53, 0 bytes of local memory\n"
        );
    }

    #[test]
    fn expected_entries() {
        let mut report = Report::read(PTX);
        report.expect_entries(&["two", "one"]);
        assert_eq!(report.violations, []);
        report.expect_entries(&["one", "three"]);
        assert_eq!(
            report.violations,
            [
                Violation::UnexpectedEntry { line: 46, name: "two".into() },
                Violation::MissingEntry { name: "three".into() },
            ]
        );
    }

    #[test]
    fn externals_are_refused_but_for_shared_memory() {
        let report = Report::read(
            ".extern .func rust_begin_unwind\n(\n\t.param .b64 p\n)\n;\n\
             .extern .func  (.param .b32 func_retval0) vprintf(\n\
             .extern .global .align 4 .b8 _RNvNtCs9e_4core5TABLE[204];\n\
             .extern .const .b32 LIMIT;\n\
             .extern .shared .align 16 .b8 DYNAMIC[];\n",
        );
        assert_eq!(
            report.violations,
            [
                Violation::ExternalFunction { line: 1, name: "rust_begin_unwind".into() },
                Violation::ExternalFunction { line: 6, name: "vprintf".into() },
                Violation::ExternalVariable { line: 7, name: "_RNvNtCs9e_4core5TABLE".into() },
                Violation::ExternalVariable { line: 8, name: "LIMIT".into() },
            ]
        );
        assert_eq!(report.functions, []);
        assert_eq!(
            report.violations[0].to_string(),
            "line 1: the function `rust_begin_unwind` is external; nothing can define it"
        );
    }

    #[test]
    fn collectives_are_refused_in_assembly_only() {
        for instruction in [
            "shfl.sync.up.b32",
            "vote.sync.ballot.b32",
            "match.any.sync.b32",
            "match.all.sync.b64",
            "bar.sync",
            "bar.red.popc.u32",
            "bar.warp.sync",
            "barrier.sync",
            "barrier.cta.sync.aligned",
            "redux.sync.add.u32",
        ] {
            let line = format!("\t{instruction} %r1, %r2;");
            assert_eq!(Report::read(&line).violations, [], "{instruction}");
            let in_assembly = format!("\t// begin inline asm\n{line}\n\t// end inline asm\n{line}\n");
            assert_eq!(Report::read(&in_assembly).violations, [assembly(2, instruction)]);
            let file_scope = format!(
                "// Start of file scope inline assembly\n{line}\n// End of file scope inline assembly\n{line}\n"
            );
            assert_eq!(Report::read(&file_scope).violations, [assembly(2, instruction)]);
        }
    }

    #[test]
    fn collectives_are_found_wherever_they_stand_in_the_assembly() {
        let report = Report::read(
            "// begin inline asm\n\
             { .reg .pred q; setp.ne.u32 q, %r1, 0; @q vote.sync.any.pred q, q, -1; }\n\
             AGAIN: @!%p1 bar.sync 0; mov.u32 %r1, shfl.sync; // redux.sync\n\
             \tmov.b64 {%r2, %r3}, %rd1;\n\
             // bar.sync 0;\n\
             \tactivemask.b32 %r4;\n\
             // end inline asm\n",
        );
        assert_eq!(report.violations, [assembly(2, "vote.sync.any.pred"), assembly(3, "bar.sync")]);
    }

    #[test]
    fn paths_are_refused_with_their_lines() {
        let mut report = Report::default();
        report.forbid_paths("a\n.file 1 \"/home/me/gpu/src/lib.rs\"\n", &["/opt".into(), "/home/me".into()]);
        assert_eq!(report.violations, [Violation::MachinePath { line: 2, path: "/home/me".into() }]);
    }

    #[test]
    fn other_text_is_read_without_a_fuss() {
        for text in
            ["", "\0", ".func", ".extern ", ".extern .func", ".visible .entry (", "é;{:}@ .local [", "//"]
        {
            assert_eq!(Report::read(text).entries, []);
        }
    }
}
