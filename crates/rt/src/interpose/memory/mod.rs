//! The heap, and the functions of the C library that read and write memory.

pub mod heap;
pub mod leaks;
pub mod mappings;
pub mod operators;
pub mod string_functions;
