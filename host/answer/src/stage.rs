//! Stages of evaluations as data. A stage is one row: its kernels, what it does, and the bytes that it moves.
//!
//! Everything that names stages reads rows. A device launches only kernels of a row
//! (`warpath_device::stages`) and loads their modules ahead, `explain` prints the rows of an evaluation, and
//! a test compares the table of `docs/kernels.md` with all rows.

use warpath_lang::program::Program;
use warpath_shared::units::Level;

use crate::answer::Want;

/// A program and the form of its results.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The program.
    pub program: &'a Program,
    /// The results that the caller wants.
    pub want: Want,
    /// True if records are checked by all of RFC 8259 and for UTF-8.
    pub strict: bool,
    /// True if the text is packed.
    pub packed: bool,
}

impl<'a> Evaluation<'a> {
    /// A program over plain text, with the checks that are always made.
    pub fn new(program: &'a Program, want: Want) -> Self {
        Self { program, want, strict: false, packed: false }
    }
}

/// The condition under which a stage launches a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In every run.
    Always,
    /// In most runs, as described.
    Usually(&'static str),
    /// In few runs, as described. The kernel's module is not loaded ahead.
    Seldom(&'static str),
}

/// A kernel of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageKernel {
    /// The kernel's name.
    pub name: &'static str,
    /// The condition of its launch.
    pub when: When,
}

/// One stage.
#[derive(Debug, PartialEq, Eq)]
pub struct StageRow {
    /// The processor that runs the stage: `cpu` or `device`.
    pub place: &'static str,
    /// The name of the stage, as `explain` prints it. Stages that replace each other share a name.
    pub name: &'static str,
    /// The kernels in the order of their launches. Empty on the CPU.
    pub kernels: &'static [StageKernel],
    /// A description of the work. `{levels}` stands for the leveled bitmaps of a program.
    pub what: &'static str,
    /// The bytes that the stage reads and writes, for a byte of text where nothing else is said. Empty on the
    /// CPU.
    pub bytes: &'static str,
}

impl StageRow {
    /// A stage of the CPU.
    pub const fn cpu(name: &'static str, what: &'static str) -> Self {
        Self { place: "cpu", name, kernels: &[], what, bytes: "" }
    }

    /// The kernels as text, with their conditions.
    #[must_use]
    pub fn kernel_names(&self) -> String {
        let name = |kernel: &StageKernel| match kernel.when {
            When::Always => kernel.name.to_owned(),
            When::Usually(when) | When::Seldom(when) => format!("{when} {}", kernel.name),
        };
        self.kernels.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// The stage of a program that reads this number of levels, for `explain`.
    #[must_use]
    pub fn stage(&self, levels: Level) -> Stage {
        let bitmaps = format!("{levels} leveled bitmap{}", if levels == 1 { "" } else { "s" });
        let what = self.what.replace("{levels}", &bitmaps);
        let what = if self.kernels.is_empty() { what } else { format!("{}: {what}", self.kernel_names()) };
        Stage { place: self.place, name: self.name, what }
    }
}

/// One stage of an evaluation, as `explain` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The processor that runs the stage: `cpu` or `device`.
    pub place: &'static str,
    /// The name of the stage.
    pub name: &'static str,
    /// The kernels and the work.
    pub what: String,
}
