//! Device forms of operators.
//!
//! A [`Backend`](crate::backend::Backend) evaluates programs. Every other operator has a trait for what a
//! device does in its place. An operator that has such a form on a device registers it. An operator without
//! one runs on the CPU.

use std::any::{Any, TypeId};

/// The operators that a backend has a form of, each by its trait.
///
/// ```
/// use warpath_answer::forms::Forms;
///
/// trait Sorts: Send + Sync {}
///
/// // No device sorts, so this operator runs on the CPU.
/// assert!(Forms::NONE.get::<dyn Sorts>().is_none());
/// ```
#[derive(Default)]
pub struct Forms(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl Forms {
    /// No forms: every operator runs on the CPU.
    pub const NONE: &Self = &Self(Vec::new());

    /// Registers a form, in place of an earlier one of the same trait.
    pub fn register<F: ?Sized + Send + Sync + 'static>(&mut self, form: Box<F>) {
        self.0.retain(|(id, _)| *id != TypeId::of::<F>());
        self.0.push((TypeId::of::<F>(), Box::new(form)));
    }

    /// The form of this trait, if there is one.
    #[must_use]
    pub fn get<F: ?Sized + Send + Sync + 'static>(&self) -> Option<&F> {
        let (_, form) = self.0.iter().find(|(id, _)| *id == TypeId::of::<F>())?;
        form.downcast_ref::<Box<F>>().map(|form| &**form)
    }
}
