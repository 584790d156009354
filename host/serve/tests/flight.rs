//! Flight SQL, by the client of arrow-flight.

use std::sync::Arc;

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetTables, ProstMessageExt as _, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{Action, FlightData, FlightDescriptor, FlightInfo, Ticket};
use datafusion::arrow::array::{Array, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::compute::concat_batches;

use datafusion::arrow::ipc::convert::try_schema_from_ipc_buffer;
use datafusion::arrow::ipc::reader::StreamReader;
use futures::{StreamExt as _, TryStreamExt as _};
use prost::Message as _;
use tokio::runtime::Runtime;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use warpath_random::Rng;

use crate::harness::{Answer, Server, inputs};
use crate::limits::with_large;

type Client = FlightSqlServiceClient<Channel>;

fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

async fn connected(server: &Server) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    FlightSqlServiceClient::new(endpoint.connect().await.unwrap())
}

/// The rows to which information leads, as they come.
async fn opened(client: &mut Client, info: FlightInfo) -> Result<FlightRecordBatchStream, FlightError> {
    let [endpoint] = &info.endpoint[..] else { panic!("{info:?}") };
    client.do_get(endpoint.ticket.clone().unwrap()).await
}

/// All rows to which information leads. Their columns are those of the information.
async fn all(client: &mut Client, info: FlightInfo) -> Result<RecordBatch, FlightError> {
    let expected = info.clone().try_decode_schema().unwrap();
    let mut rows = opened(client, info).await?;
    let batches: Vec<RecordBatch> = rows.by_ref().try_collect().await?;
    let schema = rows.schema().cloned().unwrap();
    assert_eq!(*schema, expected);
    Ok(concat_batches(&schema, &batches)?)
}

async fn rows(client: &mut Client, statement: &str) -> Result<RecordBatch, FlightError> {
    let info = client.execute(statement.to_owned(), None).await?;
    all(client, info).await
}

/// The message of a statement that fails.
async fn failure(client: &mut Client, statement: &str) -> String {
    rows(client, statement).await.unwrap_err().to_string()
}

/// True if a message names a code, which it does by the code's description.
fn is_of(message: &str, code: Code) -> bool {
    message.contains(code.description())
}

/// The rows of a statement by `/sql`.
fn by_http(server: &Server, statement: &str) -> RecordBatch {
    let body = serde_json::json!({ "query": statement }).to_string();
    let header = "Accept: application/vnd.apache.arrow.stream\r\n";
    let answer = Answer::read(server.send("POST", "/sql", header, body.as_bytes()));
    assert_eq!(answer.status, 200, "{answer:?}");
    let reader = StreamReader::try_new(&answer.body[..], None).unwrap();
    let schema = reader.schema();
    concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>().unwrap()).unwrap()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let column = batch.column_by_name(column).unwrap().as_any().downcast_ref::<StringArray>().unwrap();
    column.iter().map(|text| text.unwrap().to_owned()).collect()
}

#[test]
fn rows_are_those_of_sql_over_http() {
    let server = Server::of(&["data", "logs.wp"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        for statement in [
            "SELECT level, count(*) AS n FROM 'logs.wp' GROUP BY level ORDER BY n DESC, level",
            "SELECT * FROM 'logs.wp' ORDER BY \"time\"",
            "SELECT \"user\", arrow_typeof(\"user\") AS t FROM 'logs.wp'",
            "SELECT level FROM 'data' WHERE level = 'nothing'",
            "SELECT count(*) AS n FROM \"datafusion\".\"public\".\"logs.wp\"",
            "WITH a AS (SELECT 1 AS x) SELECT x, NULL AS y FROM a",
        ] {
            let expected = by_http(&server, statement);
            assert_eq!(rows(&mut client, statement).await.unwrap(), expected, "{statement}");
            let mut prepared = client.prepare(statement.to_owned(), None).await.unwrap();
            assert_eq!(*prepared.dataset_schema().unwrap(), *expected.schema(), "{statement}");
            for _ in 0..2 {
                let info = prepared.execute().await.unwrap();
                assert_eq!(all(&mut client, info).await.unwrap(), expected, "{statement}");
            }
            prepared.close().await.unwrap();
        }
    });
    server.wait_for("warpath_running", 0);
    assert!(server.metric("warpath_questions_total{command=\"sql\",status=\"ok\"}") > 0);
    assert_eq!(server.metric("warpath_questions_total{command=\"sql\",status=\"cancelled\"}"), 0);
}

#[test]
fn inputs_are_tables() {
    let server = Server::of(&["data", "logs.wp"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        let info = client.get_catalogs().await.unwrap();
        assert_eq!(texts(&all(&mut client, info).await.unwrap(), "catalog_name"), ["datafusion"]);
        let info = client.get_db_schemas(CommandGetDbSchemas::default()).await.unwrap();
        assert_eq!(texts(&all(&mut client, info).await.unwrap(), "db_schema_name"), ["public"]);
        let info = client.get_table_types().await.unwrap();
        assert_eq!(texts(&all(&mut client, info).await.unwrap(), "table_type"), ["TABLE"]);
        let info = client.get_tables(CommandGetTables::default()).await.unwrap();
        let tables = all(&mut client, info).await.unwrap();
        assert_eq!(texts(&tables, "table_name"), ["data", "logs.wp"]);
        let asked = CommandGetTables {
            table_name_filter_pattern: Some("logs%".to_owned()),
            include_schema: true,
            ..CommandGetTables::default()
        };
        let info = client.get_tables(asked).await.unwrap();
        let tables = all(&mut client, info).await.unwrap();
        assert_eq!(texts(&tables, "table_name"), ["logs.wp"]);
        let schema = tables.column_by_name("table_schema").unwrap().to_data();
        let schema = datafusion::arrow::array::BinaryArray::from(schema);
        let schema = try_schema_from_ipc_buffer(schema.value(0)).unwrap();
        assert_eq!(Arc::new(schema), by_http(&server, "SELECT * FROM 'logs.wp' LIMIT 0").schema());
        let wanted = vec![SqlInfo::FlightSqlServerName, SqlInfo::FlightSqlServerReadOnly];
        let info = client.get_sql_info(wanted).await.unwrap();
        let known = all(&mut client, info).await.unwrap();
        let names = known.column(0).as_any().downcast_ref::<UInt32Array>().unwrap();
        assert_eq!(names.values()[..], [0, 3]);
        // What the server does not have is an error, not an empty answer.
        assert!(client.handshake("user", "password").await.unwrap_err().to_string().contains("Bearer"));
    });
}

#[test]
fn mistakes_have_the_messages_of_sql() {
    let server = Server::of(&["--writable", "logs.wp", "bad.ndjson"]);
    std::fs::write(server.path().join("secret.ndjson"), "{\"secret\":\"leaked\"}\n").unwrap();
    runtime().block_on(async {
        let mut client = connected(&server).await;
        const INVALID: &str = "Client specified an invalid argument";
        for (statement, said) in [
            ("SELECT lvl FROM 'logs.wp'", "there is no column `lvl`; there are _raw, time, level, "),
            ("SELECT lvl FROM 'logs.wp'", "\\n  SELECT lvl FROM 'logs.wp'\\n         ^"),
            ("SELEC", INVALID),
            ("", INVALID),
            ("SELECT 1; SELECT 2", INVALID),
            ("SELECT * FROM 'secret.ndjson'", "secret.ndjson: is not among the inputs of the server"),
            ("SELECT level FROM 'bad.ndjson'", "bad.ndjson:2:"),
            ("INSERT INTO 'logs.wp' SELECT 1", INVALID),
            ("CREATE TABLE t AS SELECT 1", "DDL not supported"),
            ("COPY (SELECT 1) TO 'made.csv'", "DML not supported"),
            ("SET datafusion.execution.batch_size = 1", "Statement not supported"),
        ] {
            let message = failure(&mut client, statement).await;
            assert!(message.contains(said) && !message.contains("leaked"), "{statement}: {message}");
        }
        // A long statement does not make a message that no header takes.
        let long = format!("SELECT {} FROM 'logs.wp'", "é".repeat(100_000));
        let message = failure(&mut client, &long).await;
        assert!(message.contains("there is no column"), "{message}");
        let updated = client.execute_update("DELETE FROM 'logs.wp'".to_owned(), None).await;
        assert!(updated.unwrap_err().to_string().contains("SQL only reads here"));
        let mut prepared = client.prepare("SELECT 1 AS x".to_owned(), None).await.unwrap();
        prepared.set_parameters(by_http(&server, "SELECT 1 AS x")).unwrap();
        let refused = prepared.execute().await.unwrap_err().to_string();
        assert!(refused.contains("statements have no parameters"), "{refused}");
        assert_eq!(rows(&mut client, "SELECT 1 AS x").await.unwrap().num_rows(), 1);
    });
    assert!(!server.path().join("made.csv").exists());
}

#[test]
fn garbage_is_refused() {
    let server = Server::of(&["logs.wp"]);
    let mut random = Rng::new(53);
    let mut bytes = || -> Vec<u8> { (0..random.below(200)).map(|_| random.below(256) as u8).collect() };
    runtime().block_on(async {
        let mut client = connected(&server).await;
        for _ in 0..100 {
            let flight = client.inner_mut();
            assert!(flight.do_get(Ticket::new(bytes())).await.is_err());
            assert!(flight.get_flight_info(FlightDescriptor::new_cmd(bytes())).await.is_err());
            assert!(flight.get_schema(FlightDescriptor::new_cmd(bytes())).await.is_err());
            let action = Action { r#type: String::from_utf8_lossy(&bytes()).into(), body: bytes().into() };
            assert!(flight.do_action(action).await.is_err());
            let data =
                FlightData { data_header: bytes().into(), data_body: bytes().into(), ..FlightData::new() };
            assert!(flight.do_put(futures::stream::iter([data.clone()])).await.is_err());
            assert!(flight.do_exchange(futures::stream::iter([data])).await.is_err());
            // A ticket of the right kind, with a statement that is no text.
            let ticket = TicketStatementQuery { statement_handle: [&b"\xff"[..], &bytes()].concat().into() };
            let refused = flight.do_get(Ticket::new(ticket.as_any().encode_to_vec())).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
        assert_eq!(rows(&mut client, "SELECT 1 AS x").await.unwrap().num_rows(), 1);
    });
    server.wait_for("warpath_running", 0);
}

#[test]
fn a_token_opens_flight_sql() {
    let folder = inputs();
    std::fs::write(folder.path().join("token"), "correct-horse-battery-staple\n").unwrap();
    let server = Server::in_folder(folder, &["--token-file", "token", "logs.wp"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        let message = failure(&mut client, "SELECT 1 AS x").await;
        assert!(is_of(&message, Code::Unauthenticated) && message.contains("Bearer TOKEN"), "{message}");
        assert!(client.get_catalogs().await.is_err());
        for wrong in ["", "correct-horse-battery-stapl", "correct-horse-battery-staple2"] {
            client.set_token(wrong.to_owned());
            let message = failure(&mut client, "SELECT 1 AS x").await;
            assert!(is_of(&message, Code::Unauthenticated), "{wrong}: {message}");
        }
        client.set_token("correct-horse-battery-staple".to_owned());
        assert_eq!(rows(&mut client, "SELECT 1 AS x").await.unwrap().num_rows(), 1);
    });
}

const ALL: &str = "SELECT \"text\" FROM 'large.ndjson'";

#[test]
fn a_client_that_goes_away_ends_its_statement() {
    let server = with_large(&["--questions", "1", "--queue", "0"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        for round in 1..=2 {
            let info = client.execute(ALL.to_owned(), None).await.unwrap();
            let mut rows = opened(&mut client, info).await.unwrap();
            rows.next().await.unwrap().unwrap();
            // The statement runs until its client reads all rows.
            let mut other = connected(&server).await;
            let message = failure(&mut other, "SELECT 1 AS x").await;
            assert!(is_of(&message, Code::ResourceExhausted) && message.contains("too many"), "{message}");
            drop(rows);
            if round == 2 {
                drop(client);
                client = connected(&server).await;
            }
            let cancelled = "warpath_questions_total{command=\"sql\",status=\"cancelled\"}";
            server.wait_for(cancelled, round);
            server.wait_for("warpath_running", 0);
            assert_eq!(self::rows(&mut client, "SELECT 1 AS x").await.unwrap().num_rows(), 1);
        }
    });
}

#[test]
fn limits_are_those_of_sql() {
    for (limits, said) in [
        (&["--rows", "1000"][..], "the response has more than 1000 lines"),
        (&["--answer", "100K"], "the response has more than 102400 bytes"),
    ] {
        let server = with_large(limits);
        runtime().block_on(async {
            let mut client = connected(&server).await;
            let message = failure(&mut client, ALL).await;
            assert!(message.contains(said) && is_of(&message, Code::ResourceExhausted), "{message}");
            let few = rows(&mut client, &format!("{ALL} LIMIT 500")).await.unwrap();
            assert_eq!(few.num_rows(), 500);
        });
        server.wait_for("warpath_questions_total{command=\"sql\",status=\"limit\"}", 1);
    }
    let server = with_large(&["--body", "1K"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        let message = failure(&mut client, &format!("SELECT 1 AS x{}", " ".repeat(2000))).await;
        assert!(message.contains("the body has more than 1024 bytes"), "{message}");
    });
}

#[test]
fn a_statement_has_a_longest_time() {
    let server = with_large(&["--time", "100ms", "--idle", "100ms"]);
    runtime().block_on(async {
        let mut client = connected(&server).await;
        // More than is evaluated in the time.
        let endless = "SELECT count(*) AS n FROM 'large.ndjson' a, 'large.ndjson' b WHERE a.text < b.text";
        let message = failure(&mut client, endless).await;
        assert!(message.contains("the question took longer than 0.1 s"), "{message}");
        // A client that reads nothing does not hold its statement.
        if let Ok(info) = client.execute(ALL.to_owned(), None).await {
            let deaf = opened(&mut client, info).await;
            server.wait_for("warpath_running", 0);
            drop(deaf);
        }
    });
}

#[test]
fn a_signal_ends_connections_that_ask_nothing() {
    let server = with_large(&["--grace", "1h"]);
    let runtime = runtime();
    let (mut client, idle) = runtime.block_on(async {
        let mut client = connected(&server).await;
        let idle = connected(&server).await;
        let info = client.execute(ALL.to_owned(), None).await.unwrap();
        let rows = opened(&mut client, info).await.unwrap();
        (rows, idle)
    });
    server.signal("-TERM");
    // The statement that runs is answered to its end.
    let count = runtime.block_on(async {
        let mut count = 0;
        while let Some(batch) = client.next().await {
            count += batch.unwrap().num_rows();
        }
        count
    });
    assert_eq!(count, crate::limits::LINES);
    assert_eq!(server.wait(), Some(0));
    drop(idle);
}
