//! Flight SQL: statements, and the inputs as tables, for clients of Arrow such as ADBC.
//!
//! A statement is a question like those of `/sql`, with the same limits. A ticket holds the statement itself,
//! and so does the handle of a prepared statement: nothing is kept between two requests of a client.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, CommandGetCatalogs, CommandGetDbSchemas, CommandGetSqlInfo,
    CommandGetTableTypes, CommandGetTables, CommandPreparedStatementQuery, CommandPreparedStatementUpdate,
    CommandStatementIngest, CommandStatementQuery, CommandStatementUpdate, DoPutPreparedStatementResult,
    ProstMessageExt, SqlInfo, SqlSupportedCaseSensitivity, SqlSupportedTransaction, TicketStatementQuery,
};
use arrow_flight::{
    Action, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse, IpcMessage,
    SchemaAsIpc, Ticket,
};
use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response as HttpResponse};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::IpcWriteOptions;
use datafusion::common::TableReference;
use datafusion::physical_plan::execute_stream;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use prost::Message as _;
use tonic::{Code, Request, Response, Status, Streaming};
use warpath_cli::Inputs as _;
use warpath_sql::cli::{Failure, served};

use crate::http::{Server, TOO_MANY, body_of};
use crate::questions::{Coming, TooMany};

/// The catalog and the schema of all inputs, which are those of a session of DataFusion.
const CATALOG: &str = "datafusion";
const SCHEMA: &str = "public";

/// The type of all tables.
const TABLE: &str = "TABLE";

/// The most bytes of a message: it is sent in a header, of which clients take 8 KiB or more.
const MOST_MESSAGE: usize = 2 << 10;

/// The reason why a statement that changes something fails.
const ONLY_READS: &str = "SQL only reads here: `POST /append` and `warpath store add` add lines";

/// The service of a server.
#[derive(Clone)]
struct Flight(Arc<Server>);

/// The address of the service.
pub fn router(server: &Arc<Server>) -> Router {
    let service = FlightServiceServer::new(Flight(server.clone())).max_decoding_message_size(server.body);
    Router::new()
        .route_service("/arrow.flight.protocol.FlightService/{method}", service)
        .layer(middleware::from_fn_with_state(server.clone(), whole))
}

/// True for a request of gRPC.
pub fn is_of(request: &HttpRequest) -> bool {
    let kind = request.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// A response that refuses a request of gRPC for the reason of a status of HTTP.
pub fn refused(status: StatusCode, message: &str) -> HttpResponse {
    let code = match status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => Code::PermissionDenied,
        StatusCode::PAYLOAD_TOO_LARGE => Code::ResourceExhausted,
        StatusCode::REQUEST_TIMEOUT => Code::DeadlineExceeded,
        _ => Code::Internal,
    };
    Status::new(code, message).into_http::<axum::body::Body>().into_response()
}

/// Reads the body of a request before the request is answered, within the limits of a body of JSON. No
/// request of Flight SQL that is answered here has a long one.
async fn whole(State(server): State<Arc<Server>>, request: HttpRequest, next: Next) -> HttpResponse {
    let (head, body) = request.into_parts();
    match body_of(&server, body).await {
        Ok(body) => next.run(HttpRequest::from_parts(head, body.into())).await,
        Err((status, message)) => refused(status, &message),
    }
}

/// The status of a statement that failed. `is_limit` is true if a limit of the server ended it.
fn failed(failure: &Failure, is_limit: bool) -> Status {
    let code = match failure.code {
        _ if is_limit => Code::ResourceExhausted,
        2 | 3 => Code::InvalidArgument,
        4 => Code::DataLoss,
        _ => Code::Internal,
    };
    let help = failure.help.as_ref().map(|help| format!("help: {help}"));
    let parts = [Some(&failure.message), failure.excerpt.as_ref(), help.as_ref()];
    let text = parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n");
    Status::new(code, &text[..text.floor_char_boundary(MOST_MESSAGE)])
}

/// An error of Arrow, which no request causes.
fn fault(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}

/// The rows of responses, as messages.
type Rows = <Flight as FlightService>::DoGetStream;

/// The messages of some rows.
fn rows(batch: Result<RecordBatch, impl Into<FlightError>>) -> Result<Response<Rows>, Status> {
    let batch = batch.map_err(|error| Status::from(error.into()))?;
    let messages = FlightDataEncoderBuilder::new().with_schema(batch.schema());
    let messages = messages.build(stream::iter([Ok(batch)])).map_err(Status::from);
    Ok(Response::new(Box::pin(messages)))
}

/// The schema that messages with these columns have.
fn sent(schema: SchemaRef) -> SchemaRef {
    let messages = FlightDataEncoderBuilder::new().with_schema(schema.clone()).build(stream::empty());
    messages.known_schema().unwrap_or(schema)
}

/// The information that leads to rows: `ticket` gets them, here.
fn info(ticket: &impl ProstMessageExt, schema: &Schema, request: Request<FlightDescriptor>) -> Found {
    let ticket = Ticket::new(ticket.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_descriptor(request.into_inner());
    Ok(Response::new(info.try_with_schema(schema).map_err(fault)?))
}

type Found = Result<Response<FlightInfo>, Status>;

/// The text of a handle.
fn text_of(handle: &[u8]) -> Result<String, Status> {
    let text = String::from_utf8(handle.to_vec());
    text.map_err(|_| Status::invalid_argument("the handle is none of this server"))
}

impl Flight {
    /// Runs a statement, or only plans it. The first batch is empty, and has the columns.
    async fn statement(
        &self,
        statement: String,
        is_run: bool,
    ) -> Result<(SchemaRef, Coming<RecordBatch>), Status> {
        let coming = self.0.questions.statement(move |context, items| async move {
            let of_query = |error| Failure::of_query(error, &statement);
            let frame = served::plan(&context, &statement).await?;
            let task = Arc::new(frame.task_ctx());
            let plan = frame.create_physical_plan().await.map_err(of_query)?;
            items.send(RecordBatch::new_empty(plan.schema()), 0).await?;
            if is_run {
                let mut rows = execute_stream(plan, task).map_err(of_query)?;
                while let Some(batch) = rows.next().await {
                    let batch = batch.map_err(of_query)?;
                    let rows = batch.num_rows();
                    items.send(batch, rows).await?;
                }
            }
            Ok(())
        });
        let mut coming = self.started(coming.await)?;
        let first = self.next(&mut coming).await.unwrap_or_else(|| Err(Status::internal("no columns")))?;
        Ok((first.schema(), coming))
    }

    /// A question that has started.
    fn started<T>(&self, coming: Result<Coming<T>, TooMany>) -> Result<Coming<T>, Status> {
        coming.map_err(|TooMany| {
            self.0.metrics.refuse("questions");
            Status::resource_exhausted(TOO_MANY)
        })
    }

    /// The next item of a question.
    async fn next<T>(&self, coming: &mut Coming<T>) -> Option<Result<T, Status>> {
        let next = coming.next().await?;
        Some(next.map_err(|failure| failed(&failure, coming.cancel.reason().is_some())))
    }

    /// The columns of a statement, which is planned.
    async fn columns(&self, statement: String) -> Result<SchemaRef, Status> {
        let (columns, mut coming) = self.statement(statement, false).await?;
        // The question comes to its end before it is dropped.
        while let Some(more) = self.next(&mut coming).await {
            more?;
        }
        Ok(sent(columns))
    }

    /// The rows of a statement.
    async fn run(&self, statement: String) -> Result<Response<Rows>, Status> {
        let (schema, coming) = self.statement(statement, true).await?;
        let size = coming.size.clone();
        let batches = stream::unfold((self.clone(), coming), |(flight, mut coming)| async move {
            let next = flight.next(&mut coming).await?;
            Some((next.map_err(FlightError::from), (flight, coming)))
        });
        let messages = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
        let messages = messages.map(move |message| {
            let message = message.map_err(Status::from)?;
            let bytes = message.data_header.len() + message.data_body.len();
            size.bytes(bytes as u64).map_err(|error| Status::resource_exhausted(error.to_string()))?;
            Ok(message)
        });
        // Nothing comes after a failure, and the question ends with it.
        let mut is_failed = false;
        let messages = messages.take_while(move |message| {
            let is_over = std::mem::replace(&mut is_failed, message.is_err());
            std::future::ready(!is_over)
        });
        Ok(Response::new(Box::pin(messages)))
    }

    /// The names of the inputs, each with its columns if they are wanted.
    async fn tables(&self, has_columns: bool) -> Result<Vec<(String, SchemaRef)>, Status> {
        let names = self.0.loaded.names().into_iter().map(|name| name.display().to_string());
        if !has_columns {
            return Ok(names.map(|name| (name, Arc::new(Schema::empty()))).collect());
        }
        let names: Vec<String> = names.collect();
        let coming = self.0.questions.statement(move |context, items| async move {
            for name in names {
                let table = context.table_provider(TableReference::bare(name.clone())).await;
                let schema = table.map_err(|error| Failure::of_query(error, ""))?.schema();
                items.send((name, schema), 0).await?;
            }
            Ok(())
        });
        let mut coming = self.started(coming.await)?;
        let mut tables = Vec::new();
        while let Some(table) = self.next(&mut coming).await {
            tables.push(table?);
        }
        Ok(tables)
    }
}

/// Facts about the SQL of the server.
fn sql_info() -> Result<&'static SqlInfoData, Status> {
    static INFO: OnceLock<Result<SqlInfoData, String>> = OnceLock::new();
    let info = INFO.get_or_init(|| {
        let mut info = SqlInfoDataBuilder::new();
        info.append(SqlInfo::FlightSqlServerName, "Warpath");
        info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
        info.append(SqlInfo::FlightSqlServerArrowVersion, datafusion::arrow::ARROW_VERSION);
        info.append(SqlInfo::FlightSqlServerReadOnly, true);
        info.append(SqlInfo::FlightSqlServerSql, true);
        info.append(SqlInfo::FlightSqlServerSubstrait, false);
        info.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::None as i32);
        info.append(SqlInfo::FlightSqlServerCancel, false);
        info.append(SqlInfo::FlightSqlServerBulkIngestion, false);
        info.append(SqlInfo::SqlDdlCatalog, false);
        info.append(SqlInfo::SqlDdlSchema, false);
        info.append(SqlInfo::SqlDdlTable, false);
        let lowercase = SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase;
        info.append(SqlInfo::SqlIdentifierCase, lowercase as i32);
        info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
        info.build().map_err(|error| error.to_string())
    });
    info.as_ref().map_err(Status::internal)
}

#[tonic::async_trait]
impl FlightSqlService for Flight {
    type FlightService = Self;

    async fn do_handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>>, Status> {
        let why = "there are no users here: the header `authorization` has `Bearer TOKEN`";
        Err(Status::unimplemented(why))
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Found {
        let columns = self.columns(query.query.clone()).await?;
        info(&TicketStatementQuery { statement_handle: query.query.into() }, &columns, request)
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        self.run(text_of(&ticket.statement_handle)?).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let columns = self.columns(query.query.clone()).await?;
        let options = IpcWriteOptions::default();
        let IpcMessage(dataset_schema) = SchemaAsIpc::new(&columns, &options).try_into().map_err(fault)?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: query.query.into(),
            dataset_schema,
            parameter_schema: Default::default(),
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        _: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Found {
        let columns = self.columns(text_of(&query.prepared_statement_handle)?).await?;
        info(&query, &columns, request)
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        self.run(text_of(&query.prepared_statement_handle)?).await
    }

    async fn do_put_prepared_statement_query(
        &self,
        _: CommandPreparedStatementQuery,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        Err(Status::unimplemented("statements have no parameters here: write the values in their places"))
    }

    async fn do_put_statement_update(
        &self,
        _: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::unimplemented(ONLY_READS))
    }

    async fn do_put_statement_ingest(
        &self,
        _: CommandStatementIngest,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::unimplemented(ONLY_READS))
    }

    async fn do_put_prepared_statement_update(
        &self,
        _: CommandPreparedStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::unimplemented(ONLY_READS))
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Found {
        info(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_catalogs(
        &self,
        query: CommandGetCatalogs,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        let mut catalogs = query.into_builder();
        catalogs.append(CATALOG);
        rows(catalogs.build())
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Found {
        info(&query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        let mut schemas = query.into_builder();
        schemas.append(CATALOG, SCHEMA);
        rows(schemas.build())
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Found {
        info(&query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_tables(
        &self,
        query: CommandGetTables,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        let named = self.tables(query.include_schema).await?;
        let mut tables = query.into_builder();
        for (name, schema) in named {
            tables.append(CATALOG, SCHEMA, name, TABLE, &sent(schema)).map_err(Status::from)?;
        }
        rows(tables.build())
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Found {
        info(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        let mut types = query.into_builder();
        types.append(TABLE);
        rows(types.build())
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Found {
        info(&query.clone(), &query.into_builder(sql_info()?).schema(), request)
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        _: Request<Ticket>,
    ) -> Result<Response<Rows>, Status> {
        rows(query.into_builder(sql_info()?).build())
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
