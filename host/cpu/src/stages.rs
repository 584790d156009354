//! The stages of the CPU.

use warpath_answer::stage::{Evaluation, StageRow};

use super::way::{Records, Way};

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
