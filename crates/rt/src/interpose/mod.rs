//! The functions of the C and C++ libraries that the runtime replaces, by theme. Each performs the
//! operation on the program's own object, as a transition where other threads can notice it, and
//! behaves as the library's function when the host is not in control.
//!
//! A new object of a program is a new file here (most are in [`sync`]); [`crate::sched::enabled`]
//! says when its operations can be performed.

pub mod annotations;
pub mod before;
pub mod buffers;
mod c11;
mod containers;
pub mod cxx_objects;
mod cxx_streams;
mod exceptions;
mod futures;
pub mod io;
mod machine;
pub mod memory;
pub mod process;
pub mod sync;
pub mod thread;
