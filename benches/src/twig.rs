//! What `bench-twig` measured of standing queries, as tables and plots.
//!
//! | module | question |
//! |---|---|
//! | [`record`] | what does a result file hold? |
//! | [`plot`] | what do plots and tables show of it? |

pub mod plot;
pub mod record;
