//! The addresses of the server, and what each of them does.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Path as Part, Query, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use warpath_cli::Inputs as _;

use crate::answer::{About, Form, frame, kind};
use crate::append::Appends;
use crate::cancel::Cancel;
use crate::guard::{Guard, Refused};
use crate::loaded::Loaded;
use crate::metrics::Metrics;
use crate::questions::{Answer, Questions, TooMany};
use crate::request::{self, COMMANDS, Format, Wrong};
use crate::{flight, page, schema};

/// The type of a response of frames.
const FRAMES: &str = "application/vnd.warpath.run";

/// The header of a response that has the address which ends a followed question.
const END: HeaderName = HeaderName::from_static("warpath-end");

/// The parts of a server that requests need.
pub struct Server {
    pub guard: Guard,
    pub loaded: Arc<Loaded>,
    pub questions: Questions,
    pub appends: Appends,
    pub metrics: Arc<Metrics>,
    /// The most bytes of a body.
    pub body: usize,
    /// The longest time for a body.
    pub idle: Duration,
    pub started: Instant,
}

/// The addresses.
pub fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new()
        .route("/", get(|| async { page_file("index.html") }))
        .route("/page/{name}", get(|Part(name): Part<String>| async move { page_file(&name) }))
        .route("/run", post(run))
        .route("/run/{key}/end", post(end))
        .route("/schema", get(schema_of))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/append", post(append));
    for command in COMMANDS {
        let ask = move |State(server): State<Arc<Server>>, request: Request| ask(server, command, request);
        router = router.route(&format!("/{command}"), post(ask));
    }
    // After the addresses, to which the second one applies.
    let router = router
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "there is no such address: see docs/serve.md") })
        .method_not_allowed_fallback(|| async {
            failed(StatusCode::METHOD_NOT_ALLOWED, "the address takes another method: see `allow`")
        });
    let flight = flight::router(&server);
    let guarded = middleware::from_fn_with_state(server.clone(), guarded);
    router.with_state(server).merge(flight).layer(guarded)
}

/// Refuses requests from elsewhere, and those without the token.
async fn guarded(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let needs_token = path != "/" && !path.starts_with("/page/");
    let is_flight = flight::is_of(&request);
    let mut response = match server.guard.check(request.uri(), request.headers(), needs_token) {
        Ok(()) => next.run(request).await,
        Err(Refused { status, message, reason }) => {
            server.metrics.refuse(reason);
            if is_flight {
                return flight::refused(status, message);
            }
            let mut response = match path {
                "/run" => framed(status, message),
                _ => failed(status, message),
            };
            if status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    };
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An error as JSON.
pub fn failed(status: StatusCode, message: &str) -> Response {
    json_response(status, &json!({"error": {"message": message}, "notes": []}))
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// An error for the client of `--server`, which prints it.
fn framed(status: StatusCode, message: &str) -> Response {
    let mut frames = frame(kind::ERROR, b"error: ", format!("{message}\n").as_bytes()).to_vec();
    frames.extend_from_slice(&frame(kind::END, &[2], &[]));
    (status, [(CONTENT_TYPE, FRAMES)], frames).into_response()
}

pub const TOO_MANY: &str = "too many questions run and wait: try again in a moment";

fn too_many(server: &Server, of: fn(StatusCode, &str) -> Response) -> Response {
    server.metrics.refuse("questions");
    let mut response = of(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The error of a body that is longer than its limit.
const TOO_LONG: &str = "length limit exceeded";

/// The bytes of a body.
pub async fn body_of(server: &Server, body: Body) -> Result<Bytes, (StatusCode, String)> {
    let most = server.body;
    if body.size_hint().lower() > most as u64 {
        server.metrics.refuse("body");
        return Err((StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes")));
    }
    match tokio::time::timeout(server.idle, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            server.metrics.refuse("body");
            let is_long = error.source().is_some_and(|error| error.to_string() == TOO_LONG);
            Err(match is_long {
                true => (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes")),
                false => (StatusCode::BAD_REQUEST, "the body breaks off, or is malformed".to_owned()),
            })
        }
        Err(_) => {
            server.metrics.refuse("slow");
            Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned()))
        }
    }
}

fn page_file(name: &str) -> Response {
    page::file(name).unwrap_or_else(|| failed(StatusCode::NOT_FOUND, "there is no such file"))
}

/// `/run`: a command line of `--server`.
async fn run(State(server): State<Arc<Server>>, request: Request) -> Response {
    let body = match body_of(&server, request.into_body()).await {
        Ok(body) => body,
        Err((status, message)) => return framed(status, &message),
    };
    let about = match request::run(&body) {
        Ok(about) => about,
        Err(Wrong(message)) => return framed(StatusCode::BAD_REQUEST, &message),
    };
    let is_tail = about.is_tail();
    let Ok(answer) = server.questions.ask(about, Form::Frames).await else {
        return too_many(&server, framed);
    };
    let end = is_tail.then(|| format!("/run/{:016x}/end", answer.key));
    let mut response = ([(CONTENT_TYPE, FRAMES)], streamed(answer, None, Ending::Frames)).into_response();
    if let Some(end) = end.and_then(|end| end.try_into().ok()) {
        response.headers_mut().insert(END, end);
    }
    response
}

/// `/run/KEY/end`: the inputs that a question follows end, and then the question does.
async fn end(State(server): State<Arc<Server>>, Part(key): Part<String>) -> Response {
    match u64::from_str_radix(&key, 16).is_ok_and(|key| server.questions.end_inputs(key)) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => failed(StatusCode::NOT_FOUND, "no such question runs"),
    }
}

/// The exit code of a command that has found malformed records.
const MALFORMED: u8 = 4;

/// Bytes of a body that ends the connection if it fails: they are held until there are this many.
const HELD: usize = 64 << 10;

/// The end of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The last frame says how the command ended.
    Frames,
    /// The last line says how it ended, if it failed.
    Lines { notes: bool },
    /// A failure ends the connection.
    Abort,
    /// The same, but malformed records are no failure: they are what the command lists.
    List,
}

/// The body of a response. `first` are bytes of it that have come.
fn streamed(answer: Answer, first: Option<Bytes>, ending: Ending) -> Body {
    let state = (Some(answer), first);
    Body::from_stream(stream::unfold(state, move |(answer, first)| async move {
        let mut answer = answer?;
        if let Some(first) = first {
            return Some((Ok(first), (Some(answer), None)));
        }
        if let Some(bytes) = answer.next().await {
            return Some((Ok(bytes), (Some(answer), None)));
        }
        let said = Said::of(&answer);
        let last = match ending {
            Ending::Frames => return None,
            Ending::List if answer.code() == MALFORMED => return None,
            _ if is_done(answer.code()) => match ending {
                Ending::Lines { notes: true } => json!({"$notes": said.notes}),
                _ => return None,
            },
            Ending::Lines { .. } => json!({"$error": said.error}),
            Ending::Abort | Ending::List => {
                return Some((Err(std::io::Error::other("the command failed")), (None, None)));
            }
        };
        Some((Ok(Bytes::from(format!("{last}\n"))), (None, None)))
    }))
}

/// True for the exit codes of a command that ran to its end: 1 says that nothing matched.
fn is_done(code: u8) -> bool {
    code <= 1
}

/// The messages of a command.
struct Said {
    error: Value,
    notes: Vec<Value>,
}

impl Said {
    fn of(answer: &Answer) -> Self {
        let text = answer.messages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut error, mut notes) = (Value::Null, Vec::new());
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else {
                notes.push(json!({"level": "note", "message": String::from_utf8_lossy(line)}));
                continue;
            };
            let kind = message.remove("kind").unwrap_or_default();
            if kind == "error" && error.is_null() {
                place_in_input(&mut message);
                error = Value::Object(message);
            } else if kind == "help" && !error.is_null() && error.get("help").is_none() {
                error["help"] = message.remove("message").unwrap_or_default();
            } else {
                message.insert("level".to_owned(), if kind == "help" { "hint".into() } else { kind });
                notes.push(Value::Object(message));
            }
        }
        if let Some(reason) = answer.cancel.reason() {
            error = json!({"message": reason});
        }
        if error.is_null() {
            error = json!({"message": "the command failed"});
        }
        Self { error, notes }
    }
}

/// Adds the text with the fault, and the bytes of it that the carets are under, from an excerpt: a line of
/// text, and a line of carets, each after two spaces.
fn place_in_input(message: &mut serde_json::Map<String, Value>) {
    let Some(excerpt) = message.get("excerpt").and_then(Value::as_str) else { return };
    let Some((text, carets)) = excerpt.split_once('\n') else { return };
    let (text, carets) = (text.get(2..).unwrap_or_default(), carets.get(2..).unwrap_or_default());
    let before = carets.chars().take_while(|c| c.is_whitespace()).count();
    let marked = carets.chars().filter(|c| *c == '^').count();
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (text, begin, end) = (text.to_owned(), at(before), at(before + marked));
    message.insert("input".to_owned(), text.into());
    message.insert("begin".to_owned(), begin.into());
    message.insert("end".to_owned(), end.into());
}

/// The status of a command that failed.
fn status_of(code: u8, cancel: &Cancel) -> StatusCode {
    match code {
        _ if cancel.reason().is_some() => StatusCode::PAYLOAD_TOO_LARGE,
        2 | 3 => StatusCode::BAD_REQUEST,
        MALFORMED => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// `/query` and the like: a command whose options are a JSON object.
async fn ask(server: Arc<Server>, command: &'static str, request: Request) -> Response {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).map(str::to_owned);
    let body = match body_of(&server, request.into_body()).await {
        Ok(body) => body,
        Err((status, message)) => return failed(status, &message),
    };
    let asked = match request::asked(command, accept.as_deref(), &body) {
        Ok(asked) => asked,
        Err(Wrong(message)) => return failed(StatusCode::BAD_REQUEST, &message),
    };
    let is_tail = asked.about.is_tail();
    let mut answer = match server.questions.ask(asked.about, asked.form).await {
        Ok(answer) => answer,
        Err(TooMany) => return too_many(&server, failed),
    };
    let ending = match asked.format {
        Format::Ndjson => Ending::Lines { notes: asked.notes },
        _ if command == "validate" => Ending::List,
        _ => Ending::Abort,
    };
    let mut first = answer.next().await;
    let mut is_over = first.is_none();
    // A failure in the middle of such a body has no message. A short body therefore begins at its end.
    if ending == Ending::Abort
        && !is_tail
        && let Some(begun) = first.take()
    {
        let mut held = begun.to_vec();
        while !is_over && held.len() < HELD {
            match answer.next().await {
                Some(next) => held.extend_from_slice(&next),
                None => is_over = true,
            }
        }
        first = Some(held.into());
    }
    if is_over {
        let code = answer.code();
        if !is_done(code) {
            let Said { error, notes } = Said::of(&answer);
            let status = status_of(code, &answer.cancel);
            return json_response(status, &json!({"error": error, "notes": notes}));
        }
    }
    if first.is_none() {
        let body = match ending {
            Ending::Lines { notes: true } => format!("{}\n", json!({"$notes": Said::of(&answer).notes})),
            _ => String::new(),
        };
        return ([(CONTENT_TYPE, asked.format.media_type())], body).into_response();
    }
    ([(CONTENT_TYPE, asked.format.media_type())], streamed(answer, first, ending)).into_response()
}

/// The parameters of addresses.
type Parameters = Query<Vec<(String, String)>>;

/// `/schema`: the schema of inputs as a tree.
async fn schema_of(State(server): State<Arc<Server>>, Query(parameters): Parameters) -> Response {
    let mut arguments = ["schema", "--format=ndjson", "--message-format=json", "--on-error=skip"]
        .map(OsString::from)
        .to_vec();
    let mut names = Vec::new();
    for (key, value) in parameters {
        match key.as_str() {
            "input" => names.push(PathBuf::from(value)),
            "where" | "limit" => arguments.push(format!("--{key}={value}").into()),
            _ => return failed(StatusCode::BAD_REQUEST, "the parameters are `input`, `where` and `limit`"),
        }
    }
    if names.is_empty() {
        names = server.loaded.names();
    }
    arguments.push("--".into());
    arguments.extend(names.iter().map(|name| name.clone().into_os_string()));
    let about = About { arguments, ..About::default() };
    let mut answer = match server.questions.ask(about, Form::Output).await {
        Ok(answer) => answer,
        Err(TooMany) => return too_many(&server, failed),
    };
    let mut rows = Vec::new();
    while let Some(bytes) = answer.next().await {
        rows.extend_from_slice(&bytes);
    }
    let code = answer.code();
    let Said { error, notes } = Said::of(&answer);
    if !is_done(code) {
        let status = status_of(code, &answer.cancel);
        return json_response(status, &json!({"error": error, "notes": notes}));
    }
    let inputs: Vec<Value> = names.iter().map(|name| input(&server.loaded, name)).collect();
    match schema::tree(&rows) {
        Ok(root) => json_response(StatusCode::OK, &json!({"inputs": inputs, "root": root, "notes": notes})),
        Err(why) => failed(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}

/// An input, for `/schema` and `/health`.
fn input(loaded: &Loaded, name: &Path) -> Value {
    let shown = name.display().to_string();
    match loaded.facts(name) {
        Ok(facts) => json!({
            "name": shown,
            "kind": facts.kind,
            "version": facts.version,
            "records": facts.lines,
            "bytes": facts.bytes,
        }),
        Err(error) => json!({"name": shown, "error": error.chain()}),
    }
}

/// `/health`: the inputs and their versions.
async fn health(State(server): State<Arc<Server>>) -> Response {
    let loaded = server.loaded.clone();
    let inputs = tokio::task::spawn_blocking(move || {
        loaded.names().iter().map(|name| input(&loaded, name)).collect::<Vec<Value>>()
    });
    let inputs = inputs.await.unwrap_or_default();
    let is_whole = inputs.iter().all(|input| input.get("error").is_none());
    let versions = inputs.iter().filter_map(|input| input["version"].as_u64());
    let health = json!({
        "status": if is_whole { "ok" } else { "error" },
        "version": versions.sum::<u64>(),
        "uptime_s": server.started.elapsed().as_secs(),
        "writable": server.appends.is_writable,
        "resident": resident(&server),
        "inputs": inputs,
    });
    let status = if is_whole { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json_response(status, &health)
}

/// The inputs in memory, for `/health`.
fn resident(server: &Server) -> Value {
    let resident = server.loaded.resident();
    let loaded = resident.current();
    json!({
        "versions": resident.versions(),
        "lines": loaded.lines(),
        "text": loaded.text_bytes(),
        "memory": loaded.memory(),
    })
}

/// `/metrics`: counts and times for Prometheus.
async fn metrics(State(server): State<Arc<Server>>) -> Response {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let loaded = server.loaded.clone();
    let state = tokio::task::spawn_blocking(move || loaded.state()).await.unwrap_or_default();
    ([(CONTENT_TYPE, TYPE)], server.metrics.text(&state)).into_response()
}

/// `/append`: lines that are added to a store.
async fn append(
    State(server): State<Arc<Server>>,
    Query(parameters): Parameters,
    request: Request,
) -> Response {
    let name = match &parameters[..] {
        [(key, name)] if key == "input" => Some(PathBuf::from(name)),
        [] => None,
        _ => return failed(StatusCode::BAD_REQUEST, "the parameter is `input`, with the name of a store"),
    };
    match server.appends.append(&server.loaded, &server.metrics, name, request.into_body()).await {
        Ok(added) => json_response(StatusCode::OK, &added),
        Err((status, message)) => failed(status, &message),
    }
}
