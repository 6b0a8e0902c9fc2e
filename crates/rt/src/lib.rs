//! The runtime inside the target: every thread of the program runs as a fiber of one kernel thread, in the order that the
//! host asks for.
//!
//! # Rules for living in somebody else's process
//! 1. No thread-local storage, no allocation, no unwinding: state is in two places only. `state::Run` is part of the
//!    program's state and is put back with it; `state::Keep` belongs to the process and is never put back.
//! 2. Nothing that the runtime itself exports may be called by it (it would meet itself); system calls are made directly
//!    (`sys`); what libc has to do is reached through `real`.
//! 3. Without the host (`state::controlled` is false) every export behaves as the function that it hides.
//! 4. Control is handed over only inside `sched`, before an operation is performed. A fiber that runs owns all state: there is
//!    no concurrency inside the runtime, so plain memory is enough everywhere but in the page shared with the host.
//! 5. A fault in a page that the snapshot protects is ours (`snapshot`); every other fault is the program's (`fail`).
#![no_std]
// Exports mirror C declarations whose contracts are those of the C library.
#![allow(clippy::missing_safety_doc, reason = "every exported function has the contract of the C function it hides")]

mod annotate;
mod annotate_benign;
mod annotate_locks;
mod atomic_bytes;
mod atomics;
mod barrier;
mod buffers;
mod c11;
mod cancel;
mod chance;
mod checkpoint;
mod clock;
mod cond;
mod controller;
mod debug;
mod descriptors;
mod enabled;
mod entry;
mod fail;
mod fiber;
mod files;
mod frames;
mod futex;
mod granular;
mod heap;
mod hooks;
mod identity;
mod kernel;
mod keys;
mod library;
mod lines;
mod looks;
mod maps;
mod masks;
mod memory;
mod mutex;
mod once;
mod poll;
mod private;
mod processors;
mod real;
mod regular;
mod rwlock;
mod sched;
mod sem;
mod sem_names;
mod sigwait;
mod snapshot;
mod spin;
mod spinlock;
mod start;
mod state;
mod storage;
mod streams;
mod sys;
mod system;
mod threads;
mod time;
mod timeouts;
mod touched;
mod trace;
mod undo;
mod unwind;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let line = info.location().map_or(0, core::panic::Location::line);
    let file = info.location().map_or("", core::panic::Location::file);
    fail::runtime_bug(file, line)
}
