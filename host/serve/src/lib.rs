//! Questions about lines of JSON, over HTTP: the program `warpath-serve`.
//!
//! A request is a command line of `warpath`. The server parses it, and runs the command's own code in a
//! thread, over the inputs that it has loaded. What the command prints goes to the client.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the options |
//! | `loaded` | the inputs, of which each question gets one version |
//! | `resident` | the inputs that stay in memory |
//! | `changes`, `tail` | other versions of stores, as they come; the lines of all of them |
//! | `questions`, `cancel` | the run of a command: its thread and its limits; its end before its time |
//! | `answer` | the streams of a command as the body of a response |
//! | `size` | the size of a response, and the most that it may be |
//! | `http` | the addresses, and what each of them does |
//! | `flight` | the same by Flight SQL |
//! | `request` | a body of JSON as a command line |
//! | `guard` | hosts, origins and tokens that are refused |
//! | `schema` | the schema of inputs, as a tree |
//! | `append` | lines that are added to a store |
//! | `page` | the files of the page |
//! | `metrics` | counts and times, for Prometheus |
//! | `connections` | the socket, connections and their end |
//! | `failure` | what ends the server before its time |

mod answer;
mod append;
mod args;
mod cancel;
mod changes;
mod connections;
mod failure;
mod flight;
mod guard;
mod http;
mod loaded;
mod metrics;
mod page;
mod questions;
mod request;
mod resident;
mod schema;
mod size;
mod tail;

use std::process::ExitCode;

use clap::Parser;
#[cfg(unix)]
use warpath_terminal::memory;
use warpath_terminal::messages::{Message, Ui};

use args::Args;
use failure::Failure;

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let ui = Ui::of(&args.messages);
    #[cfg(unix)]
    memory::share_heaps();
    #[cfg(unix)]
    // A failure is no error here: the program then aborts all the same, without the message.
    let _ = memory::end_if_none_is_left("`--questions N` and `--memory SIZE` limit what questions take");
    match connections::serve(args, &ui) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, help }) => {
            ui.report(&Message { text: message, help, ..Message::default() });
            ExitCode::from(2)
        }
    }
}
