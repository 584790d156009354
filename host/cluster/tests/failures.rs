//! Bad input, wrong queries, versions that differ, and servers that are not there.

use std::fs;
use std::process::{Command, Output, Stdio};

use axum::Router;
use axum::routing::get;
use warpath::OnError;
use warpath_sql::{Options, SchemaFrom};

use super::processes::{Cluster, Server, program};
use super::{Session, quoted, records};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn sql(address: &str, arguments: &[&str]) -> Output {
    program().args(["sql", "--cluster", address]).args(arguments).output().unwrap()
}

/// Asserts the exit code of a run and texts of its standard error.
fn assert_fails(output: &Output, code: i32, messages: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for message in messages {
        assert!(said.contains(message), "{message}: {said}");
    }
}

#[test]
fn failures_say_what_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.ndjson");
    fs::write(&path, "{\"a\":1}\n{\"a\":\n{\"a\":3}\n").unwrap();
    let (bad, name) = (quoted(&path), path.display().to_string());
    let cluster = Cluster::new(1);
    let address = cluster.address();
    let output = sql(address, &["SELEC 1"]);
    assert_fails(&output, 3, &["error: Expected: an SQL statement, found: SELEC", "\n  SELEC 1\n  ^\n"]);
    let output = sql(address, &["SELECT * FROM 'none.ndjson'"]);
    assert_fails(&output, 3, &["error: none.ndjson: there is no such file"]);
    // The schema is that of the first record, so that an executor finds the malformed one.
    let sum = format!("SELECT sum(a) AS a FROM {bad}");
    let output = sql(address, &["--schema", "sample:1", &sum]);
    let executor = format!("help: the executor {} reports this", cluster.executors[0].address);
    assert_fails(&output, 4, &[&format!("error: {name}:2:"), "bracket is not closed", &executor]);
    let output = sql(address, &["--schema", "sample:1", "--on-error", "skip", "--format", "csv", &sum]);
    assert_eq!(text(&output.stdout), "a\n4\n", "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(&format!("{name}: 1 malformed record skipped")));
    let good = folder.path().join("good.ndjson");
    fs::write(&good, "{\"a\":1}\n{\"a\":2}\n").unwrap();
    let output = sql(address, &[&format!("SELECT 1 / (a - 1) FROM {}", quoted(&good))]);
    assert_fails(&output, 4, &["Divide by zero"]);
    // A file that the client lists, and that no executor finds.
    let many = Session::new(&Options::default(), Some(address));
    let gone = folder.path().join("gone.ndjson");
    fs::write(&gone, "{\"a\":1}\n").unwrap();
    let error = many.runtime.block_on(async {
        let frame = many.context.sql(&format!("SELECT a + 1 FROM {}", quoted(&gone))).await.unwrap();
        let (plan, task) = (frame.clone().create_physical_plan().await.unwrap(), frame.task_ctx());
        fs::remove_file(&gone).unwrap();
        datafusion::physical_plan::collect(plan, task.into()).await.unwrap_err().to_string()
    });
    assert!(error.contains("gone.ndjson") && error.contains("No such file"), "{error}");
}

/// Counts of executors come back as those of one process.
#[test]
fn reports_are_those_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..6_u64 {
        let mut records = records::records(file, 500);
        records.push_str("{\"ms\":\n");
        records.push_str("{\"ms\":\"seven\",\"id\":7}\n");
        fs::write(folder.path().join(format!("{file}.ndjson")), records).unwrap();
    }
    let cluster = Cluster::new(2);
    let options = Options { schema: SchemaFrom::Sample(100), on_error: OnError::Skip, ..Options::default() };
    let one = Session::new(&options, None);
    let many = Session::new(&options, Some(cluster.address()));
    let query = format!("SELECT count(*), count(ms), sum(ms), max(id) FROM '{}/'", folder.path().display());
    assert_eq!(many.rows(&query), one.rows(&query));
    let (mut expected, mut found) = (one.left_out(), many.left_out());
    assert_eq!(expected.skipped.values().sum::<u64>(), 6);
    let refused = expected.columns.values().map(|refused| refused.count).sum::<u64>();
    assert_eq!(refused, 6);
    // Any of them may be the first.
    for left_out in [&mut expected, &mut found] {
        for refused in left_out.columns.values_mut() {
            assert_eq!(refused.first.take().map(|(_, line)| line), Some(502));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn programs_of_other_versions_are_refused() {
    let cluster = Cluster::new(1);
    // A client or an executor of another version.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = runtime.block_on(async {
        use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
        use ballista_core::serde::protobuf::{GetJobStatusParams, PollWorkParams};
        let endpoint =
            tonic::transport::Endpoint::from_shared(format!("http://{}", cluster.address())).unwrap();
        let endpoint = endpoint.user_agent("warpath-cluster/9.9.9").unwrap();
        let mut scheduler = SchedulerGrpcClient::new(endpoint.connect().await.unwrap());
        let polled = scheduler.poll_work(PollWorkParams::default()).await.unwrap_err();
        let status = scheduler.get_job_status(GetJobStatusParams { job_id: "a".into() }).await.unwrap_err();
        assert_eq!(polled.message(), status.message());
        status
    });
    let version = env!("CARGO_PKG_VERSION");
    let differ = |ours: &str, theirs: &str| {
        format!("this program is Warpath {ours}, and the scheduler is Warpath {theirs}")
    };
    assert!(status.message().contains(&differ("9.9.9", version)), "{status:?}");
    // A scheduler of another version, and a server that is none.
    let routes = Router::new()
        .route("/warpath/cluster", get(|| async { [("warpath-version", "9.9.9"), ("warpath-slots", "1")] }));
    for (routes, message) in [
        (routes, differ(version, "9.9.9")),
        (Router::new(), "is no scheduler of Warpath: its response has no version".to_owned()),
    ] {
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        assert_fails(&sql(&address, &["SELECT 1"]), 2, &[&message]);
        let executor =
            program().args(["executor", "--scheduler", &address, "--listen", "127.0.0.1:0"]).output();
        assert_fails(&executor.unwrap(), 2, &[&message]);
    }
}

#[test]
fn servers_that_are_not_there_are_named() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let none = format!("no scheduler of Warpath can be reached at {address}");
    assert_fails(&sql(&address, &["SELECT 1"]), 2, &[&none, "help: `warpath-cluster scheduler"]);
    let executor = program().args(["executor", "--scheduler", &address]).output().unwrap();
    assert_fails(&executor, 2, &[&none]);
    assert_fails(&sql("nowhere", &["SELECT 1"]), 2, &["`nowhere` is no address; expected HOST:PORT"]);
    let scheduler = Server::scheduler("127.0.0.1:0");
    let output = sql(&scheduler.address, &["SELECT 1"]);
    assert_fails(&output, 2, &["has no executor", "help: `warpath-cluster executor --scheduler "]);
    let taken = program().args(["scheduler", "--listen", &scheduler.address]).output().unwrap();
    assert_fails(&taken, 2, &[&scheduler.address, "in use"]);
}

/// A query ends when its scheduler does. The executors serve the next scheduler at the same address.
#[test]
fn a_scheduler_may_be_started_again() {
    let folder = tempfile::tempdir().unwrap();
    records::write_all(folder.path(), 10_000);
    let mut cluster = Cluster::new(2);
    let address = cluster.address().to_owned();
    let query = super::queries::in_folder("SELECT kind, sum(ms) FROM 'events/' GROUP BY kind", folder.path());
    let expected = Session::new(&Options::default(), None).rows(&query);
    let error = std::thread::scope(|scope| {
        let (address, query) = (&address, &query);
        let error = scope.spawn(move || Session::new(&Options::default(), Some(address)).error(query));
        cluster.executors[0].wait_for("begins");
        cluster.scheduler.kill();
        error.join().unwrap()
    });
    assert!(error.contains(&format!("the scheduler at {address} was lost")), "{error}");
    for executor in &cluster.executors {
        executor.wait_for("does not respond; trying again");
    }
    cluster.scheduler = Server::scheduler(&address);
    for executor in &cluster.executors {
        executor.wait_for("responds again");
    }
    assert_eq!(Session::new(&Options::default(), Some(&address)).rows(&query), expected);
}

/// A client that is interrupted cancels its query. The cluster then runs the next one.
#[test]
fn a_client_may_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    records::write_all(folder.path(), 5_000);
    let cluster = Cluster::new(2);
    let query = super::queries::in_folder("SELECT kind, sum(ms) FROM 'events/' GROUP BY kind", folder.path());
    let mut client = program();
    let client = client.args(["sql", "--cluster", cluster.address(), &query]);
    let client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    cluster.first_to_say("begins");
    let id = client.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_fails(&client.wait_with_output().unwrap(), 130, &["error: interrupted"]);
    let expected = Session::new(&Options::default(), None).rows(&query);
    assert_eq!(Session::new(&Options::default(), Some(cluster.address())).rows(&query), expected);
}
