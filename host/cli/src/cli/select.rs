//! `warpath select`.

mod auto;
mod columns;
mod losses;
mod named;
mod rows;
mod typed;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::columns::{ColumnType, Schema};
use warpath::{Engine, Program, Query, Records, RowForm, Source};
use warpath_answer::answer::RowText;

use columns::Column;
use named::NamePrefix;
use rows::{Print, Rest, Rows};
use typed::Table;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{OnMismatchArg, RowFormat, RunArgs, SelectArgs, WhereArgs, ZoneArgs};
use super::failure::Failure;
use super::grid::Grid;
use super::partitions::{Destination, Partitions};
use super::paths;
use super::run::{self, Sink};
use super::sort::{self, Sorting};
use super::split::{Files, Template};
use super::table::TableWriter;
use super::{files, formats};
use super::{served, split};

pub fn run(mut args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if args.columns.iter().any(|column| column == "*") {
        return Err(Failure::usage("`*` is no column").with_help(
            "all members: `warpath select --auto`; whole records: `r='$'`; all files of this folder: `./*`",
        ));
    }
    args.columns = columns::take_files(args.columns, &mut args.files.files);
    args.run.on_error.skip_if_followed(&args.follow);
    let mut flat = None;
    let auto::Types { of_columns: types, again } = if args.auto && args.columns.is_empty() {
        let form = formats::of_rows(&args.format, &args.run.output)?;
        let is_binary = formats::binary_form(form, &args.run.output).is_some();
        if is_binary && Template::of(&args.run.output).is_none() {
            return auto::run(args, ui, started);
        }
        let (columns, again) = match is_binary {
            true => auto::members(&args, ui, started)?,
            false => auto::flat(&args, ui, started).map(|(columns, again)| (columns, Some(again)))?,
        };
        flat = Some(columns);
        auto::Types { of_columns: Vec::new(), again }
    } else {
        auto::types(&args, ui, started)?
    };
    let SelectArgs {
        columns,
        files,
        column,
        follow,
        format: form,
        on_mismatch,
        explode,
        limit,
        skip,
        with_filename,
        sort,
        zone: ZoneArgs { time_zone: zone },
        mut run,
        mut engine,
        ..
    } = args;
    if columns.is_empty() && flat.is_none() {
        return Err(Failure::usage("no column is given").with_help(
            "a column is `NAME=PATH`: `id='$.id'`; `--auto --format parquet` writes all of them; `'./*'` names \
             files",
        ));
    }
    let (format, look) = (
        formats::of_rows(&form, &run.output)?,
        Look::of(ui.when(), run.output.is_file(), form.pretty.pretty),
    );
    let binary = formats::binary_form(format, &run.output);
    if binary.is_none() && on_mismatch != OnMismatchArg::Null {
        return Err(Failure::usage("`--on-mismatch` is about types, and text formats have none")
            .with_help("`--format arrow` and `--format parquet` have types"));
    }
    let elements = explode.map(|path| run.only.query(&path)?.elements()).transpose()?;
    let mut columns = match flat {
        Some(columns) => columns,
        None => {
            let parse = |arg: &String| columns::parse(arg, binary.is_none(), elements.as_ref(), &run.only);
            columns.iter().map(parse).collect::<Result<_, Failure>>()?
        }
    };
    let template = Template::of(&run.output);
    if let Some(template) = &template {
        served::refuse(split::MANY)?;
        if binary.is_none() {
            return Err(Failure::usage("an output with `{PATH}` in its name takes rows of Parquet or Arrow")
                .with_help(
                    "`-o 'out/{$.host}.parquet'`; records as they are: `warpath query '$' -o 'out/{$.host}.ndjson'`",
                ));
        }
        for (name, path) in template.columns() {
            let (query, values) = (run.only.query(&paths::full(path))?, Some(ColumnType::Json));
            columns.push(Column { name, values, is_auto: false, query, default: None });
        }
    }
    let exploded = match &elements {
        Some(elements) => Some(Exploded::new(elements, &columns, &run.only)?),
        None => None,
    };
    let queries = exploded.as_ref().map(|exploded| &exploded.queries);
    let program = program(&columns, queries, &types, on_mismatch, &run.only)?;
    let program = if binary.is_none() { program.with_time_zone(Some(zone)) } else { program };
    let of_elements =
        elements.as_ref().map(|elements| Program::new(std::slice::from_ref(elements))).transpose()?;
    if of_elements.is_none_or(|it| run::check_times(&run.only, Some(&it)).is_err()) {
        run::check_times(&run.only, Some(&program))?;
    }
    let schema = if binary.is_some() { Some(Schema::of_program(program.clone())?) } else { None };
    if with_filename && program.columns().iter().any(|column| column.name == named::NAME) {
        return Err(Failure::usage(format!("two columns have the name `{}`", named::NAME))
            .with_help("`--with-filename` makes a column of this name; give the other one another name"));
    }
    if follow.follow.is_some() && !sort.sort.is_empty() {
        return Err(Failure::usage(
            "`--sort` prints its rows when the input ends, and a followed file does not",
        )
        .with_help("print the rows as they come, without `--sort`"));
    }
    let (sort, memory) = (sort::columns(&sort, &program)?, sort.memory.bytes());
    formats::check(format, &run.output, look)?;
    let reading = files::Reading::of_run(&column, &engine, &run).following(&follow);
    let mut sources = match again {
        Some(again) => again,
        None => files::inputs(&files, reading, ui)?,
    };
    let partitions = match template {
        Some(template) => {
            let grouping = template.grouping(&run.only, zone)?;
            grouping.check()?;
            Some((grouping, Files::new(template, zone, &sources)))
        }
        None => None,
    };
    if let Some(exploded) = exploded {
        sources = files::records_of(sources, &exploded.records, engine.layout.format(), reading)?;
        // The condition is about the records around the elements.
        run.only.only = None;
        run.of_elements = true;
        engine.layout.records.records = Some(exploded.records.path().text().to_owned());
    }
    if partitions.is_some() {
        // The files are the output.
        run.output.output = None;
    }
    let engine = run::engine_of(&engine, &run)?;
    // A record whose values a type does not take gives no row.
    let is_by_records = on_mismatch != OnMismatchArg::Skip;
    let evaluation = Evaluation { engine, sources, program, run, ui, started };
    let limit = Rest::new(limit.limit, skip.skip, is_by_records);
    if let (Some(binary), Some(schema)) = (binary, schema) {
        let arrow = schema.to_arrow();
        let arrow = if with_filename { named::schema(&arrow) } else { arrow };
        let writer = match partitions {
            Some((grouping, files)) => {
                Destination::Files(Box::new(Partitions::new(binary, &arrow, grouping, files, memory)))
            }
            None => Destination::One(TableWriter::new(binary, arrow)?),
        };
        let table = Table::new(schema, writer, limit, on_mismatch, with_filename);
        if sort.is_empty() {
            return evaluation.run(table);
        }
        let sorting = Sorting::new(table, &evaluation.program, sort, memory)?;
        return evaluation.run(sorting);
    }
    // Tables are made of rows of NDJSON.
    let form = formats::text_form(format).unwrap_or(RowForm::Ndjson);
    let names = evaluation.program.columns().iter().map(|column| column.name.as_str());
    let names: Vec<&str> = with_filename.then_some(named::NAME).into_iter().chain(names).collect();
    let print = match format {
        RowFormat::Table => Print::Table(Grid::new(&names, look)),
        RowFormat::Ndjson if !look.is_plain() => Print::Styled(look),
        _ => Print::AsMade,
    };
    let rows = Rows {
        form,
        header: RowText::new(form, &names).header(),
        print,
        limit,
        names: with_filename.then(|| NamePrefix::new(form)),
        origins: None,
        is_followed: follow.follow.is_some(),
    };
    if sort.is_empty() {
        return evaluation.run(rows);
    }
    let sorting = Sorting::new(rows, &evaluation.program, sort, memory)?;
    // Instants are sorted as they are, and shown afterwards.
    let evaluation = Evaluation { program: evaluation.program.with_time_zone(None), ..evaluation };
    evaluation.run(sorting)
}

/// The evaluation of columns, with any sink of rows.
struct Evaluation<'a> {
    engine: Engine,
    sources: Vec<Source>,
    program: Program,
    run: RunArgs,
    ui: &'a Ui,
    started: Instant,
}

impl Evaluation<'_> {
    fn run(self, mut sink: impl Sink) -> Result<ExitCode, Failure> {
        let Self { engine, sources, program, run, ui, started } = self;
        run::consume(&engine, sources, program, &mut sink, &run, ui, started)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The records of `--explode`: elements, with the values that columns have of the records around them.
struct Exploded {
    records: Records,
    /// The paths of the columns in these records.
    queries: Vec<Query>,
}

impl Exploded {
    fn new(elements: &Query, columns: &[Column], only: &WhereArgs) -> Result<Self, Failure> {
        let of_columns: Vec<Query> = columns.iter().map(|column| column.query.clone()).collect();
        let (mut records, paths) = Records::of_elements(elements, &of_columns)?;
        if let Some(predicate) = only.predicate()? {
            records = records.matching(&predicate);
        }
        let queries = paths.iter().map(|path| only.query(path)).collect::<Result<_, _>>()?;
        Ok(Self { records, queries })
    }
}

/// Compiles the columns. `queries` are in place of those of the columns. `auto` has the types that come from
/// a schema.
fn program(
    columns: &[Column],
    queries: Option<&Vec<Query>>,
    auto: &[Option<ColumnType>],
    on_mismatch: OnMismatchArg,
    instants: &WhereArgs,
) -> Result<Program, Failure> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        return Err(Failure::usage(format!("two columns have the name `{twice}`")));
    }
    let type_of = |(at, column): (usize, &Column)| {
        let values = auto.get(at).cloned().flatten().or_else(|| column.values.clone());
        losses::type_of(values, on_mismatch)
    };
    let types: Vec<_> = columns.iter().enumerate().map(type_of).collect();
    let defaults: Vec<_> = columns.iter().map(|column| column.default.as_deref()).collect();
    let program = match queries {
        Some(queries) => Program::new(queries)?,
        None => Program::new(&columns.iter().map(|column| column.query.clone()).collect::<Vec<_>>())?,
    };
    let program = program.with_names(&names)?.with_types(&types)?.with_defaults(&defaults)?;
    let program = match &instants.time_format {
        Some(format) => program.with_time_format(&Arc::new(format.clone())),
        None => program,
    };
    Ok(program)
}
