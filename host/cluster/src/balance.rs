//! Files divided among partitions by their bytes.
//!
//! DataFusion divides files among partitions by their number. A task reads a partition, and a stage ends
//! with its longest task.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;

use crate::codec::files_of;

/// The same plan, with about the same number of bytes in each partition of a scan. No scan gets another
/// number of partitions. Files lose their statistics: only planning needs them, and they are most of a plan
/// with many files.
///
/// # Errors
/// The errors of plans that cannot be made again.
pub fn balanced(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let Some(config) = files_of(&plan) else { return Ok(Transformed::no(plan)) };
        let files = config.file_groups.iter().flat_map(FileGroup::iter);
        let groups = match is_free(config) {
            true => groups(files, config.file_groups.len()),
            false => {
                let plain = |group: &FileGroup| FileGroup::new(group.iter().map(plain).collect());
                config.file_groups.iter().map(plain).collect()
            }
        };
        let config = FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build();
        Ok(Transformed::yes(DataSourceExec::from_data_source(config) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

/// True if each file may be in any partition.
fn is_free(config: &FileScanConfig) -> bool {
    config.file_groups.len() > 1 && config.output_ordering.is_empty() && config.output_partitioning.is_none()
}

/// The bytes of a file, or of the part of it that is read.
fn bytes(file: &PartitionedFile) -> u64 {
    file.range.as_ref().map_or(file.object_meta.size, |range| (range.end - range.start).unsigned_abs())
}

/// A file without its statistics.
fn plain(file: &PartitionedFile) -> PartitionedFile {
    PartitionedFile { statistics: None, ..file.clone() }
}

/// Files in this number of groups: the largest first, each in the group with the fewest bytes. Files of a
/// group have their former order.
fn groups<'a>(files: impl Iterator<Item = &'a PartitionedFile>, count: usize) -> Vec<FileGroup> {
    let mut files: Vec<(usize, &PartitionedFile)> = files.enumerate().collect();
    files.sort_by_key(|(at, file)| (std::cmp::Reverse(bytes(file)), *at));
    let mut groups: Vec<(u64, Vec<(usize, &PartitionedFile)>)> = vec![Default::default(); count];
    for (at, file) in files {
        if let Some(group) = groups.iter_mut().min_by_key(|(sum, files)| (*sum, files.len())) {
            group.0 += bytes(file);
            group.1.push((at, file));
        }
    }
    let ordered = |mut files: Vec<(usize, &PartitionedFile)>| {
        files.sort_by_key(|(at, _)| *at);
        FileGroup::new(files.into_iter().map(|(_, file)| plain(file)).collect())
    };
    groups.into_iter().map(|(_, files)| ordered(files)).collect()
}

#[cfg(test)]
mod tests {
    use datafusion_proto::physical_plan::AsExecutionPlan;
    use datafusion_proto::protobuf::PhysicalPlanNode;
    use warpath_sql::Options;

    use super::*;
    use crate::codec::Codec;

    /// A plan of a million files fits in a message (`hello::MESSAGE_BYTES`).
    #[tokio::test]
    async fn a_plan_has_few_bytes_for_each_file() {
        let folder = tempfile::tempdir().unwrap();
        let record = (0..20).map(|at| format!("\"member{at}\":{at}")).collect::<Vec<_>>().join(",");
        for file in 0..200 {
            std::fs::write(folder.path().join(format!("events-{file:06}.ndjson")), format!("{{{record}}}\n"))
                .unwrap();
        }
        let options = Options { keeps_schemas: true, workers: 4, ..Options::default() };
        let (context, codec) = (options.context().unwrap(), Codec::new(&options).unwrap());
        let query = format!("SELECT sum(member1) FROM '{}/' GROUP BY member2", folder.path().display());
        let plan = context.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
        let mut bytes = Vec::new();
        let plan = PhysicalPlanNode::try_from_physical_plan(balanced(plan).unwrap(), &codec).unwrap();
        plan.try_encode(&mut bytes).unwrap();
        assert!(bytes.len() < 200 * 120, "{} bytes", bytes.len());
    }

    #[test]
    fn groups_have_about_the_same_bytes() {
        let sizes = [90, 10, 20, 30, 40, 50, 60];
        let files: Vec<PartitionedFile> =
            sizes.iter().map(|size| PartitionedFile::new(format!("{size}"), *size)).collect();
        let groups = groups(files.iter(), 3);
        let sums: Vec<u64> = groups.iter().map(|group| group.iter().map(bytes).sum()).collect();
        assert_eq!(sums.iter().sum::<u64>(), 300);
        assert!(sums.iter().all(|sum| (90..=110).contains(sum)), "{sums:?}");
    }
}
