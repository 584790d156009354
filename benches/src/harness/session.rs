//! Runs the tools of each case in turns, checks their results against the reference, and keeps the
//! measurements.
//!
//! A case begins with one run of each tool whose result is read and checked. This run also warms the caches.
//! Then come rounds: in each, every tool runs once with its output dropped. So a disturbance of the machine
//! affects all tools alike, and no tool has the caches to itself. The result file is written again after
//! every case.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::data::{Data, LONG};
use super::plan::{Case, Chart, Work};
use super::record::{self, Checked, Measured, Outcome, Record, median};
use super::tool::{Output, Places, Tool, shown};
use super::values::{self, Columns, Digest};
use super::{components, machine, process};

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of the data, which is made there.
    pub data: PathBuf,
    /// The folder into which `benches/peers.sh` puts peers.
    pub peers: PathBuf,
    /// The file of results. Charts that are not measured keep what it says of them.
    pub results: PathBuf,
    /// The most runs of a tool in a case.
    pub runs: usize,
    /// A slow peer runs less often: until it has taken this long in a case, but twice at least.
    pub budget: Duration,
    /// A run that takes longer is ended.
    pub limit: Duration,
    /// The measured revision, which is shown with Warpath's version.
    pub revision: Option<String>,
}

/// Measures charts.
pub struct Session {
    settings: Settings,
    places: Places,
    machine: String,
    references: HashMap<(Data, Columns), Digest>,
    versions: HashMap<String, Result<String, String>>,
    records: Vec<Record>,
}

impl Session {
    /// A session that goes on from what the result file holds.
    ///
    /// # Errors
    ///
    /// If that file cannot be read.
    pub fn new(settings: Settings) -> Result<Self> {
        let folder = settings.results.parent().context("the result file has a folder")?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self {
            places: Places::new(&settings.peers),
            machine: machine::describe(),
            references: HashMap::new(),
            versions: HashMap::new(),
            records: record::load(&settings.results)?,
            settings,
        })
    }

    /// The machine of the session.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Measures a chart, in place of what was known of it.
    ///
    /// # Errors
    ///
    /// If data or references cannot be made, or results not be written. What a tool does wrong is a result.
    pub fn measure(&mut self, chart: &Chart) -> Result<()> {
        self.records.retain(|record| record.chart != chart.id);
        for case in &chart.cases {
            let (file, bytes) = case.data.ensure(&self.settings.data)?;
            eprintln!("--- {}: {} ({}, {bytes} bytes)", chart.id, case.label, case.data.shape_name());
            let outcomes = match &case.work {
                Work::Tools(tools) => {
                    self.refer(chart, case.data, &file)?;
                    self.tools(chart, case, tools, &file)
                }
                Work::Components { levels } => {
                    let levels = levels.iter().flat_map(|levels| ["--levels".into(), levels.to_string()]);
                    let paths = case.ask.columns.paths.iter().map(|(_, path)| path.clone());
                    vec![self.components(levels.collect(), &file, paths.collect())]
                }
                Work::Trees { brackets } => {
                    let flags = ["--trees".into(), "--brackets".into(), brackets.to_string()];
                    vec![self.components(flags.into(), &file, Vec::new())]
                }
            };
            for (tool, version, command, outcome) in outcomes.into_iter().flatten() {
                self.records.push(Record {
                    chart: chart.id.to_owned(),
                    case: case.label.clone(),
                    x: case.x,
                    tool,
                    version,
                    command: shown(&command, &self.settings.data.to_string_lossy()),
                    shape: case.data.shape_name(),
                    bytes,
                    query: case.ask.text(),
                    outcome,
                    machine: self.machine.clone(),
                    date: machine::now(),
                });
                if let Some(record) = self.records.last() {
                    eprintln!("{}", line(record));
                }
            }
            record::save(&self.settings.results, &self.records)?;
        }
        Ok(())
    }

    /// Starts a process that finds the expected results of the chart's queries over a file, unless they are
    /// known.
    fn refer(&mut self, chart: &Chart, data: Data, file: &Path) -> Result<()> {
        let mut wanted: Vec<Columns> = Vec::new();
        for case in chart.cases.iter().filter(|case| case.data == data) {
            let columns = &case.ask.columns;
            if !wanted.contains(columns) && !self.references.contains_key(&(data, columns.clone())) {
                wanted.push(columns.clone());
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let this = std::env::current_exe()?;
        let mut command = vec![
            this.to_string_lossy().into_owned(),
            "reference".into(),
            file.to_string_lossy().into_owned(),
        ];
        command.push(serde_json::to_string(&wanted)?);
        let text = process::text(&command, LONG).map_err(|failure| anyhow!("reference: {failure}"))?;
        let digests: Vec<Digest> = serde_json::from_str(&text)?;
        for (columns, digest) in wanted.into_iter().zip(digests) {
            self.references.insert((data, columns), digest);
        }
        Ok(())
    }

    fn version(&mut self, tool: &Tool) -> Result<String, String> {
        let (places, revision) = (&self.places, &self.settings.revision);
        let version = self.versions.entry(tool.name()).or_insert_with(|| match (tool, revision) {
            (Tool::Warpath { .. }, Some(revision)) => {
                places.version(tool).map(|version| format!("{version}, {revision}"))
            }
            _ => places.version(tool),
        });
        version.clone()
    }

    fn tools(&mut self, chart: &Chart, case: &Case, tools: &[Tool], file: &Path) -> Vec<Vec<Seen>> {
        let want = self.references.get(&(case.data, case.ask.columns.clone())).cloned();
        let file = file.to_string_lossy();
        let mut entries: Vec<PreparedTool> = Vec::new();
        for tool in tools {
            // A tool that has no command for this query is not part of the case.
            let Some(bare) = tool.command(&case.ask, &file) else { continue };
            let version = self.version(tool);
            let command = self.places.resolve(bare.clone());
            let (version, state) = match (version, command) {
                (Ok(version), Some(command)) => {
                    (version, self.check(tool, case, &command, want.as_ref()).map(|check| (command, check)))
                }
                (Ok(version), None) => (version, Err("not installed".into())),
                (Err(why), _) => (String::new(), Err(why)),
            };
            let state = state.map(|(command, (first, measured))| State {
                runs: self.runs(chart, tool, first),
                command,
                measured,
            });
            entries.push(PreparedTool { tool: tool.clone(), version, bare, state });
        }
        for round in 0..self.settings.runs {
            for entry in &mut entries {
                let Ok(state) = &mut entry.state else { continue };
                if round < state.runs
                    && let Err(failure) = state.run(self.settings.limit)
                {
                    entry.state = Err(failure.to_string());
                }
            }
        }
        let outcome = |entry: PreparedTool| {
            let outcome = match entry.state {
                Ok(state) => Outcome::Measured(state.measured),
                Err(why) => Outcome::NotRun { why },
            };
            (entry.tool.name(), entry.version, entry.bare, outcome)
        };
        vec![entries.into_iter().map(outcome).collect()]
    }

    /// The number of runs of a tool, by the duration of its first run.
    fn runs(&self, chart: &Chart, tool: &Tool, first: Duration) -> usize {
        let most = chart.runs.min(self.settings.runs);
        match tool {
            Tool::Warpath { .. } | Tool::Qj(_) | Tool::Cat if first < Duration::from_secs(5) => most,
            _ => runs_within(self.settings.budget, first, most),
        }
    }

    /// Runs a tool once and compares its results with the reference. Returns the time, and the findings.
    fn check(
        &self,
        tool: &Tool,
        case: &Case,
        command: &[String],
        want: Option<&Digest>,
    ) -> Result<(Duration, Measured), String> {
        let want = want.ok_or("no reference")?;
        let limit = self.settings.limit;
        let compare = |got: Digest| {
            if got != *want {
                bail!(
                    "wrong answer: {} values, hash {}; not {}, {}",
                    got.count,
                    got.hash,
                    want.count,
                    want.hash
                );
            }
            Ok((got.count, Checked::Values))
        };
        let read = match tool.output(&case.ask) {
            Output::Values(unwrap) => {
                process::read(command, limit, |stdout| compare(values::digest(stdout, unwrap)?))
            }
            Output::Arrow => self.check_arrow(command, compare),
            Output::Count => process::read(command, limit, |stdout| {
                let mut text = String::new();
                stdout.read_to_string(&mut text)?;
                if text.trim() != want.count.to_string() {
                    bail!("wrong answer: {:?}, not {}", text.trim(), want.count);
                }
                Ok((want.count, Checked::Count))
            }),
            Output::Nothing => process::read(command, limit, |stdout| {
                std::io::copy(stdout, &mut std::io::sink())?;
                Ok((0, Checked::Nothing))
            }),
        };
        let run = read.map_err(|failure| failure.to_string())?;
        let (count, checked) = run.output;
        Ok((run.usage.wall, Measured { count, checked, ..Measured::default() }))
    }

    /// Has a process of its own read a tool's rows in Arrow, because whole batches need memory.
    fn check_arrow<T>(
        &self,
        command: &[String],
        compare: impl FnOnce(Digest) -> Result<T>,
    ) -> Result<process::Run<T>, process::Failure> {
        let this = std::env::current_exe().map_err(process::Failure::NotStarted)?;
        // That process ends the tool at the limit. Only then may it be ended itself.
        let limit = self.settings.limit;
        let start = [
            this.to_string_lossy().into_owned(),
            "arrow-digest".into(),
            limit.as_secs().to_string(),
            "--".into(),
        ];
        let command: Vec<String> = start.into_iter().chain(command.iter().cloned()).collect();
        let limit = limit.saturating_add(Duration::from_secs(10));
        process::read(&command, limit, |stdout| compare(serde_json::from_reader(stdout)?))
    }

    /// Has `bench kernels` time what happens on a device.
    fn components(&mut self, flags: Vec<String>, file: &Path, paths: Vec<String>) -> Vec<Seen> {
        let mut bare = vec!["bench".to_owned(), "kernels".to_owned()];
        bare.extend(flags);
        bare.push(file.to_string_lossy().into_owned());
        bare.extend(paths);
        let version = self.settings.revision.clone().unwrap_or_default();
        let not_run = |why: String| {
            vec![("bench kernels".to_owned(), version.clone(), bare.clone(), Outcome::NotRun { why })]
        };
        let Some(command) = self.places.resolve(bare.clone()) else {
            return not_run("not built: cargo build --release -p warpath-benches".into());
        };
        let text = match process::text(&command, self.settings.limit) {
            Ok(text) => text,
            Err(failure) => return not_run(failure.to_string()),
        };
        let components = components::parse(&text);
        if components.is_empty() {
            return not_run("it printed no times".into());
        }
        let seen = components.into_iter().map(|component| {
            let name = match &component.group {
                Some(group) => format!("{group}: {}", component.name),
                None => component.name.clone(),
            };
            let measured = Measured {
                wall_ms: vec![component.milliseconds],
                checked: Checked::ByProgram,
                ..Measured::default()
            };
            (name, version.clone(), bare.clone(), Outcome::Measured(measured))
        });
        seen.collect()
    }
}

/// A tool's name, version, command and outcome.
type Seen = (String, String, Vec<String>, Outcome);

/// A tool in a case.
struct PreparedTool {
    tool: Tool,
    version: String,
    /// With bare names.
    bare: Vec<String>,
    /// Or why it is not measured.
    state: Result<State, String>,
}

/// A tool whose answer was right.
struct State {
    command: Vec<String>,
    runs: usize,
    measured: Measured,
}

impl State {
    fn run(&mut self, limit: Duration) -> Result<(), process::Failure> {
        let run = process::run(&self.command, limit)?;
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let measured = &mut self.measured;
        measured.wall_ms.push(milliseconds(run.usage.wall));
        measured.user_ms.push(milliseconds(run.usage.user));
        measured.system_ms.push(milliseconds(run.usage.system));
        measured.peak_bytes = measured.peak_bytes.max(run.usage.peak_bytes);
        for (name, time) in stats(&run.messages) {
            measured.stats_ms.entry(name).or_default().push(time);
        }
        Ok(())
    }
}

/// The number of runs, by the duration of the first: until the budget is spent, but at least two.
fn runs_within(budget: Duration, first: Duration, most: usize) -> usize {
    let fit = (budget.as_secs_f64() / first.as_secs_f64().max(1e-6)).ceil();
    (fit as usize).clamp(2, most.max(2))
}

/// The times in the table that `--stats` prints, in milliseconds: rows of a name, a number and `s`.
fn stats(messages: &str) -> Vec<(String, f64)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, number, unit) = (words.next()?, words.next()?, words.next()?);
        let seconds: f64 = number.parse().ok()?;
        (unit.trim_end_matches(',') == "s").then(|| (name.to_owned(), (seconds * 1e6).round() / 1e3))
    };
    messages.lines().filter_map(row).collect()
}

/// A record on one line, to be read while it is measured.
fn line(record: &Record) -> String {
    match &record.outcome {
        Outcome::Measured(measured) => {
            let wall = median(&measured.wall_ms).unwrap_or(f64::NAN);
            let runs = measured.wall_ms.len();
            format!("{:<40} {wall:>10.3} ms {:>9.2} GB/s  {runs} runs", record.tool, record.rate(wall))
        }
        Outcome::NotRun { why } => format!("{:<40} NOT RUN: {why}", record.tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tools_run_less_often() {
        let runs = |first| runs_within(Duration::from_secs(3), Duration::from_millis(first), 10);
        assert_eq!([runs(1), runs(300), runs(600), runs(1400), runs(5200)], [10, 10, 5, 3, 2]);
    }

    #[test]
    fn statistics_are_read() {
        let table = "\
backend     cpu, 2 threads
bytes       419432862 (400 MiB)
partitions  14
setup       0.001 s
answering   0.071 s, while reading
total       0.135 s
speed       3.10 GB/s without setup
";
        let want = [("setup", 1.0), ("answering", 71.0), ("total", 135.0)];
        assert_eq!(stats(table), want.map(|(name, time)| (name.to_owned(), time)));
    }

    /// With no tool but `cat`, and one that is not there: the first is measured, the second is reported.
    #[test]
    fn what_fails_is_a_result_and_the_rest_goes_on() {
        use crate::generate::Shape;
        use crate::harness::ask;

        let folder = tempfile::tempdir().unwrap();
        let data = Data { shape: Shape::Sized(200), bytes: 20_000 };
        super::super::data::make(data.shape, &folder.path().join("sized-200-20000.ndjson"), data.bytes)
            .unwrap();
        let results = folder.path().join("docs/cpu.jsonl");
        let settings = Settings {
            data: folder.path().into(),
            peers: folder.path().join("peers"),
            results: results.clone(),
            runs: 3,
            budget: Duration::MAX,
            limit: Duration::MAX,
            revision: None,
        };
        let mut session = Session::new(settings).unwrap();
        let ask = ask::sized_name();
        let digest = Digest { count: 100, hash: String::new() };
        session.references.insert((data, ask.columns.clone()), digest);
        // A `jaq` that prints one value too few, and a `jq` that does not end as it should.
        let bin = folder.path().join("peers/bin");
        std::fs::create_dir_all(&bin).unwrap();
        for (name, script) in
            [("jaq", "#!/bin/sh\nseq 99\n"), ("jq", "#!/bin/sh\n[ $1 = --version ] || exit 5\n")]
        {
            std::fs::write(bin.join(name), script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(bin.join(name), mode).unwrap();
        }
        let tools = vec![Tool::Qj("0.0.0"), Tool::Jaq, Tool::Jq, Tool::Cat];
        let case = Case { label: "x".into(), x: None, data, ask, work: Work::Tools(tools) };
        session.measure(&Chart { id: "peers", runs: 3, cases: vec![case] }).unwrap();
        let records = record::load(&results).unwrap();
        let why = |at: usize| match &records[at].outcome {
            Outcome::NotRun { why } => why.clone(),
            Outcome::Measured(_) => String::new(),
        };
        assert!(why(0).contains("not installed"), "{}", why(0));
        assert!(why(1).contains("wrong answer: 99 values"), "{}", why(1));
        assert!(why(2).contains("exit status: 5"), "{}", why(2));
        assert_eq!(records[3].measured().unwrap().wall_ms.len(), 3);
        assert_eq!(records[3].command, "cat sized-200-20000.ndjson");
        assert_eq!(records[3].bytes, 20_000);
    }
}
