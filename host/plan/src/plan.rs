//! The plan as a value, and the rules about what is read.

use std::time::Duration;

use warpath_answer::answer::{Limit, Want};
use warpath_answer::backend::Abilities;
use warpath_core::error::PlanError;
use warpath_core::projection::Projection;
use warpath_lang::program::Program;
use warpath_shared::units::Level;

use crate::columns::PartColumns;
use crate::facts::{Bytes, Facts, Format, SMALL, Selected};

/// A request, as far as plans depend on it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The evaluation.
    pub evaluated: Evaluated<'a>,
    /// True if records are checked by all of RFC 8259, and for UTF-8.
    pub strict: bool,
    /// True if a condition restricts the records.
    pub has_condition: bool,
    /// True if the caller has threads of its own, so that lines are evaluated by the caller.
    pub in_caller: bool,
    /// True if the caller limits the length of records. They are then read whole.
    pub limits_records: bool,
}

/// An evaluation over inputs.
#[derive(Clone, Copy)]
pub enum Evaluated<'a> {
    /// A program.
    Program {
        /// The program, with the condition on the records that are read.
        program: &'a Program,
        /// The results that the caller wants.
        want: Want,
        /// True if workers digest the results.
        is_digested: bool,
    },
    /// The schema of records.
    Schema {
        /// True for all records of the inputs.
        whole: bool,
    },
    /// Subscriptions, over JSON lines (`false`), or over whole inputs.
    Subscriptions {
        /// True if each input is one document.
        documents: bool,
        /// True if the documents are XML.
        xml: bool,
        /// The values of records that the subscriptions test; `None` if the caller wants the text of the
        /// inputs, or if subscriptions may change.
        tested: Option<&'a Projection>,
        /// A program that has the condition on records, if there is one.
        only: Option<&'a Program>,
    },
    /// An index that stays in memory.
    Resident,
    /// The structural index of each partition.
    Structure,
}

impl Evaluated<'_> {
    /// The start of a sentence about the evaluation: it requires something.
    fn requires(self) -> (&'static str, &'static str) {
        match self {
            Self::Program { .. } => ("results require all lines", "results require NDJSON input"),
            Self::Schema { .. } => {
                ("a schema requires all lines of an input", "a schema requires NDJSON input")
            }
            Self::Subscriptions { .. } => {
                ("subscriptions require all lines of an input", "subscriptions require NDJSON input")
            }
            Self::Resident => {
                ("a resident index requires all lines of an input", "a resident index requires NDJSON input")
            }
            Self::Structure => (
                "structural indexes require all lines of an input",
                "structural indexes require NDJSON input",
            ),
        }
    }
}

/// The backend, workers and limits of one run, and what is read, step by step.
///
/// ```
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().device(DeviceChoice::Cpu).workers(2).build()?;
/// let hits = engine.bytes("{\"a\":1}\n").query(&Query::compile("$.a")?)?;
/// let plan = hits.plan();
/// assert!(plan.backend.starts_with("cpu"));
/// assert_eq!((plan.workers, plan.reason.as_deref(), plan.strict), (2, None, false));
/// assert_eq!((plan.index(), plan.unused.len()), (None, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// A short name of the backend.
    pub backend: String,
    /// The reason for this backend, if the engine chose.
    pub reason: Option<String>,
    /// The most workers that may run.
    pub workers: usize,
    /// Bytes of a partition.
    pub partition_size: usize,
    /// True if records are checked by all of RFC 8259, and for UTF-8.
    pub strict: bool,
    /// True if the backend makes those checks. Otherwise the host makes them before the evaluation.
    pub strict_on_device: bool,
    /// The condition that the columns of an index served.
    pub pruned: Option<Pruned>,
    /// The bytes that are read.
    pub reading: Reading,
    /// The threads that evaluate.
    pub threads: Threads,
    /// The indexes that are not used, with the reasons.
    pub unused: Vec<Unused>,
    /// The columns by which parts of a store are read; `None` for all of their lines.
    columns: Option<PartColumns>,
}

/// The bytes of the inputs that are read.
///
/// ```
/// use warpath::plan::Reading;
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hits = Engine::builder().build()?.bytes("{\"a\":1}\n").query(&Query::compile("$.a")?)?;
/// assert!(matches!(hits.plan().reading, Reading::Lines));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// All lines.
    #[default]
    Lines,
    /// All lines, and of parts of a store only what the program or the subscriptions need, by their columns.
    Members {
        /// The paths of the members of records that are read, joined by commas.
        paths: String,
        /// The number of comparisons by which columns exclude records.
        conditions: usize,
        /// True if numbers of values are known without the values, where records have their own columns.
        counts: bool,
    },
    /// The schemas that parts of a store and loaded inputs have, and all lines of other inputs and parts.
    Schemas,
    /// Inputs that are loaded into memory.
    Loaded {
        /// True if the leaves have the results, where they are exact. Other lines are decoded and evaluated.
        leaves: bool,
        /// The number of comparisons by which leaves exclude records.
        conditions: usize,
    },
    /// Some lines of a file.
    Selected(Selected),
    /// All lines, with levels of a structural index.
    Levels {
        /// The name of the index.
        index: String,
        /// The number of levels that are read, and of all levels.
        levels: (Level, Level),
        /// Bytes of text that the index has, and of all text. The text after it is read as lines.
        text: (u64, u64),
        /// True if trees are built from the text, so that no level is read.
        trees: bool,
    },
    /// Documents, each as one record. With `parts`, a large document is evaluated by the elements of an
    /// array, if all paths continue from these.
    Documents {
        /// True if elements may be evaluated as records.
        parts: bool,
    },
    /// An index that is in memory.
    Resident {
        /// The number of levels that are read, and of all levels.
        levels: (Level, Level),
    },
}

/// The threads that evaluate.
///
/// ```
/// use warpath::plan::Threads;
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A short text is evaluated before a thread could start.
/// let hits = Engine::builder().build()?.bytes("{\"a\":1}\n").query(&Query::compile("$.a")?)?;
/// assert_eq!(hits.plan().threads, Threads::Caller);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// Workers, ahead of the caller.
    #[default]
    Workers,
    /// The thread of the caller, while it waits for results.
    Caller,
}

/// A condition that the columns of an index served before lines were read.
///
/// ```
/// use warpath::bitmap::ColumnSpec;
/// use warpath::{Engine, IndexFile, IndexSpec, Predicate, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let log = folder.path().join("log.ndjson");
/// # std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// # #[cfg(any())]
/// let log = Path::new("log.ndjson");
/// let engine = Engine::builder().build()?;
/// let spec = IndexSpec::new(4).with_columns(vec![ColumnSpec::new("code", "$.status")]);
/// let index = IndexFile::build_as(&engine, &log, &spec)?;
/// let input = engine.open(&log)?.with_index(&index)?.matching(&Predicate::parse("$.status > 500")?);
/// let hits = input.query(&Query::compile("$.status")?)?;
/// let pruned = hits.plan().pruned.as_ref().unwrap();
/// assert_eq!(pruned.rest.as_deref(), Some("$['status'] > 500"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The name of the index.
    pub index: String,
    /// The condition on the lines that are read, if there is one.
    pub rest: Option<String>,
    /// The number of lines that were checked: against stored values, or by their text.
    pub checked: u64,
    /// The time that it took.
    pub took: Duration,
}

impl Pruned {
    /// The use of an index of this name.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(index: String, rest: Option<String>, checked: u64, took: Duration) -> Self {
        Self { index, rest, checked, took }
    }
}

/// An index that is not used.
///
/// ```
/// use warpath::{Engine, IndexFile, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let log = folder.path().join("log.ndjson");
/// # std::fs::write(&log, "{\"status\":200}\n")?;
/// # #[cfg(any())]
/// let log = Path::new("log.ndjson");
/// let engine = Engine::builder().build()?;
/// let index = IndexFile::build(&engine, &log, 1)?;
/// let hits = engine.open(&log)?.with_index(&index)?.query(&Query::compile("$.status.code")?)?;
/// assert_eq!(hits.plan().unused[0].why, "it has 1 level, and the program reads 2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unused {
    /// The name of the index.
    pub index: String,
    /// The reason.
    pub why: String,
    /// True if the caller should know: the caller named the index, or it does not fit the input any more.
    pub matters: bool,
}

impl Unused {
    /// An index that is not used, and the reason.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(index: impl Into<String>, why: impl Into<String>, matters: bool) -> Self {
        Self { index: index.into(), why: why.into(), matters }
    }
}

impl Plan {
    /// The index that is read, and what is read of it; `None` without an index.
    #[must_use]
    pub fn index(&self) -> Option<String> {
        match &self.reading {
            Reading::Levels { index, levels: (read, of), text: (covered, all), .. } => {
                let text = if covered < all {
                    format!(", for {covered} of {all} bytes of text")
                } else {
                    String::new()
                };
                Some(format!("{index}: line starts and {read} of {of} levels read{text}"))
            }
            Reading::Resident { levels: (read, of) } => Some(format!("resident, {read} of {of} levels read")),
            Reading::Selected(Selected { index, lines, blocks, .. }) => Some(format!(
                "{index}: {} of {} lines, in {} of {} blocks",
                lines.0, lines.1, blocks.0, blocks.1
            )),
            Reading::Lines
            | Reading::Loaded { .. }
            | Reading::Members { .. }
            | Reading::Schemas
            | Reading::Documents { .. } => None,
        }
    }

    /// The columns by which parts of a store are read; `None` for all of their lines.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn part_columns(&self) -> Option<&PartColumns> {
        self.columns.as_ref()
    }

    /// The step that reads, for `explain`.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn what_is_read(&self, bytes: Bytes) -> String {
        match &self.reading {
            Reading::Lines => {
                format!("partitions of whole lines ({})", by_whom(bytes, self.threads))
            }
            Reading::Members { paths, conditions, counts } => {
                let numbers = if *counts { "numbers of values by the shapes of records, else " } else { "" };
                let records = match conditions {
                    0 => "each record",
                    _ => "the records whose columns do not exclude the predicate",
                };
                let whom = by_whom(bytes, self.threads);
                format!("{numbers}{paths} of {records}, as partitions of lines ({whom})")
            }
            Reading::Schemas => {
                let whom = by_whom(bytes, self.threads);
                format!(
                    "the schemas of parts of a store and of loaded inputs, else partitions of whole lines ({whom})"
                )
            }
            Reading::Levels { levels: (read, of), text: (covered, all), trees, .. } => {
                let mut said = match trees {
                    true => "partitions as the index has them, and their text".to_owned(),
                    false => {
                        format!("partitions, with line starts, faults and {read} of {of} levels of the index")
                    }
                };
                if covered < all {
                    said += &format!("; then partitions of whole lines from byte {covered} on");
                }
                said + " (every worker)"
            }
            Reading::Resident { .. } => "nothing: text and index are in memory".into(),
            Reading::Loaded { leaves, conditions } => {
                let of_leaves = if *leaves {
                    "the leaves of loaded inputs, and where these do not say all, "
                } else {
                    ""
                };
                let lines =
                    if *conditions > 0 { "the lines that the leaves do not exclude" } else { "lines" };
                format!("{of_leaves}{lines}, decoded in memory ({})", by_whom(bytes, self.threads))
            }
            Reading::Selected(_) => "the selected lines, moved together (every worker)".into(),
            Reading::Documents { .. } => {
                format!("documents, each made one line ({})", by_whom(bytes, self.threads))
            }
        }
    }
}

/// The threads that read an input.
fn by_whom(bytes: Bytes, threads: Threads) -> &'static str {
    match (bytes, threads) {
        (Bytes::Unknown | Bytes::Several(_), _) => "plain files: every worker; others: one at a time",
        (_, Threads::Caller) => "the thread of the caller",
        (Bytes::Compressed | Bytes::Stream | Bytes::Followed | Bytes::Table, _) => "one worker at a time",
        (Bytes::Stored(_), _) => "every worker, a group at a time",
        _ => "every worker",
    }
}

/// A chosen backend with its sizes.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The name of the backend.
    pub backend: String,
    /// The reason for the backend, if the engine chose.
    pub reason: Option<String>,
    /// The abilities of the backend.
    pub abilities: Abilities,
    /// The most workers that may run.
    pub workers: usize,
    /// Bytes of a partition.
    pub partition_size: usize,
}

/// Plans a request over inputs, on a backend. `unused` are indexes that earlier rules left out.
///
/// # Errors
/// [`PlanError`] if no plan can serve the request.
pub fn plan(
    request: &Request<'_>,
    facts: Facts,
    runs: Runs,
    mut unused: Vec<Unused>,
) -> Result<Plan, PlanError> {
    refuse(request, &facts, &runs)?;
    let program = match request.evaluated {
        Evaluated::Program { program, .. } => Some(program),
        _ => None,
    };
    let levels = match (&facts.structural, without_levels(request, &facts, &runs)) {
        (None, _) => None,
        (Some(index), Some(why)) => {
            unused.push(Unused::new(&*index.name, why, index.is_named));
            None
        }
        (Some(index), None) => Some(index),
    };
    let reading = match (facts.selected, levels, facts.format) {
        (Some(selected), ..) => Reading::Selected(selected),
        _ if let (Some(kept), Some(program)) = (facts.in_memory, program) => {
            Reading::Resident { levels: (program.levels(), kept) }
        }
        (None, Some(index), _) => {
            let (read, trees) =
                program.map_or((0, false), |program| (program.levels(), program.needs_trees()));
            let (index, text, levels) = (index.name.clone(), index.text, (read, index.levels));
            Reading::Levels { index, levels, text, trees }
        }
        (None, None, Format::Json) => Reading::Documents { parts: by_elements(request) },
        (None, None, Format::Ndjson) => Reading::Lines,
    };
    let columns = match reading {
        Reading::Lines if facts.has_parts => PartColumns::of(request, facts.is_loaded),
        _ => None,
    };
    let reading = match (&columns, reading) {
        (Some(columns), _) => columns.reading(facts.is_loaded),
        (None, Reading::Lines) if facts.is_loaded => Reading::Loaded { leaves: false, conditions: 0 },
        (None, reading) => reading,
    };
    let threads = threads(request, &reading, facts.bytes, runs.partition_size as u64);
    // The host checks partitions that are indexed already, and programs that the host evaluates.
    let on_host = matches!(reading, Reading::Levels { .. } | Reading::Resident { .. })
        || matches!(request.evaluated, Evaluated::Subscriptions { .. })
        || program.is_some_and(Program::has_patterns_at_run);
    let Runs { backend, reason, abilities, workers, partition_size } = runs;
    let strict = request.strict;
    let strict_on_device = strict && abilities.checks_strictly && !on_host;
    Ok(Plan {
        backend,
        reason,
        workers,
        partition_size,
        strict,
        strict_on_device,
        pruned: None,
        reading,
        threads,
        unused,
        columns,
    })
}

/// Refuses requests that no plan can serve.
fn refuse(request: &Request<'_>, facts: &Facts, runs: &Runs) -> Result<(), PlanError> {
    let (all_lines, lines) = request.evaluated.requires();
    let selected = facts.selected.is_some();
    match request.evaluated {
        Evaluated::Program { want, .. } if want.on_device && !runs.abilities.keeps_columns => {
            Err(PlanError::new(
                "columns that stay on a device require a device",
                format!("the backend is `{}`; choose one, such as `cuda:0`", runs.backend),
            ))
        }
        Evaluated::Program { .. } | Evaluated::Schema { .. }
            if facts.format == Format::Json && matches!(facts.bytes, Bytes::Part(_)) =>
        {
            Err(PlanError::new("a part of a file is read as lines", "this input is one JSON document"))
        }
        Evaluated::Program { .. } => Ok(()),
        _ if selected => Err(PlanError::new(all_lines, "some lines are selected here")),
        Evaluated::Schema { .. } => Ok(()),
        Evaluated::Subscriptions { xml: true, .. } if request.has_condition => {
            Err(PlanError::new("a predicate is about JSON records", "these inputs are XML"))
        }
        Evaluated::Subscriptions { documents: true, .. } if request.strict => {
            Err(PlanError::new("strict checks require NDJSON input", "these inputs are documents"))
        }
        Evaluated::Subscriptions { .. } => Ok(()),
        Evaluated::Resident | Evaluated::Structure if request.has_condition => {
            Err(PlanError::new(all_lines, "some lines are selected here"))
        }
        Evaluated::Resident | Evaluated::Structure if facts.format == Format::Json => {
            Err(PlanError::new(lines, "this input is one JSON document"))
        }
        Evaluated::Resident | Evaluated::Structure => Ok(()),
    }
}

/// The reason why no levels of the input's structural index are read, if there is one.
fn without_levels(request: &Request<'_>, facts: &Facts, runs: &Runs) -> Option<String> {
    let Evaluated::Program { program, .. } = request.evaluated else {
        return Some("only programs are evaluated with levels".into());
    };
    let kept = facts.structural.as_ref().map_or(0, |index| index.levels);
    let needed = program.levels();
    if facts.format == Format::Json {
        Some("the input is one JSON document".into())
    } else if let Some(why) = facts.bytes.has_no_index() {
        Some(why.into())
    } else if let Bytes::Part(_) = facts.bytes {
        Some("a part of the file is read".into())
    } else if facts.selected.is_some() {
        Some("some lines are read alone".into())
    } else if !runs.abilities.uses_index_files {
        Some("the device makes bitmaps faster than it would be sent them".into())
    } else if needed > kept {
        let levels = if kept == 1 { "level" } else { "levels" };
        Some(format!("it has {kept} {levels}, and the program reads {needed}"))
    } else {
        None
    }
}

/// True if a document may be evaluated by the elements of an array: rows, columns and digests are made of
/// whole documents.
fn by_elements(request: &Request<'_>) -> bool {
    match request.evaluated {
        Evaluated::Program { want, is_digested, .. } => {
            !is_digested
                && want.rows.is_none()
                && want.columns.is_none()
                && !want.records
                && !matches!(want.limit, Some(Limit::Records(_)))
        }
        _ => false,
    }
}

/// The threads that evaluate.
fn threads(request: &Request<'_>, reading: &Reading, bytes: Bytes, partition_size: u64) -> Threads {
    let by_caller = match (reading, bytes) {
        (Reading::Lines | Reading::Members { .. } | Reading::Schemas | Reading::Selected(_), _)
            if request.in_caller =>
        {
            true
        }
        (Reading::Lines, Bytes::Borrowed(_)) => true,
        (Reading::Lines | Reading::Documents { .. }, Bytes::Memory(len) | Bytes::Borrowed(len)) => {
            len <= partition_size
        }
        // Files of /proc have no length and yet bytes.
        (Reading::Lines | Reading::Documents { .. }, Bytes::Plain(len)) => {
            (1..=SMALL.min(partition_size)).contains(&len)
        }
        _ => false,
    };
    if by_caller { Threads::Caller } else { Threads::Workers }
}

#[cfg(test)]
mod tests {
    use warpath_answer::answer::RowForm;
    use warpath_core::projection::Step;
    use warpath_lang::predicate::Predicate;
    use warpath_lang::program::Query;

    use super::*;
    use crate::facts::Structural;

    fn program(path: &str) -> Program {
        Program::new(&[Query::compile(path).unwrap()]).unwrap()
    }

    /// A plan of a program over an input, with changes of the request, the facts and the abilities.
    fn planned(
        path: &str,
        bytes: Bytes,
        change: impl FnOnce(&mut Want, &mut Facts, &mut Runs),
    ) -> Result<Plan, PlanError> {
        let (mut want, mut facts) = (Want::new().matches(true), Facts::new(bytes, Format::Ndjson));
        let abilities = Abilities { uses_index_files: true, ..Abilities::default() };
        let backend = "test".to_owned();
        let mut runs = Runs { backend, reason: None, abilities, workers: 2, partition_size: 1 << 20 };
        change(&mut want, &mut facts, &mut runs);
        let program = program(path);
        let evaluated = Evaluated::Program { program: &program, want, is_digested: false };
        let (strict, has_condition, in_caller, limits_records) = (true, false, false, false);
        let request = Request { evaluated, strict, has_condition, in_caller, limits_records };
        plan(&request, facts, runs, Vec::new())
    }

    fn levels(levels: Level) -> Option<Structural> {
        Some(Structural { name: "i".into(), levels, is_named: true, text: (9, 9) })
    }

    const LARGE: Bytes = Bytes::Plain(1 << 30);

    #[test]
    fn selected_lines_are_read_alone() {
        let selected = Selected::new("b".into(), (3, 200), (2, 4), 99);
        let plan = planned("$.a", LARGE, |_, facts, _| {
            facts.selected = Some(selected.clone());
            facts.structural = levels(3);
        });
        let plan = plan.unwrap();
        assert_eq!(plan.reading, Reading::Selected(selected));
        assert_eq!(plan.index().as_deref(), Some("b: 3 of 200 lines, in 2 of 4 blocks"));
        assert_eq!(plan.unused[0].why, "some lines are read alone");
        assert_eq!(plan.threads, Threads::Workers);
    }

    #[test]
    fn levels_are_read_if_the_index_has_enough() {
        let with =
            |path, bytes, kept| planned(path, bytes, |_, facts, _| facts.structural = levels(kept)).unwrap();
        let plan = with("$.a.b", LARGE, 2);
        assert_eq!(plan.index().as_deref(), Some("i: line starts and 2 of 2 levels read"));
        assert!(!plan.strict_on_device && plan.unused.is_empty());
        for (path, bytes, kept, why) in [
            ("$.a.b", LARGE, 1, "it has 1 level, and the program reads 2"),
            ("$.a", Bytes::Compressed, 2, "the input is compressed"),
            ("$.a", Bytes::Followed, 2, "the input is followed"),
            ("$.a", Bytes::Several(9), 2, "there are several inputs"),
            ("$.a", Bytes::Part(1 << 30), 2, "a part of the file is read"),
        ] {
            let plan = with(path, bytes, kept);
            assert_eq!((plan.index(), plan.unused[0].why.as_str()), (None, why));
        }
        let plan = planned("$.a", LARGE, |_, facts, _| {
            facts.structural = levels(2).map(|index| Structural { text: (5, 9), ..index });
        });
        let plan = plan.unwrap();
        assert_eq!(
            plan.index().as_deref(),
            Some("i: line starts and 1 of 2 levels read, for 5 of 9 bytes of text")
        );
        assert!(plan.what_is_read(LARGE).contains("; then partitions of whole lines from byte 5 on"));
        let on_device = planned("$.a", LARGE, |_, facts, runs| {
            facts.structural = levels(2);
            runs.abilities.uses_index_files = false;
        });
        assert!(on_device.unwrap().unused[0].why.starts_with("the device makes bitmaps"));
    }

    #[test]
    fn documents_are_read_by_elements_for_matches_alone() {
        let of = |change: fn(Want) -> Want| {
            let plan = planned("$[*].a", LARGE, |want, facts, _| {
                (facts.format, *want) = (Format::Json, change(*want));
            });
            plan.unwrap().reading
        };
        assert_eq!(of(|want| want), Reading::Documents { parts: true });
        assert_eq!(of(|want| want.limit(Limit::Matches(3))), Reading::Documents { parts: true });
        assert_eq!(of(|want| want.limit(Limit::Records(3))), Reading::Documents { parts: false });
        assert_eq!(of(|want| want.rows(RowForm::Csv)), Reading::Documents { parts: false });
        assert_eq!(of(|want| want.records(true)), Reading::Documents { parts: false });
    }

    #[test]
    fn of_stores_subscriptions_read_what_they_test() {
        let mut members = Projection::NONE;
        members.reach(&[Step::Name(b"a".to_vec())]);
        let only = program("$").matching(&Predicate::parse("$.b > 1 && $.c == 2").unwrap().into(), false);
        let only = only.unwrap();
        let read = |tested, only, documents, limits_records| {
            let abilities = Abilities::default();
            let backend = "test".to_owned();
            let runs = Runs { backend, reason: None, abilities, workers: 2, partition_size: 1 };
            let evaluated = Evaluated::Subscriptions { documents, xml: false, tested, only };
            let (strict, has_condition, in_caller) = (false, false, false);
            let request = Request { evaluated, strict, has_condition, in_caller, limits_records };
            let format = if documents { Format::Json } else { Format::Ndjson };
            plan(&request, Facts::new(Bytes::Stored(9), format), runs, Vec::new()).unwrap().reading
        };
        let by =
            |paths: &str, conditions| Reading::Members { paths: paths.into(), conditions, counts: false };
        assert_eq!(read(Some(&members), None, false, false), by("$.a", 0));
        assert_eq!(read(Some(&members), Some(&only), false, false), by("$.a, $.b, $.c", 2));
        // All members, of the records of which the condition may be true.
        assert_eq!(read(Some(&Projection::All), Some(&only), false, false), by("all", 2));
        assert_eq!(read(Some(&Projection::All), None, false, false), Reading::Lines);
        for (tested, limits_records) in [(None, false), (Some(&members), true)] {
            assert_eq!(read(tested, Some(&only), false, limits_records), Reading::Lines);
        }
        assert_eq!(read(Some(&members), None, true, false), Reading::Documents { parts: false });
    }

    #[test]
    fn the_schema_of_all_records_is_that_of_parts() {
        let read = |whole, limits_records| {
            let (backend, abilities) = ("test".to_owned(), Abilities::default());
            let runs = Runs { backend, reason: None, abilities, workers: 2, partition_size: 1 };
            let (strict, has_condition, in_caller) = (false, false, false);
            let evaluated = Evaluated::Schema { whole };
            let request = Request { evaluated, strict, has_condition, in_caller, limits_records };
            plan(&request, Facts::new(Bytes::Stored(9), Format::Ndjson), runs, Vec::new()).unwrap().reading
        };
        assert_eq!(read(true, false), Reading::Schemas);
        // Of some records, and of records whose lengths are checked.
        assert_eq!([read(false, false), read(true, true)], [Reading::Lines, Reading::Lines]);
    }

    #[test]
    fn the_caller_evaluates_what_is_short() {
        let threads = |bytes| planned("$.a", bytes, |_, _, _| {}).unwrap().threads;
        for (bytes, expected) in [
            (Bytes::Memory(1 << 20), Threads::Caller),
            (Bytes::Memory((1 << 20) + 1), Threads::Workers),
            (Bytes::Borrowed(1 << 30), Threads::Caller),
            (Bytes::Plain(SMALL), Threads::Caller),
            (Bytes::Plain(SMALL + 1), Threads::Workers),
            (Bytes::Plain(0), Threads::Workers),
            (Bytes::Stream, Threads::Workers),
        ] {
            assert_eq!(threads(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn strict_checks_are_the_devices_where_it_reads_the_text() {
        let checks = |path| planned(path, LARGE, |_, _, runs| runs.abilities.checks_strictly = true).unwrap();
        assert!(checks("$.a").strict_on_device);
        assert!(!checks("$[?match(@.a, $.b)]").strict_on_device);
    }

    #[test]
    fn requests_without_a_plan_are_refused() {
        let refused = |evaluated, format, has_condition, is_selected: bool| {
            let (strict, in_caller, limits_records) = (true, false, false);
            let request = Request { evaluated, strict, has_condition, in_caller, limits_records };
            let mut facts = Facts::new(LARGE, format);
            facts.selected = is_selected.then(|| Selected::new("b".into(), (1, 2), (1, 1), 9));
            let (abilities, backend) = (Abilities::default(), "test".to_owned());
            let runs = Runs { backend, reason: None, abilities, workers: 2, partition_size: 1 };
            plan(&request, facts, runs, Vec::new()).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let twigs = |documents, xml| Evaluated::Subscriptions { documents, xml, tested: None, only: None };
        for (evaluated, format, has_condition, is_selected, expected) in [
            (Evaluated::Schema { whole: true }, Format::Ndjson, true, false, ""),
            (
                Evaluated::Schema { whole: true },
                Format::Ndjson,
                false,
                true,
                "a schema requires all lines of an input; some lines are selected here",
            ),
            (
                Evaluated::Resident,
                Format::Ndjson,
                true,
                false,
                "a resident index requires all lines of an input; some lines are selected here",
            ),
            (
                Evaluated::Structure,
                Format::Json,
                false,
                false,
                "structural indexes require NDJSON input; this input is one JSON document",
            ),
            (
                twigs(true, true),
                Format::Json,
                true,
                false,
                "a predicate is about JSON records; these inputs are XML",
            ),
            (
                twigs(true, false),
                Format::Json,
                false,
                false,
                "strict checks require NDJSON input; these inputs are documents",
            ),
            (twigs(false, false), Format::Ndjson, true, false, ""),
        ] {
            assert_eq!(refused(evaluated, format, has_condition, is_selected), expected);
        }
        let on_device = planned("$.a", LARGE, |want, _, _| *want = want.on_device(true));
        assert_eq!(
            on_device.unwrap_err().to_string(),
            "columns that stay on a device require a device; the backend is `test`; choose one, such as `cuda:0`"
        );
    }
}
