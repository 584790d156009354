//! Shared parts of several files of tests.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use warpath::Hits;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Pipeline;
use warpath_tests::emulated::Emulated;

/// A device of its own, emulated.
pub fn emulated() -> Pipeline<Emulated> {
    Emulated::default().pipeline()
}

/// [`emulated`], as any backend.
pub fn device() -> Arc<dyn Backend> {
    Emulated::default().backend()
}

/// The CPU, and an emulated device.
pub fn backends() -> [Arc<dyn Backend>; 2] {
    [Arc::new(Cpu), device()]
}

/// A match: its input, line, bytes in the input, and text.
pub type SourceMatch = (String, u64, (u64, u64), Vec<u8>);

/// The matches, and the error at which they ended.
pub fn found(hits: Hits) -> (Vec<SourceMatch>, Option<String>) {
    let (mut found, mut failed) = (Vec::new(), None);
    for hit in hits {
        match hit {
            Ok(hit) => found.push((hit.source().into(), hit.line(), hit.offsets(), hit.bytes().to_vec())),
            Err(error) => failed = Some(error.to_string()),
        }
    }
    (found, failed)
}

/// A text, compressed by gzip.
pub fn gzip(text: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The methods of a backend that has no stages, no forms and no abilities. The backend adds `worker` and
/// `index`.
macro_rules! bare_backend {
    ($name:literal, partition_size: $partition_size:expr, workers: $workers:expr) => {
        fn name(&self) -> String {
            $name.into()
        }
        fn abilities(&self) -> warpath_answer::backend::Abilities {
            warpath_answer::backend::Abilities::default()
        }
        fn partition_size(&self) -> usize {
            $partition_size
        }
        fn workers(&self, _: usize) -> usize {
            $workers
        }
        fn stages(&self, _: &warpath_answer::backend::Evaluation<'_>) -> Vec<warpath_answer::backend::Stage> {
            Vec::new()
        }
        fn buffer(&self, len: usize) -> Result<warpath_answer::backend::Buffer, Error> {
            Cpu.buffer(len)
        }
        fn setup(&self) -> warpath_answer::backend::Setup {
            warpath_answer::backend::Setup::default()
        }
        fn forms(&self) -> &warpath_answer::backend::Forms {
            warpath_answer::backend::Forms::NONE
        }
    };
}

pub(crate) use bare_backend;
