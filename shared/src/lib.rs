//! What host and device agree on.
#![no_std]
