//! TODO

pub mod column_type;
pub mod elements;
pub mod expr;
pub mod jsonpath;
pub mod like;
pub mod pattern;
pub mod program;
pub mod twig;
