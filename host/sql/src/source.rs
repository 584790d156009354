//! Scans of files: the paths of a projection, for the records that filters select.

use std::fmt::{self, Formatter};
use std::sync::{Arc, Mutex};

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::projection::{ProjectionOpener, SplitProjection};
use object_store::ObjectStore;
use warpath::Source;

use crate::engines::{Engines, local_path};
use crate::paths::Paths;
use crate::predicate::{self, ColumnRefs, Condition, refers_to_files};
use crate::scan::{Counts, OpensFiles, Scan, Wanted};

/// The name of the files of these scans.
pub const FILE_TYPE: &str = "warpath";

/// The least bytes of a part of a file. A part takes one thread a millisecond.
const PART_BYTES: u64 = 2 << 20;
/// Parts for each partition. A partition that has none left takes those of others, so that all end at about
/// the same time. With 4 parts of 53 MB for each of two, a projection took 140 to 158 ms, and with parts of 2
/// to 4 MB 129 to 130 ms (480 MB, AMD EPYC, two cores, 2026-11-27).
const PARTS: u64 = 64;
/// The most parts of a scan, unless each partition would then have fewer than [`FEW_PARTS`]: a plan that goes
/// to other machines has a name and a range for each.
const MOST_PARTS: u64 = 4096;
const FEW_PARTS: u64 = 4;

/// A scan of files: its paths and filters.
#[derive(Clone)]
pub struct WarpathSource {
    engines: Arc<Engines>,
    table: TableSchema,
    /// True if the types of columns are those of all records.
    are_of_all_records: bool,
    projection: ProjectionExprs,
    /// All filters that the scan applies, exactly or not.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    condition: Option<Condition>,
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    metrics: ExecutionPlanMetricsSet,
}

impl WarpathSource {
    /// A scan of all columns.
    pub fn new(engines: Arc<Engines>, table: TableSchema, are_of_all_records: bool) -> Self {
        let schema = table.table_schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        Self {
            projection: ProjectionExprs::from_indices(&all, schema),
            engines,
            table,
            are_of_all_records,
            filters: Vec::new(),
            condition: None,
            dynamic: Vec::new(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The engines that read its files.
    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// True if the types of columns are those of all records.
    pub fn are_of_all_records(&self) -> bool {
        self.are_of_all_records
    }

    /// The filters that it applies and that do not change while it runs.
    pub fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// The same scan with these filters.
    ///
    /// # Errors
    /// A filter that cannot be evaluated.
    pub fn filtered(&self, filters: Vec<Arc<dyn PhysicalExpr>>) -> Result<Self> {
        let mut conditions = Vec::new();
        for filter in &filters {
            conditions.extend(self.columns().condition(filter)?);
        }
        Ok(Self { filters, condition: predicate::all(conditions), ..self.clone() })
    }

    fn columns(&self) -> ColumnRefs<'_> {
        let fields = self.table.file_schema().fields();
        ColumnRefs { fields, are_of_all_records: self.are_of_all_records }
    }
}

impl FileSource for WarpathSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let file_schema = self.table.file_schema();
        let (paths, remainder) = Paths::of(&self.projection, file_schema.fields())?;
        let schema = Arc::new(paths.schema());
        let scan = Scan {
            engines: self.engines.clone(),
            store,
            is_local: is_local(config),
            wanted: Wanted::of(&paths.columns)?,
            columns: paths.columns,
            schema: schema.clone(),
            condition: self.condition.clone(),
            dynamic: self.dynamic.clone(),
            file_schema: file_schema.clone(),
            are_of_all_records: self.are_of_all_records,
            counts: Counts::new(&self.metrics, partition),
            placed: Mutex::default(),
        };
        let split = SplitProjection::new(&schema, &remainder);
        ProjectionOpener::try_new(split, Arc::new(OpensFiles(Arc::new(scan))), &schema)
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table
    }

    fn with_batch_size(&self, _: usize) -> Arc<dyn FileSource> {
        // A batch has the rows of one partition of text.
        Arc::new(self.clone())
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        (!self.filters.is_empty()).then(|| conjunction(self.filters.iter().cloned()))
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        FILE_TYPE
    }

    fn fmt_extra(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        if let Ok((paths, _)) = Paths::of(&self.projection, self.table.file_schema().fields()) {
            let paths: Vec<String> =
                paths.columns.iter().map(|column| format!("{}:{}", column.path, column.values)).collect();
            write!(f, ", paths=[{}]", paths.join(", "))?;
        }
        if let Some(condition) = &self.condition {
            let exactly = if condition.is_exact { "" } else { " (and more records)" };
            write!(f, ", predicate={}{exactly}", condition.expr)?;
        }
        if !self.dynamic.is_empty() {
            let filters: Vec<String> = self.dynamic.iter().map(ToString::to_string).collect();
            write!(f, ", dynamic=[{}]", filters.join(", "))?;
        }
        Ok(())
    }

    fn repartitioned(
        &self,
        partitions: usize,
        _: usize,
        ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        if ordering.is_some() || !self.engines.has_parts() || !is_local(config) {
            return Ok(None);
        }
        let files: Vec<&PartitionedFile> = config.file_groups.iter().flat_map(FileGroup::iter).collect();
        let bytes: u64 = files.iter().map(|file| file.object_meta.size).sum();
        let of_each = |parts| (partitions as u64).saturating_mul(parts);
        let parts = of_each(PARTS).min(MOST_PARTS.max(of_each(FEW_PARTS))).max(1);
        let part = bytes.div_ceil(parts).max(PART_BYTES);
        if partitions < 2 || files.iter().all(|file| file.object_meta.size <= part) {
            return Ok(None);
        }
        let mut parts: Vec<PartitionedFile> = Vec::new();
        for file in files {
            let size = file.object_meta.size;
            let path = local_path(&file.object_meta.location)?;
            if file.range.is_some() || size <= part || !Source::File(path).has_parts() {
                parts.push(file.clone());
                continue;
            }
            let count = size.div_ceil(part);
            for at in 0..count {
                let (start, end) = (size * at / count, size * (at + 1) / count);
                let range = FileRange { start: start as i64, end: end as i64 };
                parts.push(PartitionedFile { range: Some(range), ..file.clone() });
            }
        }
        // Part N is one of partition N modulo the number of partitions. All begin at the start of the files.
        let count = partitions.min(parts.len());
        let mut groups = vec![Vec::new(); count];
        for (at, part) in parts.into_iter().enumerate() {
            groups[at % count].push(part);
        }
        let mut config = config.clone();
        config.file_groups = groups.into_iter().map(FileGroup::new).collect();
        Ok(Some(config))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut source = self.clone();
        let mut conditions: Vec<Condition> = source.condition.take().into_iter().collect();
        let mut answers = Vec::with_capacity(filters.len());
        for filter in filters {
            if DynamicFilterTracking::classify(&filter).contains_dynamic_filter() {
                // Operators above do not need it, and it is stricter later.
                if refers_to_files(&filter, self.table.file_schema().fields()) {
                    source.dynamic.push(filter);
                }
                answers.push(PushedDown::No);
                continue;
            }
            let condition = self.columns().condition(&filter)?;
            let is_exact = condition.as_ref().is_some_and(|condition| condition.is_exact);
            answers.push(if is_exact { PushedDown::Yes } else { PushedDown::No });
            if let Some(condition) = condition {
                source.filters.push(filter);
                conditions.push(condition);
            }
        }
        source.condition = predicate::all(conditions);
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        Ok(answer.with_updated_node(Arc::new(source)))
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let projection = self.projection.try_merge(projection)?;
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected = self.projection.iter().map(|projected| &projected.expr);
        for expr in projected.chain(&self.filters).chain(&self.dynamic) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

fn is_local(config: &FileScanConfig) -> bool {
    config.object_store_url.as_str() == "file:///"
}
