//! The CPU backend: SIMD over words, cores over pieces of a partition.

mod batch;
mod classify;
mod index;
mod plan;
mod query;
mod scan;

use warpath_shared::units::Level;

use crate::answer::{Answer, Want};
use crate::backend::{Backend, Stage, StructuralIndex};
use crate::error::Error;
use crate::program::Program;
use index::{Builder, Structure};

/// The CPU of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// Large enough that cutting it in pieces feeds every core, small enough that reading the next
/// partition and printing the last one overlap with it.
const PARTITION_BYTES: usize = 16 << 20;

impl Backend for Cpu {
    fn name(&self) -> String {
        format!("cpu ({} threads, {})", rayon::current_num_threads(), classify::simd_name())
    }

    fn partition_size(&self) -> usize {
        PARTITION_BYTES
    }

    fn stages(&self, program: &Program) -> Vec<Stage> {
        let levels = program.levels();
        let bitmaps = format!("{levels} leveled bitmap{}", if levels == 1 { "" } else { "s" });
        if query::streams(program) {
            let scan = "faults and names, in one pass over each record (every core)";
            let rest = format!("{bitmaps} of what is asked beyond names, and of records that are not usual");
            return vec![
                Stage::new("cpu", "scan", scan),
                Stage::new("cpu", "index", rest),
                Stage::new("cpu", "query", "the program over what was indexed, in the same pass"),
            ];
        }
        vec![
            Stage::new("cpu", "index", format!("line starts, {bitmaps}, faults (every core)")),
            Stage::new("cpu", "query", "the program over each record, in the same pass (every core)"),
        ]
    }

    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        Ok(query::answer_on_all_cores(text, program, want))
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
}
