//! The command line of the program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use warpath_core::pool::cores;
use warpath_sql::cli::{self as sql, Failure};
use warpath_terminal::messages::Ui;
use warpath_terminal::options::{MessageFormat, When};

use crate::{client, executor, scheduler};

/// SQL over newline-delimited JSON on several machines
#[derive(Parser)]
#[command(
    name = "warpath-cluster",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_long_help = "\
Examples:
  warpath-cluster scheduler --listen 0.0.0.0:50050
  warpath-cluster executor --scheduler host0:50050 --listen 0.0.0.0:50051
  warpath sql --cluster host0:50050 \"SELECT level, count(*) FROM '/data/logs/' GROUP BY level\"

All programs of a cluster have the same version, and each machine has the files at the same paths."
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Divide queries into tasks for executors
    Scheduler(SchedulerArgs),
    /// Run tasks of a scheduler's queries
    Executor(ExecutorArgs),
    /// Run SQL on a cluster
    Sql(SqlArgs),
}

#[derive(Args)]
struct SchedulerArgs {
    /// Address to listen at; with port 0, any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    listen: String,

    /// Seconds after which an executor that sends nothing is lost; a busy one sends something every 5 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(6..))]
    executor_timeout: u64,

    /// Seconds for which the results of a query are kept if its client is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    keep: u64,
}

#[derive(Args)]
struct ExecutorArgs {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT")]
    scheduler: String,

    /// Address to listen at, from which others fetch results; with port 0, any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50051")]
    listen: String,

    /// Name or address by which other machines reach this one; by default the one that the scheduler sees
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Folder within which results of tasks are kept; by default that of temporary files
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,

    #[command(flatten)]
    engine: sql::EngineArgs,

    /// Report each task on standard error
    #[arg(long)]
    verbose: bool,
}

#[derive(Args)]
struct SqlArgs {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT")]
    cluster: String,

    #[command(flatten)]
    sql: sql::Args,
}

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let program: Program = match sql::parsed() {
        Ok(program) => program,
        Err(code) => return code,
    };
    let ui = match &program.command {
        Command::Sql(args) => {
            sql::end_if_the_system_refuses();
            Ui::of(&args.sql.messages)
        }
        Command::Scheduler(_) | Command::Executor(_) => Ui::new(When::Auto, false, MessageFormat::Human),
    };
    let run = match program.command {
        Command::Scheduler(args) => {
            let SchedulerArgs { listen, executor_timeout, keep } = args;
            let settings = scheduler::Settings { listen, executor_timeout, keep };
            on_runtime(cores(), scheduler::run(&settings))
        }
        Command::Executor(args) => {
            let settings = executor::Settings {
                scheduler: args.scheduler,
                listen: args.listen,
                host: args.host,
                work: args.work,
                options: args.engine.options(),
                is_verbose: args.verbose,
            };
            on_runtime(cores(), executor::run(&settings))
        }
        Command::Sql(args) => sql::run(&args.sql, &ui, |_, options, report| {
            client::context(&args.cluster, options, report).map_err(|error| Failure::of_query(error, ""))
        }),
    };
    sql::ended(run, &ui)
}

fn on_runtime(threads: usize, run: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    { runtime }.worker_threads(threads).enable_all().build().map_err(Failure::of_system)?.block_on(run)
}
