//! `warpath select`.

mod auto;
mod columns;
mod losses;
mod rows;
mod typed;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::answer::RowForm;
use warpath::columns::{ColumnType, Schema};
use warpath::{Program, Query};

use columns::Column;
use rows::{Print, Rest, Rows};
use typed::Table;

use super::args::{OnMismatchArg, RowFormat, SelectArgs, WhereArgs};
use super::failure::Failure;
use super::grid::Grid;
use super::run;
use super::sort::{self, Sorting};
use super::table::TableWriter;
use super::ui::Ui;
use super::{files, formats};

pub fn run(mut args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.columns = columns::take_files(args.columns, &mut args.files.files);
    if args.auto && args.columns.is_empty() {
        return auto::run(args, ui, started);
    }
    let (types, again) = auto::types(&args, ui, started)?;
    let SelectArgs {
        columns,
        files,
        column,
        follow,
        format: form,
        on_mismatch,
        explode,
        limit,
        sort,
        run,
        engine,
        ..
    } = args;
    if columns.is_empty() {
        return Err(Failure::usage("no column is given").with_help("a column is `NAME=PATH`: `id='$.id'`"));
    }
    let (format, look) = (form.of(&run.output), ui.look(&run.output, form.pretty.pretty));
    let binary = formats::binary_form(format, &run.output);
    if binary.is_none() && on_mismatch != OnMismatchArg::Null {
        return Err(Failure::usage("`--on-mismatch` is about types, and text formats have none")
            .with_help("`--format arrow` and `--format parquet` have types"));
    }
    let program = program(&columns, binary.is_none(), &types, on_mismatch, explode.as_deref(), &run.only)?;
    let schema = if binary.is_some() { Some(Schema::of_program(program.clone())?) } else { None };
    if !sort.sort.is_empty() && matches!(on_mismatch, OnMismatchArg::Fail | OnMismatchArg::Skip) {
        return Err(Failure::usage("`--on-mismatch fail` and `skip` cannot be used with `--sort`")
            .with_help(
                "sorted rows have lost their records; write the rows first, and sort them afterwards",
            ));
    }
    let (sort, memory) = (sort::columns(&sort, &program)?, sort.memory.memory);
    formats::check(format, &run.output, look)?;
    let sources = match again {
        Some(again) => again,
        None => files::inputs(&files, &follow, &column, &engine, &run.output, ui)?,
    };
    let engine = run::engine(&engine, &run.on_error, &run.strict)?;
    // Rows are not records if a record may give any number of rows.
    let is_by_records = program.elements().is_none() && on_mismatch != OnMismatchArg::Skip;
    let limit = Rest::new(limit.limit, is_by_records);
    if let (Some(binary), Some(schema)) = (binary, schema) {
        let writer = TableWriter::new(binary, schema.to_arrow())?;
        let mut table = Table::new(schema, writer, limit, on_mismatch);
        if sort.is_empty() {
            run::consume(&engine, sources, program, &mut table, &run, ui, started)?;
        } else {
            let mut sorting = Sorting::new(table, &program, sort, memory)?;
            run::consume(&engine, sources, program, &mut sorting, &run, ui, started)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Tables are made of rows of NDJSON.
    let form = formats::text_form(format).unwrap_or(RowForm::Ndjson);
    let names: Vec<&str> = program.columns().iter().map(|column| column.name.as_str()).collect();
    let print = match format {
        RowFormat::Table => Print::Table(Grid::new(&names, look)),
        RowFormat::Ndjson if !look.is_plain() => Print::Styled(look),
        _ => Print::AsMade,
    };
    let mut rows = Rows { form, header: form.header(&program), print, limit };
    if sort.is_empty() {
        run::consume(&engine, sources, program, &mut rows, &run, ui, started)?;
    } else {
        let mut sorting = Sorting::new(rows, &program, sort, memory)?;
        run::consume(&engine, sources, program, &mut sorting, &run, ui, started)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles the columns. `auto` has the types that come from a schema.
fn program(
    args: &[String],
    text: bool,
    auto: &[Option<ColumnType>],
    on_mismatch: OnMismatchArg,
    explode: Option<&str>,
    instants: &WhereArgs,
) -> Result<Program, Failure> {
    let elements = explode.map(|path| instants.query(path)?.elements()).transpose()?;
    let parse = |arg: &String| columns::parse(arg, text, elements.as_ref(), instants);
    let columns = args.iter().map(parse).collect::<Result<Vec<Column>, Failure>>()?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        return Err(Failure::usage(format!("two columns have the name `{twice}`")));
    }
    let queries: Vec<Query> = columns.iter().map(|column| column.query.clone()).collect();
    let type_of = |(at, column): (usize, &Column)| {
        let values = auto.get(at).cloned().flatten().or_else(|| column.values.clone());
        losses::type_of(values, on_mismatch)
    };
    let types: Vec<_> = columns.iter().enumerate().map(type_of).collect();
    let defaults: Vec<_> = columns.iter().map(|column| column.default.as_deref()).collect();
    let program = match &elements {
        None => Program::new(&queries)?,
        Some(elements) => Program::exploding(&queries, elements)?,
    };
    let program = program.with_names(&names)?.with_types(&types)?.with_defaults(&defaults)?;
    Ok(match &instants.time_format {
        Some(format) => program.with_time_format(&Arc::new(format.clone())),
        None => program,
    })
}
