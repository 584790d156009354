//! Plans on the wire: scans of NDJSON beside the operators of Ballista.
//!
//! The first byte of an operator's form says whose it is. DataFusion encodes all other operators itself, and
//! functions such as `json_path` by their names.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{Result, exec_datafusion_err, exec_err, internal_datafusion_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{
    parse_protobuf_file_scan_config, parse_table_schema_from_proto,
};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::{FileScanExecConf, PhysicalExprNode};
use prost::Message;
use warpath::OnError;
use warpath_sql::Options;
use warpath_sql::wire::{Engines, Scan, VERSION};

/// The first byte of an operator of Ballista.
const THEIRS: u8 = 0;
/// The first byte of a scan of NDJSON.
const OURS: u8 = 1;

/// A scan of NDJSON.
#[derive(Clone, PartialEq, Message)]
struct ScanNode {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(message, optional, tag = "2")]
    config: Option<FileScanExecConf>,
    #[prost(message, repeated, tag = "3")]
    filters: Vec<PhysicalExprNode>,
    #[prost(bool, tag = "4")]
    are_of_all_records: bool,
    #[prost(bool, tag = "5")]
    skips_malformed: bool,
}

/// The codec of a process, with the engines that read files there.
pub struct Codec {
    /// The engines for each policy: malformed records end the query, or are skipped.
    fail: Engines,
    skip: Engines,
    inner: BallistaPhysicalExtensionCodec,
}

impl Debug for Codec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

impl Codec {
    /// Opens the device of the options.
    ///
    /// # Errors
    /// The errors of a device that cannot be opened, and of variables of object stores.
    pub fn new(options: &Options) -> Result<Self> {
        let options = Options { on_error: OnError::Fail, ..options.clone() };
        let fail = Engines::new(&options, Arc::default())?;
        let skip = fail.with_policy(OnError::Skip)?;
        Ok(Self { fail, skip, inner: BallistaPhysicalExtensionCodec::default() })
    }

    /// The object stores that scans read from.
    pub fn stores(&self) -> Arc<dyn ObjectStoreRegistry> {
        self.fail.registry()
    }

    fn scan(
        &self,
        buf: &[u8],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node =
            ScanNode::decode(buf).map_err(|error| exec_datafusion_err!("a scan on the wire: {error}"))?;
        if node.version != VERSION {
            return exec_err!("a scan of version {} came; this program has version {VERSION}", node.version);
        }
        let config = node.config.ok_or_else(|| internal_datafusion_err!("a scan without files came"))?;
        let table = parse_table_schema_from_proto(&config)?;
        let context = PhysicalPlanDecodeContext::new(context, self);
        let filters = node.filters.iter();
        let filters = filters
            .map(|filter| converter.proto_to_physical_expr(filter, table.table_schema(), &context))
            .collect::<Result<_>>()?;
        let (engines, on_error) = match node.skips_malformed {
            true => (&self.skip, OnError::Skip),
            false => (&self.fail, OnError::Fail),
        };
        let scan = Scan { on_error, are_of_all_records: node.are_of_all_records, filters };
        let source = scan.source(&Arc::new(engines.for_wire()), table)?;
        let config = parse_protobuf_file_scan_config(&config, &context, converter, source)?;
        Ok(DataSourceExec::from_data_source(config))
    }
}

/// The configuration of a scan of files; `None` for other operators.
pub fn files_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match buf.split_first() {
            Some((&OURS, rest)) => self.scan(rest, context, converter),
            Some((&THEIRS, rest)) => self.inner.try_decode(rest, inputs, context, converter),
            _ => exec_err!("an operator came that neither Warpath nor Ballista has"),
        }
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let scan = files_of(&plan).and_then(|config| Some((config, Scan::of(&**config.file_source())?)));
        let Some((config, scan)) = scan else {
            buf.push(THEIRS);
            return self.inner.try_encode(plan, buf, converter);
        };
        let filters = scan.filters.iter();
        let node = ScanNode {
            version: VERSION,
            config: Some(serialize_file_scan_config(config, self, converter)?),
            filters: filters
                .map(|filter| converter.physical_expr_to_proto(filter, self))
                .collect::<Result<_>>()?,
            are_of_all_records: scan.are_of_all_records,
            skips_malformed: scan.on_error == OnError::Skip,
        };
        buf.push(OURS);
        node.encode(buf).map_err(|error| exec_datafusion_err!("a scan cannot be encoded: {error}"))
    }
}
