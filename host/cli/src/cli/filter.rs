//! `warpath filter`.

mod answers;
mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use answers::Answers;
use warpath::twig::{Documents, Snapshot, Standing, SubscriptionError, Subscriptions};
use warpath::{Engine, Error, Filtered, Filtering, FolderFiles, InputError, Plan, Predicate, Source, Stats};
use warpath_exec::stream::Setup;
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;
use watch::Watch;

use super::args::{DocumentsArg, FilterArgs, IdsFormatArg, OnErrorArg};
use super::engines::builder;
use super::failure::Failure;
use super::files;
use super::files::text_bytes;
use super::out::{self, Out};
use super::reasons::{self, Readable, Records};
use super::rejects::{self, Rejects};
use super::run::{check_times, excerpt, table};
use super::served;
use super::statistics;
use super::written::Written;
use warpath_terminal::streams::Streams;

/// The exit code if a subscription is wrong.
const WRONG: u8 = 3;

/// Prints the subscriptions that each document matches.
pub fn run(mut args: FilterArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.on_error.skip_if_followed(&args.follow);
    let args = &args;
    let format = args.format()?;
    if format == IdsFormatArg::Arrow {
        out::refuse_binary_on_terminal(&format, &args.output)?;
    }
    if args.print_record && format == IdsFormatArg::Arrow {
        return Err(Failure::usage("`--print-record` prints text, and Arrow has columns of ids")
            .with_help("leave `--format arrow` out, or read the records by their lines"));
    }
    check_times(&args.only, None)?;
    let only = predicate(args)?;
    let written = Written::of(&args.output).and(&args.rejects);
    written.refuse_one_for_both()?;
    if args.watch {
        served::refuse("`--watch`")?;
    }
    let seen = watch::Stamp::of(&args.subscriptions);
    let (subscriptions, is_whole) = subscriptions(&args.subscriptions, ui)?;
    let mut names = args.files.files.iter().cloned().map(Source::File);
    let is_lines = names.all(|source| documents(args.input, &source) == Documents::Ndjson);
    let folders = FolderFiles::Documents;
    let mut sources = files::sources_or_followed(&args.files, folders, &args.follow, is_lines, written, ui)?;
    if args.input.is_none() {
        sources = files::recognised(sources)?;
    }
    written.refuse("the file of subscriptions", &args.subscriptions)?;
    let mode = Source::output_mode(&sources).and_file(&args.subscriptions);
    let rejects = Rejects::new(&args.rejects, args.on_error.action() == OnErrorArg::Skip, mode)?;
    let mut settings = builder(&args.backend, &args.on_error);
    if let Some(latency) = args.max_latency {
        settings = settings.max_latency(latency);
    }
    let engine = settings.build()?;
    let standing = Standing::new(subscriptions);
    let without = if args.watch || ui.is_quiet() { None } else { Some(Without::new(&standing)) };
    let watch = || Watch::start(&args.subscriptions, seen, &standing, ui);
    let _watch = if args.watch { Some(watch()?) } else { None };
    let mut filter = Filter {
        args,
        format,
        only,
        without,
        standing,
        engine,
        out: Out::new(&args.output).made_from(mode),
        rejects,
        is_begun: false,
        skipped: 0,
        first_skipped: None,
        done: Done::default(),
    };
    let any = filter.run(sources, ui, started)?;
    Ok(match (is_whole, any) {
        (false, _) => ExitCode::from(WRONG),
        (true, any) => ExitCode::from(u8::from(args.exit_status.exit_status && !any)),
    })
}

/// The predicate on documents.
fn predicate(args: &FilterArgs) -> Result<Option<Predicate>, Error> {
    args.only.predicate()
}

/// The subscriptions of a file, and true if all of its lines are valid.
fn subscriptions(path: &Path, ui: &Ui) -> Result<(Subscriptions, bool), Failure> {
    let text = text_of(path)?;
    let mut subscriptions = Subscriptions::default();
    let errors = subscriptions.add_file(&text);
    tell(path, &errors, ui);
    if subscriptions.is_empty() {
        ui.warning(format_args!("{}: there is no subscription", path.display()));
    }
    Ok((subscriptions, errors.is_empty()))
}

/// The subscriptions of a file, for `warpath explain`.
pub fn all_subscriptions(path: &Path, ui: &Ui) -> Result<(Subscriptions, ExitCode), Failure> {
    let (subscriptions, is_whole) = subscriptions(path, ui)?;
    Ok((subscriptions, if is_whole { ExitCode::SUCCESS } else { ExitCode::from(WRONG) }))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let failed = |source| Error::from(InputError::Io { name: name.to_string(), source });
    String::from_utf8(Streams::current().read(path).map_err(failed)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::usage(format!("{name}:{line}: the subscriptions are not UTF-8"))
    })
}

fn tell(path: &Path, errors: &[SubscriptionError], ui: &Ui) {
    for error in errors {
        ui.error(format_args!("{}:{}:{}: {error}", path.display(), error.line, error.column));
    }
}

/// The kind of documents in an input. `input` is the format that the options name.
pub fn documents(input: Option<DocumentsArg>, source: &Source) -> Documents {
    let name = source.name().to_ascii_lowercase();
    let ends = ["", ".gz", ".zst", ".bz2", ".xz", ".lz4"];
    let is_xml = ends.iter().any(|end| name.strip_suffix(end).is_some_and(|name| name.ends_with(".xml")));
    match input {
        Some(DocumentsArg::Ndjson) => Documents::Ndjson,
        Some(DocumentsArg::Json) => Documents::Json,
        Some(DocumentsArg::Xml) => Documents::Xml,
        None if is_xml => Documents::Xml,
        None => Documents::Ndjson,
    }
}

struct Filter<'a> {
    args: &'a FilterArgs,
    format: IdsFormatArg,
    only: Option<Predicate>,
    /// The subscriptions without a match; `None` if nothing is said about them.
    without: Option<Without>,
    standing: Standing,
    engine: Engine,
    out: Out,
    rejects: Rejects,
    /// True once an input could be read.
    is_begun: bool,
    skipped: u64,
    first_skipped: Option<InputError>,
    done: Done,
}

/// The subscriptions without a matching document, and some documents.
struct Without {
    /// True for each subscription with a match.
    matched: Vec<bool>,
    documents: Records,
    /// True if parts of documents are read, and lack members.
    is_partial: bool,
}

impl Without {
    fn new(standing: &Standing) -> Self {
        let matched = vec![false; standing.current().len()];
        Self { matched, documents: Records::default(), is_partial: false }
    }

    /// Takes the documents that are looked at from inputs, because parts of documents are read. Without an
    /// input, there are none.
    fn read_later(&mut self, inputs: Vec<Readable>) {
        self.is_partial = true;
        self.documents.read_later(inputs);
    }

    fn add(&mut self, filtered: &Filtered) {
        for (_, number) in filtered.pairs() {
            if let Some(matched) = self.matched.get_mut(*number as usize) {
                *matched = true;
            }
        }
        if !self.is_partial {
            self.documents.copy(filtered.text());
        }
    }

    fn report(&self, subscriptions: &Snapshot, ui: &Ui) {
        let without = self.matched.iter().enumerate().filter(|(_, matched)| !**matched);
        let without =
            without.filter_map(|(number, _)| Some((subscriptions.id(number)?, subscriptions.query(number)?)));
        reasons::report_subscriptions(without, &self.documents, ui);
    }
}

/// The plan, statistics and setup of the previous runs.
#[derive(Default)]
struct Done {
    plan: Plan,
    stats: Stats,
    setup: Setup,
}

impl Done {
    fn add(&mut self, run: &Filtering) {
        self.stats = self.stats.and(run.stats());
        (self.plan, self.setup) = (run.plan().clone(), run.setup());
    }
}

impl Filter<'_> {
    /// Filters all inputs. Returns true if any document matched.
    fn run(&mut self, sources: Vec<Source>, ui: &Ui, started: Instant) -> Result<bool, Failure> {
        let is_shown = self.out.is_terminal() && !self.args.count;
        let mut progress = Progress::new(self.args.report.progress.progress, text_bytes(&sources), is_shown);
        let mut answers = Answers::new(self.args, self.format, &self.standing.current())?;
        if answers.is_whole() {
            self.out.make_whole();
        }
        let setup = started.elapsed();
        let mut failure = self.all(sources, &mut answers, &mut progress).err();
        progress.finish(self.done.stats.bytes);
        if matches!(failure, Some(Failure::BrokenPipe)) {
            return Err(Failure::BrokenPipe);
        }
        // If no input could be read, an existing output file stays as it is.
        if failure.is_none() || self.is_begun {
            let ended = if failure.is_none() || !answers.is_about_all() && !self.out.is_whole() {
                answers.end(&self.standing.current(), &mut self.out).and_then(|()| self.out.complete())
            } else {
                Ok(())
            };
            failure = failure.or(ended.and_then(|()| self.rejects.finish()).err());
        }
        ui.skipped("document", self.skipped, self.first_skipped.take());
        let subscriptions = self.standing.current();
        if let (Some(without), None) = (&self.without, &failure) {
            without.report(&subscriptions, ui);
        }
        if let Some(format) = self.args.report.stats.stats {
            let Done { plan, stats, setup: made } = &self.done;
            // Setup ends when the first partition can be evaluated. Reading that overlaps with setup is not
            // counted.
            let ready = made.ready.map(|ready| ready.saturating_duration_since(started));
            let setup = ready.map_or(setup, |ready| ready.max(setup));
            statistics::show(ui, &table(plan, stats, setup, made, started.elapsed(), None), format);
        }
        failure.map_or(Ok(self.done.stats.matches > 0), Err)
    }

    fn all(
        &mut self,
        sources: Vec<Source>,
        answers: &mut Answers,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut sources = sources.into_iter().peekable();
        while let Some(first) = sources.peek() {
            let kind = documents(self.args.input, first);
            let mut same = Vec::new();
            while let Some(source) = sources.next_if(|source| documents(self.args.input, source) == kind) {
                same.push(source);
            }
            let again = Readable::of(&same);
            let mut input = self.engine.input(same);
            if let Some(only) = &self.only {
                input = input.matching(only);
            }
            let mut run = match kind {
                // Parts are read by what the subscriptions test, so these must not change meanwhile.
                Documents::Ndjson if !self.args.watch && !self.args.print_record => {
                    input.filter_partial(&self.standing.current())
                }
                _ => input.filter(&self.standing, kind),
            };
            if let (Some(without), Some(_)) = (&mut self.without, run.plan().part_columns()) {
                without.read_later(again);
            }
            let told = self.tell(&mut run, kind, answers, progress);
            self.done.add(&run);
            told?;
        }
        Ok(())
    }

    /// Writes the results so far, because the next ones may take time.
    fn pause(&mut self, answers: &mut Answers) -> Result<(), Failure> {
        answers.pause(&mut self.out)?;
        self.rejects.pause()
    }

    fn tell(
        &mut self,
        run: &mut Filtering,
        kind: Documents,
        answers: &mut Answers,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let before = self.done.stats.bytes;
        // A faulty line may follow the last evaluated one. This is the text around its fault.
        let mut shown = None;
        loop {
            match run.next() {
                // The next inputs may be slow, so results are written now.
                None => return self.pause(answers),
                Some(Err(error)) => {
                    let is_record = matches!(error, Error::Input(InputError::Record(_)));
                    return Err(Failure::Library(Box::new(error), shown.filter(|_| is_record)));
                }
                Some(Ok(mut filtered)) => {
                    self.out.open()?;
                    self.rejects.open()?;
                    self.is_begun = true;
                    if let (Some(without), true) = (&mut self.without, kind != Documents::Xml) {
                        without.add(&filtered);
                    }
                    answers.add(&filtered, &mut self.out)?;
                    shown = filtered.faulty_line().map(|(line, at)| excerpt(line, at));
                    let skipped = filtered.take_skipped();
                    for (number, error) in skipped.iter().enumerate() {
                        let reject = rejects::of_document(error, filtered.skipped_text(number));
                        self.rejects.add(filtered.source(), &reject)?;
                    }
                    self.skipped += skipped.len() as u64;
                    self.first_skipped = self.first_skipped.take().or(skipped.into_iter().next());
                    if let Some(failure) = self.rejects.failure() {
                        return Err(failure);
                    }
                    if !run.is_ready() {
                        self.pause(answers)?;
                    }
                    progress.update(before + run.bytes_read());
                }
            }
        }
    }
}
