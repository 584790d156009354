//! Tables and plots of the measurements of standing queries by `bench twig`.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | result files |
//! | [`plot`] | plots and tables of results |

pub mod plot;
pub mod record;
