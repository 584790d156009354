//! The tools: the location of each, and its command for a query.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ask::Ask;
use super::process;

/// The beginning of a script for DuckDB. Its progress bar would go to standard output.
const DUCKDB: &str = "import duckdb\nduckdb.sql('SET enable_progress_bar = false')\n";

/// A tool, as it is driven in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `warpath query` or `select`, on a device.
    Warpath {
        /// The value of `--device`.
        device: &'static str,
        /// The number of matches in place of the matches.
        count: bool,
        /// Check the records by all of RFC 8259, as most peers do.
        strict: bool,
        /// The value of `--partition-size`.
        partition: Option<String>,
    },
    /// A version of `qj`.
    Qj(&'static str),
    /// `jaq`.
    Jaq,
    /// `jq`.
    Jq,
    /// DuckDB, through its Python package.
    DuckDb {
        /// The number of values in place of the values.
        count: bool,
    },
    /// Polars, through its Python package.
    Polars {
        /// The number of values in place of the values.
        count: bool,
    },
    /// A library for Rust, through `benches/peers`.
    Library {
        /// The name by which `peers` knows it.
        name: &'static str,
        /// Over every core.
        all: bool,
    },
    /// `cat` to nowhere: what reading the file costs.
    Cat,
}

/// The output of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Each value or row on a line; of rows with one member, the member's name.
    Values(Option<&'static str>),
    /// Rows in the stream format of Arrow.
    Arrow,
    /// A number.
    Count,
    /// The file, or nothing of interest.
    Nothing,
}

impl Tool {
    /// Warpath on a device, printing what it finds.
    pub fn warpath(device: &'static str) -> Self {
        Tool::Warpath { device, count: false, strict: false, partition: None }
    }

    /// Warpath on a device, counting.
    pub fn warpath_count(device: &'static str) -> Self {
        Tool::Warpath { device, count: true, strict: false, partition: None }
    }

    /// Warpath on a device, printing what it finds in records that it checks.
    pub fn warpath_strict(device: &'static str) -> Self {
        Tool::Warpath { device, count: false, strict: true, partition: None }
    }

    /// Its name in results.
    pub fn name(&self) -> String {
        let counting = |count: bool| if count { ", count" } else { "" };
        match self {
            Tool::Warpath { device, count, strict, .. } => {
                let strict = if *strict { ", strict" } else { "" };
                format!("warpath {device}{strict}{}", counting(*count))
            }
            Tool::Qj(version) => format!("qj {version}"),
            Tool::Jaq => "jaq".into(),
            Tool::Jq => "jq".into(),
            Tool::DuckDb { count } => format!("DuckDB{}", counting(*count)),
            Tool::Polars { count } => format!("Polars{}", counting(*count)),
            Tool::Library { name, all } => {
                let name = match name.rsplit_once('-') {
                    Some((library, way)) => format!("{library} {way}"),
                    None => (*name).to_owned(),
                };
                format!("{name}{}", if *all { ", all cores" } else { "" })
            }
            Tool::Cat => "cat".into(),
        }
    }

    /// The form of its output for a query.
    pub fn output(&self, ask: &Ask) -> Output {
        match self {
            Tool::Warpath { count: true, .. }
            | Tool::DuckDb { count: true }
            | Tool::Polars { count: true } => Output::Count,
            Tool::Warpath { .. } | Tool::DuckDb { .. } | Tool::Polars { .. } if !ask.types.is_empty() => {
                Output::Arrow
            }
            Tool::DuckDb { .. } | Tool::Polars { .. } if ask.columns.is_plain() => Output::Values(Some("v")),
            Tool::Cat => Output::Nothing,
            _ => Output::Values(None),
        }
    }

    /// The program that runs.
    fn program(&self) -> String {
        match self {
            Tool::Warpath { .. } => "warpath".into(),
            Tool::Qj(version) => format!("qj-{version}"),
            Tool::Jaq => "jaq".into(),
            Tool::Jq => "jq".into(),
            Tool::DuckDb { .. } | Tool::Polars { .. } => "python".into(),
            Tool::Library { .. } => "peers".into(),
            Tool::Cat => "cat".into(),
        }
    }

    /// Its command for a query over a file, the program's bare name first; `None` if it does not support the
    /// query.
    pub fn command(&self, ask: &Ask, file: &str) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut command = vec![self.program()];
        match self {
            Tool::Warpath { device, count, strict, partition } => {
                let partition = partition.iter().flat_map(|size| ["--partition-size", size]);
                let condition = ask.columns.condition.iter().flat_map(|condition| ["--where", condition]);
                let flags = ["--device", device, "--stats"].into_iter().chain(strict.then_some("--strict"));
                let flags: Vec<&str> = flags.chain(partition).chain(condition).collect();
                if ask.columns.is_plain() {
                    command.push("query".into());
                    command.extend(words(&flags));
                    command.extend(count.then(|| "--count".to_owned()));
                    command.extend(words(&[&ask.columns.paths[0].1, file]));
                } else if *count {
                    return None;
                } else {
                    command.push("select".into());
                    command.extend(words(&flags));
                    if !ask.types.is_empty() {
                        command.extend(words(&["--format", "arrow"]));
                    }
                    command.extend(ask.selected());
                    command.extend(words(&["--", file]));
                }
            }
            Tool::Qj(_) | Tool::Jaq | Tool::Jq => command.extend(words(&["-c", ask.jq.as_ref()?, file])),
            Tool::DuckDb { count } => {
                let sql = ask.sql.as_ref()?;
                let from = format!("FROM (SELECT json FROM read_ndjson_objects('{file}')) t {}", sql.filter);
                let script = if *count {
                    format!(
                        "{DUCKDB}print(int(duckdb.sql(\"SELECT {} {from}\").fetchall()[0][0]))",
                        sql.count.as_ref()?
                    )
                } else if !ask.types.is_empty() {
                    format!(
                        "{DUCKDB}import sys, pyarrow as pa\n\
                         t = duckdb.sql(\"SELECT {} {from}\").to_arrow_table()\n\
                         with pa.ipc.new_stream(sys.stdout.buffer, t.schema) as out: out.write_table(t)",
                        sql.values
                    )
                } else {
                    format!(
                        "{DUCKDB}duckdb.sql(\"COPY (SELECT {} {from}) TO '/dev/stdout' (FORMAT json, USE_TMP_FILE false)\")",
                        sql.values
                    )
                };
                command.extend(words(&["-c", &script]));
            }
            Tool::Polars { count } => {
                let to_arrow = !ask.types.is_empty();
                let ask = ask.polars.as_ref().filter(|polars| polars.counts || !count)?;
                let end = if *count {
                    "print(t.select(pl.len()).collect().item())"
                } else if to_arrow {
                    "t.collect().write_ipc_stream(sys.stdout.buffer)"
                } else {
                    "t.collect().write_ndjson(sys.stdout.buffer)"
                };
                let script = format!(
                    "import sys, polars as pl\nt = pl.scan_ndjson('{file}', schema={})\nt = {}\n{end}",
                    ask.schema, ask.select
                );
                command.extend(words(&["-c", &script]));
            }
            Tool::Library { name, all } => {
                command.extend(words(&[
                    name,
                    ask.library.as_deref()?,
                    if *all { "all" } else { "one" },
                    file,
                ]));
            }
            Tool::Cat => command.extend(words(&[file])),
        }
        Some(command)
    }

    /// The command that prints its version, the program's bare name first.
    fn version_command(&self) -> Vec<String> {
        let python = |package: &str| {
            vec!["python".into(), "-c".into(), format!("import {package}; print({package}.__version__)")]
        };
        match self {
            Tool::DuckDb { .. } => python("duckdb"),
            Tool::Polars { .. } => python("polars"),
            Tool::Library { name, .. } => vec!["peers".into(), "--version".into(), (*name).to_owned()],
            tool => vec![tool.program(), "--version".into()],
        }
    }
}

/// The folders in which programs are searched.
#[derive(Clone, Debug)]
pub struct Places(Vec<PathBuf>);

impl Places {
    /// Beside this program, then where `benches/peers.sh` puts peers, then on the PATH.
    pub fn new(peers: &Path) -> Self {
        let beside = env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let mut places: Vec<PathBuf> = beside.into_iter().collect();
        places.extend([peers.join("bin"), peers.join("venv/bin")]);
        places.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
        Self(places)
    }

    /// A command that begins with where its program is.
    pub fn resolve(&self, mut command: Vec<String>) -> Option<Vec<String>> {
        let program = command.first_mut()?;
        let found = self.0.iter().map(|place| place.join(&*program)).find(|path| path.is_file())?;
        *program = found.to_str()?.to_owned();
        Some(command)
    }

    /// Returns the version that a tool reports.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be run, for people.
    pub fn version(&self, tool: &Tool) -> Result<String, String> {
        let missing = || match tool {
            Tool::Warpath { .. } => "not built: cargo build --release -p warpath-cli".to_owned(),
            _ => "not installed: run benches/peers.sh".to_owned(),
        };
        let command = self.resolve(tool.version_command()).ok_or_else(missing)?;
        let text = process::text(&command, Duration::from_secs(20));
        let text = text.map_err(|failure| format!("{} ({failure})", missing()))?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// A command as one would type it: bare names for the program and for the file, quotes as the shell needs
/// them.
pub fn shown(command: &[String], folder: &str) -> String {
    let word = |word: &String| {
        let word = word.replace(&format!("{}/", folder.trim_end_matches('/')), "");
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+".contains(&byte);
        if !word.is_empty() && word.bytes().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\n', "; ").replace('\'', r"'\''"))
        }
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::ask;
    use crate::harness::lengths::lengths;

    #[test]
    fn commands_are_those_of_a_user() {
        let command = |tool: Tool, ask: &Ask| shown(&tool.command(ask, "/data/t.ndjson").unwrap(), "/data/");
        assert_eq!(
            command(Tool::warpath("cpu"), &ask::lang()),
            "warpath query --device cpu --stats '$.user.lang' t.ndjson"
        );
        assert_eq!(
            command(Tool::warpath("cpu"), &ask::query("two fields")),
            "warpath select --device cpu --stats 'a=$.user.lang' 'b=$.lang' -- t.ndjson"
        );
        let counting =
            Tool::Warpath { device: "cuda", count: true, strict: false, partition: Some("1GiB".into()) };
        assert_eq!(
            command(counting, &ask::lang()),
            "warpath query --device cuda --stats --partition-size 1GiB --count '$.user.lang' t.ndjson"
        );
        assert_eq!(
            command(Tool::Qj("0.1.4"), &ask::query("two fields")),
            "qj-0.1.4 -c '{a:.user.lang,b:.lang}' t.ndjson"
        );
        assert_eq!(
            command(Tool::Library { name: "sonic-rs-get", all: true }, &ask::lang()),
            "peers sonic-rs-get lang all t.ndjson"
        );
        let duckdb = command(Tool::DuckDb { count: true }, &ask::query("filter"));
        assert!(
            duckdb.contains("count(*) FROM") && duckdb.contains("t.ndjson") && !duckdb.contains("/data"),
            "{duckdb}"
        );
    }

    #[test]
    fn commands_have_types_conditions_and_the_strict_check() {
        let log = &lengths()[0];
        let command = |tool: Tool, ask: &Ask| shown(&tool.command(ask, "/data/t.ndjson").unwrap(), "/data/");
        assert_eq!(
            command(Tool::warpath_strict("cpu"), &log.filter()),
            "warpath query --device cpu --stats --strict --where '$.status == 404' '$.service' t.ndjson"
        );
        assert_eq!(
            command(Tool::warpath("cpu"), &log.arrow()),
            "warpath select --device cpu --stats --format arrow 'time:string=$.time' 'level:string=$.level' \
             'service:string=$.service' 'status:int64=$.status' 'ms:float64=$.ms' -- t.ndjson"
        );
        assert_eq!(command(Tool::Jq, &log.filter()), "jq -c 'select(.status==404)|.service' t.ndjson");
        assert_eq!(Tool::Jq.command(&log.arrow(), "t"), None);
        for (tool, part) in [
            (Tool::DuckDb { count: false }, "new_stream"),
            (Tool::Polars { count: false }, "write_ipc_stream"),
        ] {
            assert!(command(tool.clone(), &log.arrow()).contains(part), "{tool:?}");
            assert!(!command(tool.clone(), &log.rows()).contains(part), "{tool:?}");
            assert_eq!(tool.output(&log.arrow()), Output::Arrow);
        }
    }

    #[test]
    fn rows_cannot_be_counted() {
        for tool in [Tool::warpath_count("cpu"), Tool::DuckDb { count: true }, Tool::Polars { count: true }] {
            assert_eq!(tool.command(&ask::query("two fields"), "t"), None, "{tool:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let nowhere = Places(vec!["/nowhere".into()]);
        let why = nowhere.version(&Tool::Jaq).unwrap_err();
        assert!(why.contains("benches/peers.sh"), "{why}");
        let why = nowhere.version(&Tool::warpath("cpu")).unwrap_err();
        assert!(why.contains("cargo build"), "{why}");
    }

    #[test]
    fn names() {
        assert_eq!(Tool::warpath_count("cpu").name(), "warpath cpu, count");
        assert_eq!(
            Tool::Library { name: "serde_json-typed", all: true }.name(),
            "serde_json typed, all cores"
        );
        assert_eq!(Tool::Library { name: "simd-json-value", all: false }.name(), "simd-json value");
        assert_eq!(Tool::Library { name: "sonic-rs-get", all: false }.name(), "sonic-rs get");
        assert_eq!(Tool::Library { name: "rsonpath", all: false }.name(), "rsonpath");
    }
}
