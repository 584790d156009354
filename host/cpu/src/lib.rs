//! Evaluation on the CPU, by SIMD over words and cores over partitions.
//!
//! | module | contents |
//! |---|---|
//! | [`Cpu`]; `way`, `query`, `plan`, `needles` | a program over one partition; the ways through it |
//! | `batch`, `scan`, `short`, `shape`, `order` | records that stream by, without an index |
//! | `index`, [`host_index`] | the structural index of a text; an index in memory for repeated evaluation |
//! | `placed`, `tape`, [`tree`] | tokens at allowed positions; the trees of records; a tree as arrays and as text |
//! | [`find`], `record`, `lease` | values found in one record in memory; memory that each thread keeps between such calls |
//! | [`strict`], `valid` | checks by all of RFC 8259 and RFC 3629 |
//! | [`cut`] | elements of a document |
//! | `stages` | stages of the CPU as data |
//! | [`twig`] | sets of twigs evaluated over documents |
//! | [`bitmap`] | expressions planned and evaluated over bitmap indexes |

mod batch;
pub mod bitmap;
pub mod cut;
pub mod find;
pub mod host_index;
mod index;
mod lease;
mod needles;
mod order;
mod placed;
mod plan;
mod query;
pub(crate) mod record;
mod scan;
mod shape;
mod short;
pub mod stages;
pub mod strict;
mod tape;
pub mod tree;
pub mod twig;
mod valid;
mod way;

use index::{Builder, Structure};
use query::Scratch;
use warpath_answer::answer::{Answer, Want, finish_with};
use warpath_answer::backend::{Abilities, Backend, Buffer, Setup, StructuralIndex, Worker};
use warpath_answer::forms::Forms;
use warpath_answer::stage::{Evaluation, Stage};
use warpath_core::error::Error;
use warpath_core::pool::cores;
use warpath_lang::program::Program;
use warpath_shared::units::Level;

pub use host_index::{HostIndex, keep, text_memory};
pub(crate) use valid::{Valid, Validator};

/// The CPU of this machine, as a backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// The size of a partition, small enough that the text is still in the cache when it is indexed. It is large
/// enough that a system call and the hand-over cost little in comparison (docs/lab/cpu.md has the times).
const PARTITION_BYTES: usize = 1 << 20;

impl Backend for Cpu {
    fn name(&self) -> String {
        let cores = cores();
        format!(
            "cpu ({cores} core{}, {})",
            if cores == 1 { "" } else { "s" },
            warpath_core::simd::simd_name()
        )
    }

    fn abilities(&self) -> Abilities {
        Abilities { uses_index_files: true, ..Abilities::default() }
    }

    fn partition_size(&self) -> usize {
        PARTITION_BYTES
    }

    /// One worker a core, and at least two, because a single worker would not evaluate while it reads.
    fn workers(&self, _partition_size: usize) -> usize {
        cores().max(2)
    }

    fn worker(&self, _number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(CpuWorker::default()))
    }

    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        let levels = evaluation.program.levels();
        stages::of_program(evaluation).into_iter().map(|row| row.stage(levels)).collect()
    }

    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error> {
        let mut structure = Structure::default();
        Builder { text, levels, string: true, structure: &mut structure }.build();
        Ok(StructuralIndex {
            faults: structure.faults(text),
            levels: (0..levels as usize)
                .map(|level| structure.levels[level * structure.words..][..structure.words].to_vec())
                .collect(),
            line_starts: structure.line_starts,
            string: structure.string,
        })
    }

    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        // Without this, memory that cannot be had would end the process.
        let none = |_| Error::OutOfMemory { bytes: len as u64 };
        Vec::<u8>::new().try_reserve_exact(len).map_err(none)?;
        Ok(Buffer::from(vec![0; len]))
    }

    fn setup(&self) -> Setup {
        Setup::default()
    }

    fn forms(&self) -> &Forms {
        Forms::NONE
    }
}

impl Cpu {
    /// Evaluates a program over one text.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    pub fn answer(self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        CpuWorker::default().answer(text, program, want)
    }
}

/// The work of one thread, and the memory that it reuses from text to text.
#[derive(Default)]
struct CpuWorker {
    scratch: Scratch,
}

impl Worker for CpuWorker {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let answer = query::answer(text, program, want.to_find(program), &mut self.scratch);
        finish_with(answer, text, program, want, &mut self.scratch.spare)
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        strict::answer(text, program, want, |text| self.answer(text, program, want))
    }
}
