//! Launch bounds, which limit a kernel's registers: they are given in the source and written to the PTX.
//!
//! rustc has no attribute for PTX's performance-tuning directives. So `#[kernel(launch_bounds(256, 3))]`
//! leaves a comment in the module's assembly, `// launch_bounds NAME THREADS BLOCKS`. The builder then writes
//! `.maxntid` and `.minnctapersm` between the entry's parameters and its body (PTX ISA, section
//! "Performance-Tuning Directives").

use std::fmt::Write;

/// The start of the comment.
const MARK: &str = "// launch_bounds ";

/// The PTX with the directives that its comments request.
///
/// # Errors
/// The comment, if it is malformed, or a text with the entry that a comment names but that the PTX lacks.
pub fn apply(ptx: &str) -> Result<String, String> {
    let mut bounds = Vec::new();
    for line in ptx.lines() {
        if let Some(wanted) = line.trim().strip_prefix(MARK) {
            let words: Vec<&str> = wanted.split_whitespace().collect();
            match words[..] {
                [name, threads, blocks]
                    if threads.parse::<u32>().is_ok() && blocks.parse::<u32>().is_ok() =>
                {
                    bounds.push((format!(".visible .entry {name}("), threads, blocks));
                }
                _ => return Err(line.to_owned()),
            }
        }
    }
    let mut out = String::with_capacity(ptx.len() + 64 * bounds.len());
    // The bounds of the entry that is being read, set from the entry's first line to the end of its
    // parameters.
    let mut waiting = None;
    for line in ptx.lines() {
        out.push_str(line);
        out.push('\n');
        if let Some(at) = bounds.iter().position(|(start, ..)| line.starts_with(start.as_str())) {
            waiting = Some(bounds.swap_remove(at));
        }
        if line.trim_end().ends_with(')')
            && let Some((_, threads, blocks)) = waiting.take()
        {
            // Writing to a string cannot fail.
            let _ = writeln!(out, ".maxntid {threads}, 1, 1\n.minnctapersm {blocks}");
        }
    }
    match bounds.first() {
        Some((start, ..)) => Err(format!("no `{start}`")),
        None => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
// launch_bounds b 256 3
.visible .entry a(
	.param .align 8 .b8 a_param_0[32]
)
{
	ret;
}
.visible .entry b(
	.param .align 8 .b8 b_param_0[32]
)
{
	ret;
}
";

    #[test]
    fn directives_stand_before_the_body() {
        let out = apply(PTX).unwrap();
        let wanted = "b_param_0[32]\n)\n.maxntid 256, 1, 1\n.minnctapersm 3\n{\n";
        assert!(out.contains(wanted), "{out}");
        assert_eq!(out.matches(".maxntid").count(), 1);
        assert_eq!(apply(&out.replace(MARK, "// ")).unwrap(), out.replace(MARK, "// "));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        assert!(apply(&PTX.replace("launch_bounds b", "launch_bounds c")).is_err());
        assert!(apply(&PTX.replace("256 3", "256")).is_err());
    }
}
