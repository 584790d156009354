//! The plan of a program's results: facts about inputs and indexes are gathered, and the rules of
//! [`warpath_plan`] applied to them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpath_answer::answer::Want;
use warpath_answer::backend::{Evaluation, Stage};
use warpath_core::error::{Error, PlanError};
use warpath_lang::elements::AsOne;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::Program;
use warpath_plan::{
    Bytes, Condition, Evaluated, Facts, Format, Plan, Prune, Pruned, Purpose, Reading, SMALL, Structural,
    Unused,
};
use warpath_store::bitmap::BitmapIndex;

use crate::beside;
use crate::bitmap::ask::BitmapEngine;
use crate::engine::{Chosen, Engine};
use crate::index_file::CheckedIndex;
use crate::input::{Inputs, Selection, Source};
use crate::request::Request;
use crate::stream::Early;

/// A program with its plan, and what the plan reads.
pub(crate) struct Planned {
    pub plan: Plan,
    pub chosen: Chosen,
    /// The program, with the condition on the records that are read.
    pub program: Program,
    pub selected: Option<Arc<Selection>>,
    pub levels: Option<Arc<CheckedIndex>>,
    /// True if the caller named the structural index.
    pub is_named: bool,
    pub early: Early,
}

/// The lines that a bitmap index leaves for a condition.
struct Served {
    selected: Option<Arc<Selection>>,
    rest: Option<Arc<Predicate>>,
    pruned: Pruned,
    early: Early,
}

/// Plans the results of a program over the inputs of a request.
pub(crate) fn plan(request: &mut Request<'_>, program: Program, want: Want) -> Result<Planned, Error> {
    let mut unused = std::mem::take(&mut request.unused);
    let Request { engine, inputs, index, bitmap, selected, predicate, .. } = request;
    let mut facts = Facts::new(inputs.access(), engine.format());
    facts.selected = selected.as_ref().map(|selected| selected.facts());
    facts.has_parts |= inputs.may_have_parts();
    let condition = match (predicate.take(), program.predicate()) {
        (Some(of_input), Some(own)) => Some(Arc::new(of_input.and(own)?)),
        (Some(predicate), None) => Some(predicate),
        (None, own) => own.cloned(),
    };
    let served = match &condition {
        None => {
            if let Some((index, _)) = bitmap {
                unused.push(Unused::new(index.name(), "there is no condition on records", true));
            }
            None
        }
        Some(condition) => {
            let condition = (condition, &program, want);
            serve(engine, inputs, bitmap.take(), condition, &facts, &mut unused)?
        }
    };
    let (rest, pruned, early) = match served {
        Some(Served { selected: lines, rest, pruned, early }) => {
            facts.selected = lines.as_ref().map(|lines| lines.facts());
            *selected = lines;
            (rest, Some(pruned), early)
        }
        None => (condition, None, Early::default()),
    };
    if let (Some(condition), None, Some(missing)) =
        (&rest, &pruned, unused.iter().find(|unused| unused.matters))
        && has_columns(condition)
    {
        let found = format!("{} is not used: {}", missing.index, missing.why);
        return Err(PlanError::new("a test of a column requires a bitmap index", found).into());
    }
    let program = with_condition(program, rest, want)?;
    let plain = facts.selected.as_ref().map_or(facts.bytes.plain(), |selected| selected.bytes);
    let chosen = engine.choose(Purpose::Results(&program), plain)?;
    let mut levels = index.take();
    let is_named = levels.is_some();
    if let (None, Some(path)) = (&levels, beside_of(engine, inputs, &facts))
        && facts.selected.is_none()
        && !matches!(facts.bytes, Bytes::Part(_))
        // The partitions of an index have the lengths that they have, whatever a budget allows.
        && engine.limits().memory().is_none()
        && chosen.backend().abilities().uses_index_files
    {
        levels = beside::structural(path, &mut unused).map(Arc::new);
    }
    facts.structural = levels.as_ref().map(|index| Structural { is_named, ..index.facts() });
    let evaluated = Evaluated::Program { program: &program, want, is_digested: request.digest.is_some() };
    let mut plan = request.engine.plan(&chosen, evaluated, false, facts, unused)?;
    plan.pruned = pruned;
    Ok(Planned { plan, chosen, program, selected: request.selected.take(), levels, is_named, early })
}

/// The plan of a program's results, for `explain`.
pub struct Explained {
    pub plan: Plan,
    /// The program, with the condition on the records that are read.
    pub program: Program,
    /// The way in which the bytes come.
    pub bytes: Bytes,
    /// The array whose elements are evaluated as records, and the program over these; or the reason why whole
    /// documents are. `None` if the inputs are no documents.
    pub elements: Option<Result<(String, Program), AsOne>>,
    /// The stages of the backend.
    pub stages: Vec<Stage>,
}

/// Explains the results of a program over the inputs of a request.
pub(crate) fn explain(mut request: Request<'_>, program: Program, want: Want) -> Result<Explained, Error> {
    let bytes = request.inputs.access();
    let Planned { plan, chosen, program, .. } = plan(&mut request, program, want)?;
    let is_documents = matches!(plan.reading, Reading::Documents { .. });
    let elements = is_documents.then(|| program.over_elements());
    let evaluated = match (&plan.reading, &elements) {
        (Reading::Documents { parts: true }, Some(Ok((_, elements)))) => elements,
        _ => &program,
    };
    let evaluation = Evaluation { strict: plan.strict, ..Evaluation::new(evaluated, want) };
    let stages = chosen.backend().stages(&evaluation);
    Ok(Explained { plan, program, bytes, elements, stages })
}

/// The file whose indexes may be beside it: one file of lines that is worth a search.
fn beside_of<'i>(engine: &Engine, inputs: &'i Inputs<'_>, facts: &Facts) -> Option<&'i Path> {
    let is_long = match facts.bytes {
        Bytes::Plain(len) => len > SMALL,
        Bytes::Part(_) => true,
        _ => false,
    };
    let finds = engine.finds_indexes() && facts.format == Format::Ndjson;
    if finds && is_long { file_of(inputs) } else { None }
}

fn file_of<'i>(inputs: &'i Inputs<'_>) -> Option<&'i Path> {
    match inputs.sources() {
        [Source::File(path) | Source::Part(path, _)] => Some(path),
        _ => None,
    }
}

/// True if a condition tests columns, about which the text decides nothing.
fn has_columns(condition: &Predicate) -> bool {
    matches!(condition.parts().without_rest(), (Some(_), _))
}

/// Serves a condition by a bitmap index: by the one of the request, or else by one beside the input. `None`
/// if the text decides.
fn serve(
    engine: &Engine,
    inputs: &Inputs<'_>,
    named: Option<(BitmapIndex, bool)>,
    (condition, program, want): (&Arc<Predicate>, &Program, Want),
    facts: &Facts,
    unused: &mut Vec<Unused>,
) -> Result<Option<Served>, Error> {
    let is_named = named.is_some();
    let file = match is_named {
        true => file_of(inputs),
        // The text alone decides nothing about columns, however short it is.
        false => beside_of(engine, inputs, facts).or_else(|| {
            let is_file = matches!(facts.bytes, Bytes::Plain(_));
            (engine.finds_indexes() && is_file && has_columns(condition)).then(|| file_of(inputs)).flatten()
        }),
    };
    let (index, approximate) = match (named, file) {
        (Some(named), _) => named,
        (None, Some(file)) => match beside::bitmap(file, unused) {
            Some(index) => (index, false),
            None => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    let needs_trees = || {
        let guarded = with_condition(program.clone(), Some(condition.clone()), want);
        guarded.is_ok_and(|program| program.needs_trees())
    };
    let of_condition = Condition {
        predicate: condition,
        strict: engine.is_strict(),
        needs_trees: &needs_trees,
        approximate,
    };
    let started = Instant::now();
    let prune = match (warpath_plan::prune(&of_condition, &index, facts)?, file) {
        (Ok(prune), Some(_)) => prune,
        (Ok(_), None) => return Ok(None),
        (Err(why), _) => {
            unused.push(Unused::new(index.name(), why, is_named));
            return Ok(None);
        }
    };
    match evaluate(engine, inputs, condition, &index, prune, approximate) {
        Ok(Some(mut served)) => {
            served.pruned.took = started.elapsed();
            Ok(Some(served))
        }
        Ok(None) => {
            unused.push(Unused::new(index.name(), "its columns leave nearly all lines", false));
            Ok(None)
        }
        // Nobody named the index, and the text can decide.
        Err(Error::Index(error)) if !is_named && !has_columns(condition) => {
            unused.push(Unused::new(index.name(), error.to_string(), true));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Evaluates the part of a bitmap index in a plan. `None` if it leaves so many lines that it does not pay.
fn evaluate(
    engine: &Engine,
    inputs: &Inputs<'_>,
    condition: &Predicate,
    index: &BitmapIndex,
    prune: Prune,
    approximate: bool,
) -> Result<Option<Served>, Error> {
    let mut bitmaps = BitmapEngine::of(engine)?;
    let lines = bitmaps.lines(index, engine, inputs.sources(), condition, &prune, approximate)?;
    let selected = match lines.rows {
        Some(rows) if !prune.pays(rows.count(), rows.rows()) => return Ok(None),
        Some(rows) => Some(Arc::new(Selection::new(index, rows, inputs.sources())?)),
        None => None,
    };
    let rest = prune.rest.as_ref().map(|rest| rest.expr().to_string());
    let pruned = Pruned::new(index.name().to_owned(), rest, lines.checked, Duration::ZERO);
    Ok(Some(Served { selected, rest: prune.rest, pruned, early: lines.early }))
}

/// The program with a condition. It marks the records for which the condition is true, if the results depend
/// on these.
pub(crate) fn with_condition(
    program: Program,
    condition: Option<Arc<Predicate>>,
    want: Want,
) -> Result<Program, Error> {
    let Some(condition) = condition else { return Ok(program) };
    let is_own = program.predicate().is_some_and(|own| Arc::ptr_eq(own, &condition));
    if is_own && (program.marks_records() || !want.needs_records()) {
        return Ok(program);
    }
    program.matching(&condition, want.needs_records())
}
