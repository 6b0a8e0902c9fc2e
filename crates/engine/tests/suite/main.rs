//! The library as a program uses it.

mod c_library;
mod example;
mod hooks;
mod panics;
