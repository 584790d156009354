//! The operator that makes one value from each text of lines.

use std::option;
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_core::pool::stream::Turn;
use warpath_plan::Plan;

use super::flow::Flow;
use super::jobs::Origin;
use super::operator::{Operator, Taken, TextResult};
use super::task::Task;
use super::{Ordered, Running, Stats};
use crate::engine::Chosen;
use crate::input::{Buffers, Inputs, Text};

/// Makes a value from a text. The number is that of the part that the text belongs to; numbers grow.
pub(super) type Make<T> = Box<dyn Fn(usize, &mut Text<'_>) -> Result<T, Error> + Send + Sync>;

/// A task that makes one value from each text.
pub struct PerText<T> {
    buffers: Arc<Buffers>,
    make: Make<T>,
}

impl<T: Send + 'static> Task for PerText<T> {
    type Output = T;
    type Worker<'a> = ();

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn evaluate(
        &self,
        turn: Turn,
        _: &mut Option<()>,
        text: &mut Text<'_>,
        _surveyed: bool,
    ) -> Result<T, Error> {
        (self.make)(turn.number as usize, text)
    }
}

/// Starts workers that make a value from each partition of some inputs.
pub(super) fn start<'a, T: Send + 'static>(
    inputs: Inputs<'a>,
    chosen: &Chosen,
    plan: Plan,
    buffers: Arc<Buffers>,
    make: Make<T>,
) -> Result<Running<'a, PerText<T>>, Error> {
    let task = PerText { buffers, make };
    let flow = Flow::lines(task, inputs, chosen, &plan)?;
    Ok(Running::new(plan, flow, chosen))
}

/// The operator that yields each value, with its input. Its field counts the lines of a value.
pub struct EachValue<T>(fn(&T) -> u64);

impl<'a, T: Send + 'static> Operator<'a> for EachValue<T> {
    type Task = PerText<T>;
    type Items = option::IntoIter<(Origin, T)>;

    fn take(&mut self, TextResult { result, origin, .. }: TextResult<'a, T>) -> Taken<Self::Items> {
        let lines = (self.0)(&result);
        let counts = Stats { lines, ..Stats::default() };
        Taken { items: Some((origin, result)).into_iter(), lines, counts, error: None }
    }
}

impl<'a, T: Send + 'static> Ordered<'a, EachValue<T>> {
    /// Makes a value from each partition of some inputs, in as many threads as were chosen. Texts are read
    /// into `buffers`, which may have another size than those for streaming. `lines` counts the lines of a
    /// value.
    pub(crate) fn of_each(
        inputs: Inputs<'a>,
        chosen: &Chosen,
        plan: Plan,
        buffers: Arc<Buffers>,
        lines: fn(&T) -> u64,
        make: impl Fn(usize, &mut Text<'_>) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Self {
        let make: Make<T> = Box::new(move |number, text| {
            let made = make(number, text)?;
            text.forget();
            Ok(made)
        });
        Self::new(EachValue(lines), start(inputs, chosen, plan, buffers, make))
    }
}
