//! Sessions of DataFusion that read NDJSON by Warpath's engine.

use std::sync::Arc;

use datafusion::catalog::TableProviderFactory;
use datafusion::error::DataFusionError;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::cache::cache_manager::CacheManagerConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use warpath::Loaded;

use crate::arrows::Arrows;
use crate::engines::Engines;
use crate::format::{EXTENSIONS, WarpathFormatFactory};
use crate::functions;
use crate::integers::ExactIntegers;
use crate::leaves::{InMemory, OnLeaves};
use crate::options::Options;
use crate::report::Report;
use crate::semi::DistinctKeys;
use crate::tables;

/// No memory of listings, and of what was known of files: objects may be replaced between two queries.
fn no_caches() -> CacheManagerConfig {
    CacheManagerConfig::default().with_list_files_cache_limit(0).with_file_statistics_cache_limit(0)
}

impl Options {
    /// A new session of DataFusion that reads NDJSON by Warpath's engine.
    ///
    /// * A quoted name after FROM is a file, a folder, a pattern or a URL: `FROM 'logs/*.ndjson.gz'`.
    /// * `CREATE EXTERNAL TABLE … STORED AS WARPATH` makes a table; so do `NDJSON`, `JSONL` and `JSON`.
    /// * The functions of [`functions`] are registered.
    ///
    /// # Errors
    /// The errors of a device that cannot be opened, and those of DataFusion.
    pub fn context(&self) -> Result<SessionContext, DataFusionError> {
        self.context_with(&Arc::default())
    }

    /// A new session, as from [`context`](Self::context), whose scans add to a report.
    ///
    /// # Errors
    /// The errors of [`context`](Self::context).
    pub fn context_with(&self, report: &Arc<Report>) -> Result<SessionContext, DataFusionError> {
        self.context_by(report, |builder| builder)
    }

    /// A new session, as from [`context_with`](Self::context_with), that evaluates aggregates on the leaves
    /// of files that are loaded ([`crate::leaves`]). `loaded` returns what is loaded when a query is planned.
    ///
    /// # Errors
    /// The errors of [`context`](Self::context).
    pub fn context_over(
        &self,
        report: &Arc<Report>,
        loaded: Arc<dyn Fn() -> Loaded + Send + Sync>,
    ) -> Result<SessionContext, DataFusionError> {
        self.context_by(report, |mut builder| {
            let mut rules = PhysicalOptimizer::new().rules;
            // Before the rules that put exchanges between operators, and projections into scans.
            let in_memory = InMemory::new(loaded);
            rules.insert(0, Arc::new(OnLeaves(in_memory.clone())));
            if let Some(config) = builder.config() {
                config.set_extension(Arc::new(in_memory));
            }
            builder.with_physical_optimizer_rules(rules)
        })
    }

    /// A new session, as from [`context_with`](Self::context_with), whose state the caller has changed before
    /// it is built. The caller may set another planner of queries, for example.
    ///
    /// # Errors
    /// The errors of [`context`](Self::context).
    pub fn context_by(
        &self,
        report: &Arc<Report>,
        change: impl FnOnce(SessionStateBuilder) -> SessionStateBuilder,
    ) -> Result<SessionContext, DataFusionError> {
        let engines = Arc::new(Engines::new(self, report.clone())?);
        let config = SessionConfig::new()
            .with_target_partitions(self.all_workers())
            .with_information_schema(true)
            .set_bool("datafusion.sql_parser.collect_spans", true)
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false);
        let mut config = config;
        if let Some(known) = &self.known {
            config.set_extension(Arc::new(known.clone()));
        }
        let mut runtime = RuntimeEnvBuilder::new()
            .with_cache_manager(no_caches())
            .with_object_store_registry(engines.registry());
        if let Some(memory) = self.memory {
            runtime = runtime.with_memory_limit(memory, 1.0);
            // A sort that writes its rows to files takes all memory that is left to merge them. Several sorts
            // at a time would leave none for the merge of their rows. (Multi-level merges, DataFusion 55.)
            config.options_mut().optimizer.repartition_sorts = false;
            let execution = &mut config.options_mut().execution;
            execution.sort_spill_reservation_bytes = execution.sort_spill_reservation_bytes.min(memory / 4);
        }
        let builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime.build_arc()?)
            .with_default_features()
            .with_analyzer_rule(Arc::new(ExactIntegers::new()))
            .with_optimizer_rule(Arc::new(DistinctKeys));
        let mut state = change(builder).build();
        for extension in EXTENSIONS {
            let factory = WarpathFormatFactory::new(engines.clone(), extension);
            state.register_file_format(Arc::new(factory), true)?;
            let table = Arc::new(tables::Locations::new(engines.clone())) as Arc<dyn TableProviderFactory>;
            state.table_factories_mut().insert(extension.to_uppercase(), table);
        }
        let mut context = SessionContext::new_with_state(state);
        functions::register_until(&mut context, self.cancel.as_ref())?;
        context.register_expr_planner(Arc::new(Arrows::new()))?;
        // The names that other engines have for these functions.
        for (function, alias) in [("date_bin", "time_bucket"), ("to_char", "strftime")] {
            let known = context.udf(function)?;
            context.register_udf(known.as_ref().clone().with_aliases([alias]));
        }
        tables::enable(&context, engines)?;
        Ok(context)
    }
}
