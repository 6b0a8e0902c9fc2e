//! Small programs with atomic operations of all memory orders, locks, semaphores, loops that wait,
//! and plain data: a language, a generator, a target that keeps the stores of each location as the
//! runtime does, and C text.

mod generate;
mod print;
mod program;
mod target;

pub use generate::{Theme, random};
pub use print::{exit_status, print};
pub use program::{
    DATA, Ins, Lab, LabKind, MUTEXES, SEMAPHORES, Stand, Val, WeakProgram, ends_wait, evaluate, labels, locations,
    run_thread,
};
pub use target::{Left, WeakTarget, address};
