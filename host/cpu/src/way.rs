//! The table of ways in which a program is evaluated. The first row that applies decides:
//!
//! | program | records | way |
//! |---|---|---|
//! | all paths are `$..name` | short lines | [`Way::Anywhere`] |
//! | any other program that needs trees | all | [`Way::Trees`] |
//! | a predicate that is false without some rare texts | at least 64 KiB of lines | [`Way::Needles`] |
//! | all paths begin with names | all but short single records | [`Way::Names`] |
//! | any other program | all | [`Way::Index`] |

use warpath_lang::program::Program;

use super::needles;
use super::plan::Plan;
use super::scan::has_short_lines;

/// The length of a text from which the choice of needles takes less time than it saves.
const WORTH_NEEDLES: usize = 64 << 10;

/// A way in which a program is evaluated.
pub(super) enum Way {
    /// In one pass over the tokens of short records, for names at any depth.
    Anywhere(Plan),
    /// Over the trees of records.
    Trees,
    /// Over an index of the records that contain a text without which the predicate is false.
    Needles(Vec<Vec<u8>>),
    /// In one pass that follows names. Irregular records get an index.
    Names(Plan),
    /// Over an index of all records.
    Index,
}

/// The records over which a program is evaluated.
#[derive(Clone, Copy)]
pub(super) enum Records<'a> {
    /// The lines of a text.
    Lines(&'a [u8]),
    /// Single records, which are not known yet.
    Single,
}

impl Way {
    /// The way for a program and its records.
    pub fn of(program: &Program, records: Records<'_>) -> Self {
        let lines = match records {
            Records::Lines(text) => Some(text),
            Records::Single => None,
        };
        if program.needs_trees() {
            let is_anywhere = !program.names().is_empty() && lines.is_some_and(has_short_lines);
            let plan = is_anywhere.then(|| Plan::anywhere(&program.view(), program.names())).flatten();
            return plan.map_or(Self::Trees, Self::Anywhere);
        }
        let long = lines.filter(|text| text.len() >= WORTH_NEEDLES);
        let needles = program.predicate().zip(long);
        match needles.and_then(|(predicate, text)| needles::choose(predicate, text)) {
            Some(needles) => Self::Needles(needles),
            None => Plan::of(program).map_or(Self::Index, Self::Names),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath_lang::predicate::Predicate;
    use warpath_lang::program::Query;

    use super::*;

    #[test]
    fn the_table_of_ways() {
        let short = "{\"a\":{\"b\":1},\"c\":2}\n".repeat(5_000);
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(100_000));
        let frequent = "{\"kind\":\"commit\"}\n".repeat(5_000);
        let way = |paths: &[&str], condition: Option<&str>, records| {
            let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
            let mut program = Program::new(&queries).unwrap();
            if let Some(condition) = condition {
                program = program.matching(&Predicate::parse(condition).unwrap().into(), false).unwrap();
            }
            match Way::of(&program, records) {
                Way::Anywhere(_) => "anywhere",
                Way::Trees => "trees",
                Way::Needles(_) => "needles",
                Way::Names(_) => "names",
                Way::Index => "index",
            }
        };
        let ways = |paths: &[&str], condition| {
            let lines = [&short, &long, &frequent].map(|text| Records::Lines(text.as_bytes()));
            let few = Records::Lines(&short.as_bytes()[..short.len() / 5_000 * 100]);
            let [short, long, frequent] = lines.map(|lines| way(paths, condition, lines));
            [short, way(paths, condition, few), long, frequent, way(paths, condition, Records::Single)]
        };
        let rare = Some("$.kind == 'commit'");
        assert_eq!(ways(&["$..b", "$..c"], None), ["anywhere", "anywhere", "trees", "anywhere", "trees"]);
        assert_eq!(ways(&["$..b[?@.x]"], None), ["trees"; 5]);
        assert_eq!(ways(&["$.a.b", "$.c[0]"], None), ["names"; 5]);
        assert_eq!(ways(&["$.a.b"], rare), ["needles", "names", "needles", "names", "names"]);
        assert_eq!(ways(&["$[*].b"], None), ["index"; 5]);
        assert_eq!(ways(&["$[*].b"], rare), ["needles", "index", "needles", "index", "index"]);
    }
}
