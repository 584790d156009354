//! cuda_std.
