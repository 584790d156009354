//! The plan of a program's results: facts about inputs and indexes are gathered, and the rules of
//! [`warpath_plan`] applied to them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpath_answer::answer::Want;
use warpath_answer::backend::{Evaluation, Stage};
use warpath_core::error::{Error, IndexError, PlanError};
use warpath_lang::elements::AsOne;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
use warpath_plan::{
    Bytes, Condition, Evaluated, Facts, Format, Plan, Prune, Pruned, Purpose, Reading, SMALL, Structural,
    Unused,
};

use crate::beside;
use crate::bitmap::ask::{BitmapEngine, Indexed};
use crate::engine::{Chosen, Engine};
use crate::index_file::CheckedIndex;
use crate::input::{Inputs, KeptInput, Selection, Source};
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
    /// The inputs, if their indexes in memory serve the program.
    pub kept: Option<Vec<Arc<KeptInput>>>,
    /// True if the caller named the index.
    pub is_named: bool,
    pub early: Early,
}

/// The lines that the columns of an index leave for a condition.
struct Served {
    selected: Option<Arc<Selection>>,
    rest: Option<Arc<Predicate>>,
    pruned: Pruned,
    early: Early,
}

/// Plans the results of a program over the inputs of a request.
pub(crate) fn plan(request: &mut Request<'_>, program: Program, want: Want) -> Result<Planned, Error> {
    let mut unused = std::mem::take(&mut request.unused);
    let Request { engine, inputs, index, selected, predicate, digest, .. } = request;
    let mut facts = Facts::new(inputs.access(), engine.format());
    facts.selected = selected.as_ref().map(|selected| selected.facts());
    facts.has_parts |= inputs.may_have_parts();
    facts.is_loaded |= inputs.are_loaded();
    let condition = match (predicate.take(), program.predicate()) {
        (Some(of_input), Some(own)) => Some(Arc::new(of_input.and(own)?)),
        (Some(predicate), None) => Some(predicate),
        (None, own) => own.cloned(),
    };
    let (is_named, is_digested) = (index.is_some(), digest.is_some());
    let mut found = index.take();
    if let (None, Some(path)) = (&found, searched(engine, inputs, condition.as_deref(), &facts)) {
        found = beside::index(path, &mut unused).map(Arc::new);
    }
    // Only tests of columns have no other way.
    if engine.limits().record().is_some() && !condition.as_deref().is_some_and(has_columns) {
        let why = "the lengths of all records are checked";
        unused.extend(found.take().map(|index| Unused::new(index.name(), why, is_named)));
    }
    let served = match (&condition, &found) {
        (Some(condition), Some(index)) => {
            let asked = Asked { condition, program: &program, want, index, is_named, is_digested };
            serve(engine, inputs, &asked, &facts, &mut unused)?
        }
        _ => None,
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
        return Err(PlanError::new("a test of a column requires an index that has it", found).into());
    }
    let program = with_condition(program, rest, want)?;
    let kept = kept(engine, inputs, &program, want, &mut unused)?;
    let plain = facts.selected.as_ref().map_or(facts.bytes.plain(), |selected| selected.bytes);
    let chosen = match kept.as_deref() {
        Some([first, ..]) => {
            facts.in_memory = Some(first.levels);
            engine.over_kept(&first.backend)
        }
        _ => engine.choose(Purpose::Results(&program), plain)?,
    };
    // The partitions of an index have the lengths that they have, whatever a budget allows.
    let may_use = facts.selected.is_none()
        && !matches!(facts.bytes, Bytes::Part(_))
        && engine.limits().memory().is_none()
        && chosen.backend().abilities().uses_index_files;
    let levels = found.filter(|_| pruned.is_none() && (is_named || may_use));
    facts.structural = levels.as_ref().map(|index| Structural { is_named, ..index.facts() });
    let evaluated = Evaluated::Program { program: &program, want, is_digested: request.digest.is_some() };
    let mut plan = request.engine.plan(&chosen, evaluated, false, facts, unused)?;
    plan.pruned = pruned;
    let selected = request.selected.take();
    Ok(Planned { plan, chosen, program, selected, levels, kept, is_named, early })
}

/// The inputs, if their indexes in memory serve a program.
fn kept(
    engine: &Engine,
    inputs: &Inputs<'_>,
    program: &Program,
    want: Want,
    unused: &mut Vec<Unused>,
) -> Result<Option<Vec<Arc<KeptInput>>>, Error> {
    let Some(all) = inputs.kept() else { return Ok(None) };
    let why = if all.iter().any(|input| input.strict != engine.is_strict()) {
        "records are checked otherwise than when it was made"
    } else if engine.limits().record().is_some() {
        "the lengths of all records are checked"
    } else if want.on_device {
        "columns that stay on a device are made of the text"
    } else if engine.format() != Format::Ndjson {
        "the input is one JSON document"
    } else {
        let (kept, needed) = (all.iter().map(|input| input.levels).min(), program.levels());
        return match kept {
            Some(kept) if needed > kept => Err(IndexError::TooFewLevels { kept, needed }.into()),
            _ => Ok(Some(all)),
        };
    };
    unused.push(Unused::new("the index in memory", why, true));
    Ok(None)
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

/// The file whose index may be beside it: one file of lines that is worth a search. Without the columns of an
/// index nothing decides about them, however short the text is.
fn searched<'i>(
    engine: &Engine,
    inputs: &'i Inputs<'_>,
    condition: Option<&Predicate>,
    facts: &Facts,
) -> Option<&'i Path> {
    let is_worth = match facts.bytes {
        Bytes::Plain(len) => len > SMALL || condition.is_some_and(has_columns),
        Bytes::Part(_) => condition.is_some(),
        _ => false,
    };
    let finds = engine.finds_indexes() && facts.format == Format::Ndjson && facts.selected.is_none();
    match inputs.sources() {
        [Source::File(path) | Source::Part(path, _)] if finds && is_worth => Some(path),
        _ => None,
    }
}

/// True if a condition tests columns, about which the text decides nothing.
fn has_columns(condition: &Predicate) -> bool {
    matches!(condition.parts().without_rest(), (Some(_), _))
}

/// A condition, and the index that may serve it.
struct Asked<'a> {
    condition: &'a Arc<Predicate>,
    program: &'a Program,
    want: Want,
    index: &'a CheckedIndex,
    /// True if the caller named the index.
    is_named: bool,
    /// True if workers digest the results.
    is_digested: bool,
}

/// Serves a condition by the columns of an index. `None` if the text decides.
fn serve(
    engine: &Engine,
    inputs: &Inputs<'_>,
    asked: &Asked<'_>,
    facts: &Facts,
    unused: &mut Vec<Unused>,
) -> Result<Option<Served>, Error> {
    let &Asked { condition, program, want, index, is_named, is_digested } = asked;
    let Some(bins) = index.bins() else { return Ok(None) };
    let is_not_used =
        |why: String, matters| Unused::new(format!("section `bins` of {}", index.name()), why, matters);
    let tests_columns = has_columns(condition);
    if tests_columns {
        index.check_whole("a test of a column requires an index of the whole file")?;
    }
    let needs_trees = || {
        let guarded = with_condition(program.clone(), Some(condition.clone()), want);
        guarded.is_ok_and(|program| program.needs_trees())
    };
    let of_condition =
        Condition { predicate: condition, strict: engine.is_strict(), needs_trees: &needs_trees };
    let started = Instant::now();
    let prune = match warpath_plan::prune(&of_condition, bins, facts)? {
        Ok(prune) => prune,
        Err(why) => {
            unused.push(is_not_used(why.into(), is_named));
            return Ok(None);
        }
    };
    let of = Indexed { bins, checked: index, sources: inputs.sources() };
    // A line that is a record has one match of `$`. Strict checks are of the text of each line.
    let is_root = |query: &Query| query.ast().segments.is_empty() && query.condition().is_none();
    let is_root = matches!(program.queries(), [query] if is_root(query));
    let is_counted = is_root && want.is_count() && !is_digested && !engine.is_strict();
    let counts = is_counted && !matches!(facts.bytes, Bytes::Part(_));
    match evaluate(engine, condition, of, prune, counts) {
        Ok(Some(mut served)) => {
            served.pruned.took = started.elapsed();
            if index.grown_by() > 0 {
                let name = format!("{} for the last {} bytes", index.name(), index.grown_by());
                let why = "the file has grown; `warpath store index FILE` renews it";
                unused.push(Unused::new(name, why, true));
            }
            Ok(Some(served))
        }
        Ok(None) => {
            unused.push(is_not_used("its columns leave nearly all lines".into(), false));
            Ok(None)
        }
        // Nobody named the index, and the text can decide.
        Err(Error::Index(error)) if !is_named && !tests_columns => {
            unused.push(is_not_used(error.to_string(), true));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Evaluates the part of an index in a plan. `None` if it costs less to read all lines.
fn evaluate(
    engine: &Engine,
    condition: &Predicate,
    of: Indexed<'_>,
    prune: Prune,
    counts: bool,
) -> Result<Option<Served>, Error> {
    let mut bitmaps = BitmapEngine::of(engine)?;
    let mut lines = bitmaps.lines(of, engine, condition, &prune)?;
    // Of a file that has grown, the last indexed lines may be read again.
    if counts && of.checked.grown_by() == 0 {
        bitmaps.count(of.bins, &prune, &mut lines)?;
    }
    let selected = match lines.rows {
        Some(rows) if !prune.pays(rows.count(), rows.rows()) => return Ok(None),
        Some(rows) => {
            // A part of a file needs the offsets of all lines, to find its own.
            let is_part = of.sources.first().and_then(Source::range).is_some();
            let all = of.checked.lines(if is_part { None } else { Some(&rows) })?;
            Some(Arc::new(Selection::new(all, rows, true, of.sources)?.with_known(lines.known)))
        }
        None => None,
    };
    let rest = prune.rest.as_ref().map(|rest| rest.expr().to_string());
    let pruned = Pruned::new(of.bins.name().to_owned(), rest, lines.checked, Duration::ZERO);
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
