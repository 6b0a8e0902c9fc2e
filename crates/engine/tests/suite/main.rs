//! The library as a program uses it.

mod example;
mod panics;
