//! The measurements of standing queries: the `bench twig` program, and tables and plots of its results.
//!
//! | module | contents |
//! |---|---|
//! | [`command`] | the command line, and the measurements |
//! | [`record`] | result files |
//! | [`plot`] | plots and tables of results |

pub mod command;
mod events;
pub mod plot;
pub mod record;
mod text;
mod xml;
