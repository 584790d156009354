//! Splits a PTX text into one text for each group of kernels, with everything that those kernels use.
//!
//! A driver compiles a whole module when it is loaded, and one query needs few of the kernels. But rustc
//! makes one text of a crate. So this module splits the text, by names. An *item* is a variable or a function
//! of the text. It *uses* the items whose names it contains. A module is its kernels and everything that they
//! use, directly or not, in the order of the text. A function that kernels of several modules call is in each
//! of these modules.

use std::collections::{BTreeMap, BTreeSet};

use crate::ptx::{head, is_name};

/// The reason why a text could not be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A kernel that a module should have, but that is not in the text.
    #[error("module `{module}`: the PTX has no entry `{kernel}`")]
    NoEntry {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// A kernel of the text that is in no module.
    #[error(
        "the entry `{kernel}` is in no module: give it one in `for_each_kernel!` (shared/src/kernel/table.rs)"
    )]
    NoModule {
        /// The kernel.
        kernel: String,
    },
    /// The text does not have the form that LLVM writes. At this line begins something that is neither a
    /// variable nor a function, or that does not end.
    #[error("line {line} begins nothing that is known: `{text}`")]
    Unknown {
        /// The line at which it begins, counted from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
}

/// A variable, a function, or the declaration of one.
struct Item<'a> {
    name: &'a str,
    is_entry: bool,
    text: &'a str,
    /// The words of the text, among them the names of the items that it uses.
    uses: BTreeSet<&'a str>,
}

/// Returns one text for each module, in the order of `modules`. `modules` has the names of all kernels of the
/// text, each in a module.
///
/// Comments outside of functions are removed, except those before the first directive.
///
/// # Errors
/// [`SplitError`].
pub(crate) fn split(ptx: &str, modules: &[(&str, Vec<&str>)]) -> Result<Vec<String>, SplitError> {
    let (preamble, items) = items(ptx)?;
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        by_name.entry(item.name).or_default().push(at);
    }
    let in_a_module = |name: &str| modules.iter().any(|(_, kernels)| kernels.contains(&name));
    if let Some(item) = items.iter().find(|item| item.is_entry && !in_a_module(item.name)) {
        return Err(SplitError::NoModule { kernel: item.name.to_owned() });
    }
    let module = |(module, kernels): &(&str, Vec<&str>)| {
        let is_entry = |name: &str| items.iter().any(|item| item.is_entry && item.name == name);
        if let Some(kernel) = kernels.iter().find(|kernel| !is_entry(kernel)) {
            return Err(SplitError::NoEntry { module: (*module).to_owned(), kernel: (*kernel).to_owned() });
        }
        let mut wanted = BTreeSet::new();
        let mut names = kernels.clone();
        while let Some(name) = names.pop() {
            for &at in by_name.get(name).into_iter().flatten() {
                if wanted.insert(at) {
                    names.extend(items[at].uses.iter().filter(|other| **other != name));
                }
            }
        }
        let texts = wanted.iter().map(|at| items[*at].text);
        Ok(std::iter::once(preamble).chain(texts).map(|text| format!("{}\n", text.trim_end())).collect())
    };
    modules.iter().map(module).collect()
}

/// The text before the first item, and the items.
fn items(ptx: &str) -> Result<(&str, Vec<Item<'_>>), SplitError> {
    let mut items = Vec::new();
    let mut preamble = None;
    // The offset and the line number at which the current item begins, and whether its body has begun.
    let mut begin: Option<(usize, usize)> = None;
    let mut in_body = false;
    let mut at = 0;
    for (number, line) in (1..).zip(ptx.split_inclusive('\n')) {
        let start = at;
        at += line.len();
        let code = line.split_once("//").map_or(line, |(code, _)| code).trim_end();
        let is_setting =
            [".version ", ".target ", ".address_size "].iter().any(|name| code.starts_with(name));
        if begin.is_none() && (code.trim().is_empty() || is_setting) {
            continue;
        }
        preamble.get_or_insert(start);
        let (first, of_line) = *begin.get_or_insert((start, number));
        in_body |= code == "{";
        if if in_body { code == "}" } else { code.ends_with(';') } {
            let text = &ptx[first..at];
            let unknown = || SplitError::Unknown { line: of_line, text: first_line(text).to_owned() };
            items.push(item(text).ok_or_else(unknown)?);
            (begin, in_body) = (None, false);
        }
    }
    match begin {
        Some((first, line)) => Err(SplitError::Unknown { line, text: first_line(&ptx[first..]).to_owned() }),
        None => Ok((&ptx[..preamble.unwrap_or(ptx.len())], items)),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn item(text: &str) -> Option<Item<'_>> {
    let line = first_line(text);
    let entry = head(line, ".entry");
    let name = entry.or_else(|| head(line, ".func")).or_else(|| variable(line))?;
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let uses = code.flat_map(|code| code.split(|c| !is_name(c))).filter(|word| !word.is_empty()).collect();
    Some(Item { name, is_entry: entry.is_some(), text, uses })
}

/// The name in `.global .align 8 .b8 name[184] = {..};`.
fn variable(line: &str) -> Option<&str> {
    let line = [".visible ", ".extern ", ".weak ", ".common "]
        .iter()
        .find_map(|l| line.strip_prefix(l))
        .unwrap_or(line);
    [".global ", ".shared ", ".const "].iter().find(|space| line.starts_with(**space))?;
    let declared = line.split(['=', ';']).next()?.split('[').next()?;
    declared.split_whitespace().last().filter(|name| name.chars().all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small text of the form that LLVM writes.
    const PTX: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 6.3
.target sm_75
.address_size 64

.shared .align 16 .b8 tile[64];
// launch_bounds one 256 3
.extern .shared .align 16 .b8 dynamic[];

	// .globl	half
.global .align 8 .b8 table_$_0[2] = {0, 240};
.func  (.param .b64 func_retval0) half
(
	.param .b64 half_param_0
)
;

.visible .entry one(
	.param .align 8 .b8 one_param_0[24]
)
.maxntid 256, 1, 1
{
	mov.b64 	%rd1, tile; // not dynamic
	{ // callseq 0, 0
	call.uni (retval0), half, (param0);
	} // callseq 0
	ret;

}
	// .globl	two
.visible .entry two(
	.param .align 8 .b8 two_param_0[24]
)
{
	call.uni (retval0), half, (param0);
	mov.b64 	%rd1, dynamic;
	ret;
}
.visible .entry three()
{
	ret;
}
.func  (.param .b64 func_retval0) half(
	.param .b64 half_param_0
)
{
	mov.b64 	%rd1, table_$_0;
	ret;
}
";

    #[test]
    fn a_module_has_its_kernels_and_what_they_use() {
        let modules = [("a", vec!["one"]), ("b", vec!["three", "two"]), ("none", vec![])];
        let texts = split(PTX, &modules).unwrap();
        let names = |text: &str| -> Vec<(String, bool)> {
            let (preamble, items) = items(text).unwrap();
            assert!(
                preamble.contains("Generated by LLVM") && preamble.contains(".target sm_75"),
                "{preamble}"
            );
            items.iter().map(|item| (item.name.to_owned(), item.is_entry)).collect()
        };
        let want = |names: &[(&str, bool)]| -> Vec<(String, bool)> {
            names.iter().map(|(name, entry)| ((*name).to_owned(), *entry)).collect()
        };
        let shared = [("table_$_0", false), ("half", false)];
        let a = want(&[&[("tile", false)], &shared[..], &[("one", true), ("half", false)]].concat());
        let b = want(
            &[&[("dynamic", false)], &shared[..], &[("two", true), ("three", true), ("half", false)]]
                .concat(),
        );
        assert_eq!(texts.iter().map(|text| names(text)).collect::<Vec<_>>(), [a, b, Vec::new()]);
        assert!(texts[0].contains("\n.maxntid 256, 1, 1\n{\n"), "{}", texts[0]);
        // A second split changes nothing.
        assert_eq!(split(&texts[0], &modules[..1]).unwrap(), texts[..1]);
    }

    #[test]
    fn kernels_and_modules_must_agree() {
        let error = split(PTX, &[("a", vec!["one", "two"])]).unwrap_err();
        assert_eq!(error, SplitError::NoModule { kernel: "three".into() });
        let error = split(PTX, &[("a", vec!["one", "two", "three", "half"])]).unwrap_err();
        assert_eq!(error, SplitError::NoEntry { module: "a".into(), kernel: "half".into() });
    }

    #[test]
    fn text_of_another_form_is_refused() {
        let error = split(".version 6.3\n\n.alias a, b;\n", &[]).unwrap_err();
        assert_eq!(error, SplitError::Unknown { line: 3, text: ".alias a, b;".into() });
        let error = split(&PTX[..PTX.len() - 3], &[]).unwrap_err();
        assert!(matches!(error, SplitError::Unknown { line: 46, .. }), "{error:?}");
    }
}
