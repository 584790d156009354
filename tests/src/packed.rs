//! A backend that is given each text packed. With it the suite compares packed text with the oracles, too.

use std::sync::Arc;

use warpath::{Error, Program, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::{
    Abilities, Backend, Buffer, Evaluation, Forms, Setup, Stage, StructuralIndex, Worker,
};
use warpath_store::packed::PackedText;

/// Packs each text before another backend evaluates it.
pub struct Packing(pub Arc<dyn Backend>);

struct PackingWorker<'a>(Box<dyn Worker + 'a>);

impl Backend for Packing {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.0.buffer(len)
    }
    fn setup(&self) -> Setup {
        Setup::default()
    }
    fn forms(&self) -> &Forms {
        Forms::NONE
    }
    fn name(&self) -> String {
        format!("{}, packed text", self.0.name())
    }
    fn partition_size(&self) -> usize {
        self.0.partition_size()
    }
    fn workers(&self, size: usize) -> usize {
        self.0.workers(size)
    }
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.0.stages(evaluation)
    }
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(PackingWorker(self.0.worker(number)?)))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        self.0.index(text, levels)
    }
}

impl Worker for PackingWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.0.answer_packed(&PackedText::pack(text)?, program, want, false)
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.0.answer_packed(&PackedText::pack(text)?, program, want, true)
    }
}
