//! The plan of a run: which backend evaluates it, which indexes serve it, what is read, and why.
//!
//! A plan is a value that is made from values: the request, facts about its inputs, and the abilities of a
//! backend. Nothing is read or opened here. The engine gathers the facts, runs the plan and decides nothing
//! itself; `explain` and `--stats` print the plan.
//!
//! ```text
//! request ──────────┐
//! backends of the   ├─► backend() ─┐
//! engine ───────────┘              │
//! condition, columns      ─► prune() ─► the lines that may match
//! request, facts, the two results ─┴─► plan() ─► Plan: prune, read, evaluate
//! ```
//!
//! # Rules
//!
//! 1. *Backend.* A schema is made on the CPU. The CPU evaluates programs with patterns of the records and
//!    with instants. Otherwise the engine's backend evaluates; an engine that chooses takes a device if the
//!    plain text is so long that the device is faster in spite of its setup ([`backend()`]).
//! 2. *Columns of an index* decide the tests of columns exactly. Columns whose source is the path of a
//!    test bound this test; the text of the remaining lines decides it. No index serves documents,
//!    several inputs, and inputs that cannot be read at any offset. A condition on paths alone is not served
//!    if records are checked by more than the index knows: in strict mode, and with trees
//!    ([`prune`](prune())).
//! 3. *Selected lines* are read alone, without a structural index.
//! 4. *Structural index.* A backend that reads levels faster than it makes them reads those of one plain
//!    file of lines, if the index has as many levels as the program reads.
//! 5. *Parts of a store* give the members of records that the program reaches, of the records that their
//!    columns do not exclude, unless the caller uses offsets or the text of records ([`PartColumns`]).
//! 6. *Documents* are evaluated by the elements of an array if only matches are wanted.
//! 7. *Threads.* Text that is evaluated in less time than a thread takes to start is evaluated by the caller.
//!
//! An index that a rule leaves out is in [`Plan::unused`] with the reason. A request that no plan can serve
//! is a [`PlanError`](warpath_core::error::PlanError).
//!
//! | module | contents |
//! |---|---|
//! | [`facts`] | what is known of inputs and their indexes |
//! | [`backend`](mod@backend), `size` | the choice of a backend; the size from which on a device is faster |
//! | [`prune`](mod@prune) | what the columns of an index decide about a condition |
//! | [`columns`] | what is read of parts of a store |
//! | [`plan`](mod@plan) | the other rules; the plan as a value |

pub mod backend;
pub mod columns;
pub mod facts;
pub mod plan;
pub mod prune;
mod size;

pub use backend::{Backends, Device, On, Purpose, backend};
pub use columns::{LeafPaths, PartColumns};
pub use facts::{Bytes, Facts, Format, SMALL, Selected, Structural};
pub use plan::{Evaluated, Plan, Pruned, Reading, Request, Runs, Threads, Unused, plan};
pub use prune::{Condition, Prune, prune};
