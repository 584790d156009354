//! `warpath query`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::{Batch, Limit, Predicate, Program, Query, TextForm, Want};
use warpath_answer::answer::text;
use warpath_exec::aggregate::sorted::{KeyedMatches, SortMatches};
use warpath_exec::aggregate::sorter::Sorter;
use warpath_exec::edit::{Edit, EditRecords, EditedRecords};
use warpath_exec::stream::Digest;
use warpath_remote::address::is_url;
use warpath_terminal::escape::escaped;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{HeadArgs, QueryArgs};
use super::failure::Failure;
use super::files::{self, Reading};
use super::formats;
use super::out::Out;
use super::paths;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::served;
use super::sort;
use super::split;
use super::split::{Split, Template};

pub fn run(mut args: QueryArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if is_file(&args.path) {
        swap(&mut args)?;
    }
    if let Some(failure) = paths::misunderstood(&args.path) {
        return Err(failure);
    }
    args.run.on_error.skip_if_followed(&args.follow);
    formats::check_text(&args.run.output)?;
    if !args.drop.is_empty() || !args.mask.is_empty() || !args.rename.is_empty() {
        return edited(args, ui, started);
    }
    if let Some(template) = Template::of(&args.run.output) {
        served::refuse(split::MANY)?;
        return split(args, template, ui, started);
    }
    if !args.sort.is_empty() {
        return sorted(args, ui, started);
    }
    let mut query = args.run.only.query(&paths::full(&args.path))?;
    if let Some(each) = &args.each {
        query = query.holding(&args.run.only.timed(Predicate::of_value(each)?))?;
    }
    let program = Program::new(&[query])?;
    run::check_times(&args.run.only, Some(&program))?;
    let sources = files::inputs(
        &args.files,
        Reading::of_run(&args.column, &args.engine, &args.run).following(&args.follow),
        ui,
    )?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let look = Look::of(ui.when(), args.run.output.is_file(), args.pretty.pretty);
    let form = if args.raw_output { TextForm::Raw } else { TextForm::Json };
    let found = if args.count {
        let files = args.with_filename.then(|| sources.iter().map(|source| (source.name(), 0)).collect());
        let mut count = Count { limit: args.limit.limit, skip: args.skip.skip, found: 0, files };
        run::consume(&engine, sources, program, &mut count, &args.run, ui, started)?;
        count.after_skipped()
    } else if args.offsets
        || args.with_path
        || args.limit.limit.is_some()
        || args.skip.skip > 0
        || args.print0
        || args.with_filename
        || args.line_number
        || !look.is_plain()
    {
        let fields = Fields {
            name: args.with_filename || args.offsets && sources.len() > 1,
            line: args.line_number,
            offsets: args.offsets,
            path: args.with_path,
        };
        let mut lines = Lines {
            form,
            look,
            fields,
            end: if args.print0 { b'\0' } else { b'\n' },
            limit: args.limit.limit,
            skip: args.skip.skip,
            found: 0,
        };
        run::consume(&engine, sources, program, &mut lines, &args.run, ui, started)?;
        lines.found
    } else {
        let mut texts = Texts { form, found: 0 };
        run::consume(&engine, sources, program, &mut texts, &args.run, ui, started)?;
        texts.found
    };
    Ok(if args.exit_status.exit_status && found == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Prints whole records with edits.
fn edited(args: QueryArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let has_more = args.each.is_some() || args.raw_output || args.count || args.offsets || args.with_path;
    let has_fields = args.print0 || args.with_filename || args.line_number || !args.sort.is_empty();
    if args.path != "$" || has_more || has_fields {
        return Err(Failure::usage(
            "`--drop`, `--mask` and `--rename` are for whole records, one on each line",
        )
        .with_help("`warpath query '$' --drop PATH FILE`, with `--where`, `-n`, `--skip` and `--pretty`"));
    }
    formats::check_text(&args.run.output)?;
    let query = |path: &str| args.run.only.query(&paths::full(path));
    let mut edits = Vec::new();
    for path in &args.drop {
        edits.push((query(path)?, Edit::Drop));
    }
    for path in &args.mask {
        edits.push((query(path)?, Edit::Mask));
    }
    for rename in &args.rename {
        let Some((path, name)) = rename.rsplit_once('=') else {
            return Err(Failure::usage(format!("`--rename {rename}`: a path and a name are expected"))
                .with_help("such as `--rename '$.ts=time'`"));
        };
        edits.push((query(path)?, Edit::Rename(name.to_owned())));
    }
    let paths: Vec<Query> = edits.iter().map(|(path, _)| path.clone()).collect();
    let program = Program::new(&[&[Query::compile("$")?], &paths[..]].concat())?;
    run::check_times(&args.run.only, Some(&program))?;
    let reading = Reading::of_run(&args.column, &args.engine, &args.run).following(&args.follow);
    let sources = files::inputs(&args.files, reading, ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let mut records = Edited {
        edit: Arc::new(EditRecords::new(&edits)?),
        look: Look::of(ui.when(), args.run.output.is_file(), args.pretty.pretty),
        limit: args.limit.limit.unwrap_or(u64::MAX),
        skip: args.skip.skip,
        found: 0,
    };
    run::consume(&engine, sources, program, &mut records, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && records.found == 0)))
}

/// A sink that prints edited records.
struct Edited {
    edit: Arc<EditRecords>,
    look: Look,
    limit: u64,
    skip: u64,
    found: u64,
}

impl Sink for Edited {
    fn needs(&self) -> Needs {
        let needs = Needs::new(self.edit.want());
        Needs { digest: Some(self.edit.clone()), is_done: self.limit == 0, ..needs }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Some(edited) = batch.take_digest::<EditedRecords>() else { return Ok(Flow::Continue) };
        if self.look.is_plain() && self.skip == 0 && self.limit == u64::MAX {
            self.found += edited.records.len() as u64;
            out.lines(&edited.text)?;
            return Ok(Flow::Continue);
        }
        let mut begin = 0;
        for (end, piece, line) in edited.records {
            let record = &edited.text[begin..end - 1];
            begin = end;
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.look.append(record, &mut out.buffer);
            out.buffer.push(b'\n');
            out.line_end()?;
            self.found += 1;
            if self.found >= self.limit {
                return Ok(Flow::Stop { piece, line });
            }
        }
        Ok(Flow::Continue)
    }
}

/// Writes matches into files that values of their records name.
fn split(mut args: QueryArgs, template: Template, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let has_fields = args.count || args.offsets || args.with_path || args.with_filename || args.line_number;
    let has_order = !args.sort.is_empty() || args.limit.limit.is_some() || args.skip.skip > 0;
    let has_form = args.raw_output || args.pretty.pretty || args.print0;
    if has_fields || has_order || has_form || args.each.is_some() || args.follow.follow.is_some() {
        return Err(Failure::usage("an output with `{PATH}` in its name takes whole matches, as they are")
            .with_help("`warpath query '$' -o 'out/{$.host}.ndjson' FILE`, with `--where` and `--records`"));
    }
    formats::check_text(&args.run.output)?;
    let query = args.run.only.query(&paths::full(&args.path))?;
    let grouping = template.grouping(&args.run.only, args.zone.time_zone)?;
    let program = Program::new(&[&[query], grouping.paths()].concat())?;
    let sources = files::inputs(&args.files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let mut split = Split::new(template, &args.run.only, args.zone.time_zone, &sources)?;
    // The files are the output.
    args.run.output.output = None;
    run::consume(&engine, sources, program, &mut split, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && split.records == 0)))
}

/// Prints matches in the order of values of their records.
fn sorted(args: QueryArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if args.follow.follow.is_some() {
        return Err(Failure::usage(
            "`--sort` prints at the end of the input, and a followed file does not end",
        ));
    }
    formats::check_text(&args.run.output)?;
    let mut query = args.run.only.query(&paths::full(&args.path))?;
    if let Some(each) = &args.each {
        query = query.holding(&args.run.only.timed(Predicate::of_value(each)?))?;
    }
    let mut by = Vec::new();
    for text in &args.sort {
        let (path, descending) = sort::direction(text);
        by.push((args.run.only.query(&paths::full(path))?, descending));
    }
    let paths: Vec<Query> = by.iter().map(|(path, _)| path.clone()).collect();
    let program = Program::new(&[&[query], &paths[..]].concat())?;
    run::check_times(&args.run.only, Some(&program))?;
    let sources = files::inputs(&args.files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let form = if args.raw_output { TextForm::Raw } else { TextForm::Json };
    let mut matches = SortedLines {
        digest: Arc::new(SortMatches::new(&by, form)?),
        sorter: Some(Sorter::new(args.memory.bytes())),
        look: Look::of(ui.when(), args.run.output.is_file(), args.pretty.pretty),
        is_raw: args.raw_output,
        limit: args.limit.limit.unwrap_or(u64::MAX),
        skip: args.skip.skip,
        found: 0,
    };
    run::consume(&engine, sources, program, &mut matches, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && matches.found == 0)))
}

/// A sink that prints sorted matches at the end.
struct SortedLines {
    digest: Arc<SortMatches>,
    /// `None` at the end.
    sorter: Option<Sorter>,
    look: Look,
    is_raw: bool,
    limit: u64,
    skip: u64,
    found: u64,
}

impl Sink for SortedLines {
    fn needs(&self) -> Needs {
        Needs { digest: Some(self.digest.clone()), ..Needs::about_all(self.digest.want()) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        if let (Some(sorter), Some(keyed)) = (&mut self.sorter, batch.take_digest::<KeyedMatches>()) {
            keyed.iter().try_for_each(|(key, text)| sorter.push(key, text))?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(sorter) = self.sorter.take() else { return Ok(()) };
        let (mut sorted, mut key, mut text) = (sorter.finish()?, Vec::new(), Vec::new());
        while self.found < self.limit && sorted.next(&mut key, &mut text)? {
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if self.is_raw {
                out.buffer.extend_from_slice(&text);
            } else {
                self.look.append(&text, &mut out.buffer);
            }
            out.buffer.push(b'\n');
            out.line_end()?;
            self.found += 1;
        }
        Ok(())
    }
}

/// Returns true if an argument is no query, but the name of a file.
fn is_file(arg: &str) -> bool {
    !arg.starts_with('$') && (is_url(arg) || served::is_input(Path::new(arg)))
}

/// Exchanges a file that is given first with the one query that follows it.
///
/// # Errors
/// If no query follows, or several do.
fn swap(args: &mut QueryArgs) -> Result<(), Failure> {
    let is_query =
        |file: &PathBuf| file.to_str().is_some_and(|arg| arg.starts_with('$')) && !served::is_input(file);
    let queries: Vec<usize> =
        args.files.files.iter().enumerate().filter(|(_, file)| is_query(file)).map(|(at, _)| at).collect();
    let ([at], Some(query)) =
        (&queries[..], queries.first().and_then(|at| args.files.files[*at].to_str()).map(str::to_owned))
    else {
        return Err(Failure::usage(format!("`{}` is a file, and no query", args.path))
            .with_help(format!("the query comes first: `warpath query '$' {}`", args.path)));
    };
    args.files.files[*at] = std::mem::replace(&mut args.path, query).into();
    Ok(())
}

/// Prints the first records.
pub fn head(args: HeadArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    formats::check_records(&args.run.output)?;
    run::check_times(&args.run.only, None)?;
    files::refuse_paths(
        &args.files,
        "`warpath head` prints whole records; `warpath query PATH` prints values",
    )?;
    if let Some(number) = args.files.files.first().filter(|name| is_number(name) && !served::is_input(name)) {
        let number = number.display();
        return Err(Failure::usage(format!("`{number}` is a number, and no file"))
            .with_help(format!("`-n {number}` prints {number} records")));
    }
    let program = Program::new(&[Query::compile("$")?])?;
    let sources = files::inputs(&args.files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let (limit, skip) = (args.limit.limit, args.skip.skip);
    let mut lines = Lines {
        form: TextForm::Json,
        look: Look::of(ui.when(), args.run.output.is_file(), args.pretty.pretty),
        fields: Fields::default(),
        end: b'\n',
        limit,
        skip,
        found: 0,
    };
    run::consume(&engine, sources, program, &mut lines, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && lines.found == 0)))
}

/// Returns true if a name has digits alone.
fn is_number(name: &Path) -> bool {
    name.to_str().is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number of matches after which a run ends, of which `skip` are left out.
fn last(limit: Option<u64>, skip: u64) -> Option<u64> {
    // Without results, no match is needed.
    limit.map(|limit| if limit == 0 { 0 } else { limit.saturating_add(skip) })
}

/// A sink that prints the number of matches.
struct Count {
    limit: Option<u64>,
    skip: u64,
    /// The number of matches, including those that are left out.
    found: u64,
    /// The number of matches of each input, in order, if it is printed.
    files: Option<Vec<(String, u64)>>,
}

impl Count {
    /// Adds matches of an input.
    fn add(&mut self, source: &str, count: u64) {
        self.found += count;
        let Some(files) = &mut self.files else { return };
        // Batches come in the order of the inputs, except from files that are followed together.
        match files.iter_mut().rev().find(|(name, _)| name == source) {
            Some((_, found)) => *found += count,
            None => files.push((source.to_owned(), count)),
        }
    }

    fn after_skipped(&self) -> u64 {
        self.found.saturating_sub(self.skip)
    }
}

impl Sink for Count {
    fn needs(&self) -> Needs {
        // With a limit, the run ends at a match. The line of this match is needed, so the matches are.
        let last = last(self.limit, self.skip);
        let mut want = Want::new().matches(last.is_some()).partial(true);
        want.limit = last.map(Limit::Matches);
        Needs { is_done: last.is_some_and(|last| self.found >= last), ..Needs::about_all(want) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            let count = piece.counts.first().copied().unwrap_or(0);
            if let Some(left) = last(self.limit, self.skip).map(|last| last - self.found)
                && left <= count
                && let Some(last) = piece.matches.first().and_then(|list| list.get(left as usize - 1))
            {
                let stop = Flow::Stop { piece: at, line: last.line };
                self.add(batch.source(), left);
                return Ok(stop);
            }
            self.add(batch.source(), count);
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(files) = &self.files else {
            out.buffer.extend_from_slice(format!("{}\n", self.after_skipped()).as_bytes());
            return Ok(());
        };
        for (name, found) in files {
            out.buffer.extend_from_slice(format!("{}:{found}\n", escaped(name)).as_bytes());
            out.line_end()?;
        }
        Ok(())
    }
}

/// A sink that prints the text of the matches, as the workers made it.
struct Texts {
    form: TextForm,
    found: u64,
}

impl Sink for Texts {
    fn needs(&self) -> Needs {
        Needs::new(Want::default().text(self.form).partial(true))
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        self.found += batch.count(0);
        for (_, piece) in batch.pieces() {
            out.lines(piece.texts.first().map_or(&[][..], Vec::as_slice))?;
        }
        Ok(Flow::Continue)
    }
}

/// The fields that are printed before each match.
#[derive(Clone, Copy, Default)]
struct Fields {
    /// The name of its file.
    name: bool,
    /// Its line.
    line: bool,
    /// Its first and last offset.
    offsets: bool,
    /// Its normalised path.
    path: bool,
}

/// A sink that prints the matches one by one, up to a limit.
struct Lines {
    form: TextForm,
    look: Look,
    fields: Fields,
    /// The byte after each match.
    end: u8,
    limit: Option<u64>,
    /// The number of matches that are still to be left out.
    skip: u64,
    found: u64,
}

impl Lines {
    fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.found >= limit)
    }
}

impl Sink for Lines {
    fn needs(&self) -> Needs {
        let mut want = Want::new().matches(true).partial(!self.fields.offsets);
        want.limit = last(self.limit, self.skip).map(Limit::Matches);
        Needs { is_done: self.is_done(), ..Needs::new(want) }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Fields { name, line: with_line, offsets, path: with_path } = self.fields;
        let source = name.then(|| escaped(batch.source()).into_owned());
        // With a file name alone, lines are as those of grep.
        let after_name = if offsets || with_path { b'\t' } else { b':' };
        let (mut paths, mut path) = (batch.paths(), String::new());
        for (at, (first, piece)) in batch.pieces().enumerate() {
            let found = piece.matches.first().map_or(&[][..], Vec::as_slice);
            let skipped = found.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip -= skipped as u64;
            for found in &found[skipped..] {
                if let Some(name) = &source {
                    out.buffer.extend_from_slice(name.as_bytes());
                    out.buffer.push(after_name);
                }
                if with_line {
                    let line = batch.line_at(piece, first, found.line, found.start);
                    // Writing to a vector cannot fail.
                    let _ = write!(out.buffer, "{line}{}", char::from(after_name));
                }
                if offsets {
                    let start = batch.offset_of(u64::from(piece.base) + u64::from(found.start));
                    let end = start + u64::from(found.end - found.start);
                    // Writing to a vector cannot fail.
                    let _ = write!(out.buffer, "{start}\t{end}\t");
                }
                if with_path {
                    path.clear();
                    paths.append(piece.base as usize + found.start as usize, &mut path);
                    out.buffer.extend_from_slice(path.as_bytes());
                    out.buffer.push(b'\t');
                }
                let json = batch.match_text(piece, found);
                if self.look.is_plain() || self.form == TextForm::Raw && json.starts_with(b"\"") {
                    text::append(json, self.form, &mut out.buffer);
                } else {
                    self.look.append(json, &mut out.buffer);
                }
                out.buffer.push(self.end);
                out.line_end()?;
                self.found += 1;
                if self.is_done() {
                    return Ok(Flow::Stop { piece: at, line: found.line });
                }
            }
        }
        Ok(Flow::Continue)
    }
}
