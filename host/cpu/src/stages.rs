//! The stages of the CPU.

use warpath_answer::stage::{Evaluation, StageRow};

use super::way::{Records, Way};
use crate::twig::Documents;

static VALIDATE: StageRow = StageRow::cpu(
    "validate",
    "each record by RFC 8259, its bytes as UTF-8 (the worker that read it, on the host)",
);
static TREES: StageRow = StageRow::cpu("trees", "tokens, links and faults of each record (every core)");
static OVER_TREES: StageRow =
    StageRow::cpu("query", "the program over each record's tree, in the same pass (every core)");
static SCAN: StageRow = StageRow::cpu("scan", "faults and names, in one pass over each record (every core)");
static INDEX_REST: StageRow =
    StageRow::cpu("index", "{levels} for selectors other than names, and for records that are not regular");
static OVER_REST: StageRow = StageRow::cpu("query", "the program over the indexed lines, in the same pass");
static INDEX: StageRow = StageRow::cpu("index", "line starts, {levels}, faults (every core)");
static OVER_LEVELS: StageRow =
    StageRow::cpu("query", "the program over each record, in the same pass (every core)");

static READ_RECORDS: StageRow =
    StageRow::cpu("tree", "tokens, links and faults of each record (every worker)");
static READ_JSON: StageRow =
    StageRow::cpu("tree", "tokens, links and faults of each document (every worker)");
static READ_XML: StageRow =
    StageRow::cpu("tree", "elements, attributes and text of each document (every worker)");
static TWIGS: StageRow = StageRow::cpu(
    "twigs",
    "all subscriptions at once, by a bit for each node, on what their names and values touch",
);

/// The stages of an evaluation, in order.
pub(super) fn of_program(evaluation: &Evaluation<'_>) -> Vec<&'static StageRow> {
    let program = evaluation.program;
    let rows: &[&StageRow] = match Way::of(program, Records::Single) {
        Way::Trees | Way::Anywhere(_) => &[&TREES, &OVER_TREES],
        Way::Names(_) => &[&SCAN, &INDEX_REST, &OVER_REST],
        Way::Needles(_) | Way::Index => &[&INDEX, &OVER_LEVELS],
    };
    let validate = evaluation.strict.then_some(&VALIDATE);
    validate.into_iter().chain(rows.iter().copied()).collect()
}

/// The stages that match documents against subscriptions, in order.
pub(crate) fn of_documents(documents: Documents) -> [&'static StageRow; 2] {
    let read = match documents {
        Documents::Ndjson => &READ_RECORDS,
        Documents::Json => &READ_JSON,
        Documents::Xml => &READ_XML,
    };
    [read, &TWIGS]
}
