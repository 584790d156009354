//! The client of a server: `--server URL`.
//!
//! The client sends its command line and gets frames: what the command prints, the files that it writes, and
//! its exit code. A frame is a kind, the number of its bytes, and the bytes (`docs/serve.md`).

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(unix)]
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::typestate::WithBody;
use ureq::{Agent, Body, RequestBuilder};
use warpath_core::json;
use warpath_terminal::streams::{Shows, Stream, Streams};

use super::args::{Cli, Command, OutputArgs};
use super::failure::{Failure, reason};
use super::given::given;
use super::out::Out;
use super::parsing::parse;
use super::written::Written;

/// The type of a response of frames.
pub const FRAMES: &str = "application/vnd.warpath.run";

/// The header of a response that has the address which ends a followed question.
#[cfg(unix)]
const END: &str = "warpath-end";

/// The longest time for the request that ends a followed question.
#[cfg(unix)]
const END_TIME: Duration = Duration::from_secs(2);

/// The variable that has the token of the server.
const TOKEN: &str = "WARPATH_TOKEN";

/// The variables that are defaults of options, and these options. Variables of the engine are left out,
/// because they are about another machine.
const VARIABLES: [(&str, &str); 3] = [
    ("WARPATH_COLOR", "--color"),
    ("WARPATH_MESSAGE_FORMAT", "--message-format"),
    ("WARPATH_PROGRESS", "--progress"),
];

/// The kinds of frames.
mod kind {
    pub const OUTPUT: u8 = 1;
    pub const ERROR: u8 = 2;
    pub const END: u8 = 3;
    pub const FILE: u8 = 4;
    pub const BYTES: u8 = 5;
    pub const COMPLETE: u8 = 6;
}

/// The most bytes of a frame.
const MOST_FRAME: u32 = 64 << 20;

/// The bytes of each buffer of a connection. They are set to zero, and the head of a request must fit.
const BUFFER: usize = 32 << 10;

/// Runs a command line in a server. `cli` is the same command line; `None` for that of `sql`.
pub fn run(url: &str, args: &[OsString], cli: Option<&Cli>) -> Result<ExitCode, Failure> {
    if let Some(cli) = cli {
        written(&cli.command).refuse_one_for_both()?;
    }
    let mut words = without_server(&args[1..]);
    if cli.is_some() {
        add_variables(&mut words, &args[0]);
    }
    let body = body(&words, &files(cli, &words)?);
    let base = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    if base.starts_with("https:") {
        return Err(Failure::usage(format!("{base}: `--server` speaks HTTP without TLS")).with_help(
            "use a tunnel, such as `ssh -L 7273:localhost:7273 HOST`, and http://localhost:7273",
        ));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{base}: {error}")).with_help("`warpath serve FILE` starts a server")
    };
    let config = Agent::config_builder().http_status_as_error(false).proxy(None).max_redirects(0);
    let config = config.input_buffer_size(BUFFER).output_buffer_size(BUFFER);
    let agent: Agent = config.build().into();
    let request = post(&agent, &base, "/run").header(CONTENT_TYPE, "application/json");
    let answer = request.send(body.as_bytes()).map_err(|error| match &error {
        ureq::Error::Io(error) => failed(&reason(error)),
        error => failed(error),
    })?;
    if answer.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != FRAMES) {
        return Err(failed(&format_args!("no server of Warpath answers there (status {})", answer.status())));
    }
    #[cfg(unix)]
    if let Some(path) = answer.headers().get(END).and_then(|path| path.to_str().ok()) {
        let request = post(&agent, &base, path).config().timeout_global(Some(END_TIME)).build();
        super::signals::end_first_by(move || {
            request.send_empty().is_ok_and(|answer| answer.status().is_success())
        });
    }
    let (_, body) = answer.into_parts();
    Answer::new(body, &base, words).print()
}

/// A request to an address of the server, with its token.
fn post(agent: &Agent, base: &str, path: &str) -> RequestBuilder<WithBody> {
    let request = agent.post(format!("{}{path}", base.trim_end_matches('/')));
    match std::env::var_os(TOKEN).filter(|token| !token.is_empty()) {
        Some(token) => request.header(AUTHORIZATION, format!("Bearer {}", token.to_string_lossy())),
        None => request,
    }
}

/// The files that a command writes, which are on this machine.
fn written(command: &Command) -> Written<'_> {
    match command {
        Command::Query(args) => Written::of_run(&args.run),
        Command::Select(args) => Written::of_run(&args.run),
        Command::CountBy(args) => Written::of_run(&args.run),
        Command::Distinct(args) => Written::of_run(&args.run),
        Command::Stats(args) => Written::of_run(&args.run),
        Command::Head(args) => Written::of_run(&args.run),
        Command::Sample(args) => Written::of_run(&args.run),
        Command::Filter(args) => Written::of(&args.output).and(&args.rejects),
        _ => Written::default(),
    }
}

/// The arguments without `--server URL`.
fn without_server(args: &[OsString]) -> Vec<OsString> {
    let (mut words, mut rest) = (Vec::new(), args.iter());
    while let Some(word) = rest.next() {
        if word == "--" {
            words.push(word.clone());
            break;
        } else if word == "--server" {
            rest.next();
        } else if !word.to_str().is_some_and(|word| word.starts_with("--server=")) {
            words.push(word.clone());
        }
    }
    words.extend(rest.cloned());
    words
}

/// Adds the options whose defaults variables of the environment have.
fn add_variables(words: &mut Vec<OsString>, program: &OsStr) {
    for (variable, option) in VARIABLES {
        let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else { continue };
        if given(words, option).is_some() {
            continue;
        }
        let mut more = words.clone();
        more.splice(1..1, [option.into(), value]);
        let all: Vec<OsString> = std::iter::once(program.to_owned()).chain(more.iter().cloned()).collect();
        // Not all commands have all of these options.
        if parse(&all, Default::default()).is_ok() {
            *words = more;
        }
    }
}

/// The files that the command reads besides its inputs. They are on this machine, and are sent.
fn files(cli: Option<&Cli>, words: &[OsString]) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let path = match cli.map(|cli| &cli.command) {
        Some(Command::Filter(args)) => Some(args.subscriptions.clone()),
        Some(Command::Explain(args)) => args.subscriptions.clone(),
        #[cfg(feature = "json-schema")]
        Some(Command::Validate(args)) => args.schema.clone(),
        None => given(words, "--file").or_else(|| given(words, "-f")).map(PathBuf::from),
        _ => None,
    };
    let Some(path) = path else { return Ok(Vec::new()) };
    match std::fs::read(&path) {
        Ok(bytes) => Ok(vec![(path, bytes)]),
        // The command says so, with its own message.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::usage(format!("{}: {}", path.display(), reason(&error)))),
    }
}

/// The request as JSON.
fn body(words: &[OsString], files: &[(PathBuf, Vec<u8>)]) -> String {
    let mut body = String::from("{\"arguments\":[");
    let list = |items: Vec<String>, body: &mut String| *body += &items.join(",");
    list(words.iter().map(|word| text(word)).collect(), &mut body);
    body += "],\"files\":[";
    let file = |(path, bytes): &(PathBuf, Vec<u8>)| {
        format!("{{\"path\":{},\"base64\":\"{}\"}}", text(path.as_os_str()), STANDARD.encode(bytes))
    };
    list(files.iter().map(file).collect(), &mut body);
    body += "],\"terminal\":{";
    let streams = Streams::current();
    for (at, (name, stream)) in [("output", Stream::Output), ("error", Stream::Error)].into_iter().enumerate()
    {
        let Shows { is_terminal, size, color } = streams.shows(stream);
        let comma = if at > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(body, "{comma}\"{name}\":{{\"is_terminal\":{is_terminal},\"color\":{color}");
        if let Some((width, height)) = size {
            let _ = write!(body, ",\"width\":{width},\"height\":{height}");
        }
        body.push('}');
    }
    body + "}}"
}

/// An argument as JSON: a string or, if it is no UTF-8, an array of its bytes.
fn text(word: &OsStr) -> String {
    match word.to_str() {
        Some(text) => json::encode(text),
        None => {
            let bytes: Vec<String> = word.as_encoded_bytes().iter().map(u8::to_string).collect();
            format!("[{}]", bytes.join(","))
        }
    }
}

/// The response of a server, as it is printed.
struct Answer<'a> {
    body: Box<dyn Read>,
    server: &'a str,
    words: Vec<OsString>,
    output: Out,
    files: Vec<Out>,
}

impl<'a> Answer<'a> {
    fn new(body: Body, server: &'a str, words: Vec<OsString>) -> Self {
        let body = Box::new(body.into_reader());
        Self { body, server, words, output: Out::stdout(), files: Vec::new() }
    }

    /// Prints all of the response, and returns the exit code of the command.
    fn print(&mut self) -> Result<ExitCode, Failure> {
        let mut bytes = Vec::new();
        loop {
            let mut head = [0; 5];
            self.body.read_exact(&mut head).map_err(|error| self.ended(&error))?;
            let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
            if len > MOST_FRAME {
                return Err(self.strange());
            }
            bytes.resize(len as usize, 0);
            self.body.read_exact(&mut bytes).map_err(|error| self.ended(&error))?;
            match head[0] {
                kind::OUTPUT => {
                    self.output.lines(&bytes)?;
                    self.output.pause()?;
                }
                kind::ERROR => Streams::current().message(&bytes),
                kind::FILE => self.create(&bytes)?,
                kind::BYTES => {
                    let file = self.file(&bytes)?;
                    file.lines(&bytes[4..])?;
                    file.pause()?;
                }
                kind::COMPLETE => self.file(&bytes)?.complete()?,
                kind::END => {
                    let [code] = bytes[..] else { return Err(self.strange()) };
                    return Ok(ExitCode::from(code));
                }
                _ => return Err(self.strange()),
            }
        }
    }

    /// Begins a file: one that the command line names.
    fn create(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let [is_whole, name @ ..] = bytes else { return Err(self.strange()) };
        let is_named = |word: &OsString| {
            let word = word.as_encoded_bytes();
            let before = word.strip_suffix(name);
            before.is_some_and(|before| before.is_empty() || before.ends_with(b"=") || before == b"-o")
        };
        let Some(word) = self.words.iter().find(|word| is_named(word)) else {
            return Err(self.refused("names a file that the command line does not name"));
        };
        let at = word.len() - name.len();
        let path = path_of(word, at).ok_or_else(|| self.strange())?;
        let mut out = Out::new(&OutputArgs { output: Some(path) });
        if *is_whole != 0 {
            out.make_whole();
        }
        out.open()?;
        self.files.push(out);
        Ok(())
    }

    /// The file that a frame is about.
    fn file(&mut self, bytes: &[u8]) -> Result<&mut Out, Failure> {
        let number = bytes.first_chunk().map(|number| u32::from_le_bytes(*number) as usize);
        let strange = self.strange();
        number.and_then(|number| self.files.get_mut(number)).ok_or(strange)
    }

    fn ended(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.refused("ended the response before the command did"),
            _ => Failure::usage(format!("{}: {}", self.server, reason(error))),
        }
    }

    fn strange(&self) -> Failure {
        self.refused("sends what no server of Warpath does")
    }

    fn refused(&self, what: &str) -> Failure {
        Failure::usage(format!("{}: the server {what}", self.server))
    }
}

/// The path at the end of an argument.
#[cfg(unix)]
fn path_of(word: &OsStr, at: usize) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(Path::new(OsStr::from_bytes(&word.as_bytes()[at..])).to_owned())
}

#[cfg(not(unix))]
fn path_of(word: &OsStr, at: usize) -> Option<PathBuf> {
    word.to_str()?.get(at..).map(|path| Path::new(path).to_owned())
}
