//! The options.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use warpath::DeviceChoice;
use warpath_terminal::options::{MessageArgs, memory_size, size, workers};

/// Answer questions about stores, folders and files over HTTP
///
/// Every command of `warpath` takes `--server URL` and then prints what it prints beside the files. A browser
/// shows a page at the same address, and clients of Flight SQL, such as ADBC, send SQL to it.
#[derive(Parser)]
#[command(
    name = "warpath serve",
    version,
    max_term_width = 100,
    after_long_help = "\
Examples:
  warpath serve logs.wp
  warpath serve --writable --listen 127.0.0.1:8080 logs.wp tweets.ndjson
  warpath count-by '$.level' --server http://127.0.0.1:7273
  curl -d '{\"arguments\": [\"$.user.lang\"], \"limit\": 3}' http://127.0.0.1:7273/query
  curl --data-binary @new.ndjson 'http://127.0.0.1:7273/append?input=logs.wp'

The first line on standard output is the address. Whoever reaches the address can read all inputs, so it is one
of this machine, unless a token is set. docs/serve.md has the interface.

SIGINT or SIGTERM ends the server: questions that run get the time of `--grace` to end."
)]
pub struct Args {
    /// Stores, folders, patterns and files of JSON
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// Address and port, or a port of this machine; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7273", value_parser = address)]
    pub listen: SocketAddr,

    /// File with the token that requests must have, of at least 16 characters
    ///
    /// Without it, the variable WARPATH_TOKEN has the token, if there is one. An address that other machines
    /// reach requires a token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Let requests add lines to the stores
    #[arg(long)]
    pub writable: bool,

    /// Questions that run at the same time [default: one for each core, and at least 4]
    #[arg(long, value_name = "N", value_parser = questions, help_heading = "Limits")]
    pub questions: Option<usize>,

    /// Questions that wait for others; more are refused
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Limits")]
    pub queue: usize,

    /// Questions that follow their inputs at the same time
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Limits")]
    pub tails: usize,

    /// The longest time of a question, such as 90s or 10min
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = some_time, help_heading = "Limits")]
    pub time: Duration,

    /// The most lines of a response of text, and rows of Flight SQL
    #[arg(long, value_name = "N", default_value_t = 100_000_000, help_heading = "Limits")]
    pub rows: u64,

    /// The most bytes of a response
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = size, help_heading = "Limits")]
    pub answer: u64,

    /// The most memory for the partitions of a question, and for the values that it sorts or counts
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = memory_size, help_heading = "Limits")]
    pub memory: usize,

    /// The most memory for inputs that stay in memory; 0 keeps none [default: half of the machine's]
    ///
    /// Inputs that have no room are read for each question. Results are the same.
    #[arg(long, value_name = "SIZE", value_parser = load_size, help_heading = "Limits")]
    pub load: Option<usize>,

    /// The most bytes of the body of a request
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size, help_heading = "Limits")]
    pub body: u64,

    /// The most bytes of lines that one request adds
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size, help_heading = "Limits")]
    pub append: u64,

    /// Connections at the same time; more wait
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Limits")]
    pub connections: usize,

    /// The longest time without a byte of a client that is to send more
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time, help_heading = "Limits")]
    pub idle: Duration,

    /// The time that questions have to end when the server does
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "Limits")]
    pub grace: Duration,

    /// Device that evaluates: auto, cpu, cuda, cuda:N, cuda:N,N or cuda:all
    #[arg(
        long,
        value_name = "DEVICE",
        default_value = "auto",
        env = "WARPATH_DEVICE",
        hide_env_values = true
    )]
    pub device: DeviceChoice,

    #[command(flatten)]
    pub messages: MessageArgs,
}

/// The bytes of memory for inputs, or 0.
fn load_size(text: &str) -> Result<usize, String> {
    if text == "0" { Ok(0) } else { memory_size(text) }
}

/// An address and a port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| "an address and a port were expected, such as 127.0.0.1:7273".to_owned())
}

fn questions(text: &str) -> Result<usize, String> {
    workers(text).map_err(|_| "1 to 1024 questions run at the same time".to_owned())
}

/// A time that is not 0.
fn some_time(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("nothing happens in a time of 0".to_owned()),
        time => Ok(time),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}: times are such as 90s or 10min"))
}
