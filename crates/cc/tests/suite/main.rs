//! The wrapper with real compilers and build systems.

mod build_systems;
mod common;
mod programs;
