//! Search strategies over an abstract target.
#![forbid(unsafe_code)]

pub mod memory;
