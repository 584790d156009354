//! Runs a command with a file as an object of S3, and prints the requests and bytes that it took.
//!
//! ```text
//! cargo run --release -p warpath-objects -- FILE [--direct] COMMAND ARG…
//! ```
//!
//! The object is `s3://bucket/object`. Its server is in this process, and so is a proxy that counts. With
//! `--direct` there is no proxy, and no count.

use std::process::{Command, ExitCode};
use std::time::Instant;

use warpath_objects::{Proxy, S3Server};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else { return usage() };
    let mut command: Vec<String> = args.collect();
    let is_direct = command.first().is_some_and(|first| first == "--direct");
    if is_direct {
        command.remove(0);
    }
    let Some((program, args)) = command.split_first() else { return usage() };
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    let server = S3Server::start();
    server.put("object", bytes);
    let proxy = (!is_direct).then(|| Proxy::before(server.address()));
    let endpoint = proxy.as_ref().map_or(server.address(), Proxy::address);
    let start = Instant::now();
    let status = Command::new(program).args(args).envs(S3Server::variables(endpoint)).status();
    let seconds = start.elapsed().as_secs_f64();
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            eprintln!("{program}: {error}");
            return ExitCode::from(2);
        }
    };
    match proxy.map(|proxy| proxy.passed()) {
        Some(passed) => {
            let bytes: u64 = passed.iter().map(|passed| passed.bytes).sum();
            eprintln!("{seconds:.3} s, {} requests, {bytes} bytes, {status}", passed.len());
        }
        None => eprintln!("{seconds:.3} s, {status}"),
    }
    ExitCode::from(u8::from(!status.success()))
}

fn usage() -> ExitCode {
    eprintln!("usage: with-objects FILE [--direct] COMMAND ARG…");
    ExitCode::from(2)
}
