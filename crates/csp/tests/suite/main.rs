//! Tests of the crate's public interface.

mod malformed;
mod models;
mod scripts;
