//! The runtime inside the target. Every thread of the program runs as a fiber of one kernel thread,
//! in the order that the host asks for.
//!
//! # Rules for living in another program's process
//! 1. No thread-local storage, no allocation, no unwinding. State is in two places only:
//!    `state::RunState` is part of the program's state and is restored with it;
//!    `state::ProcessState` belongs to the process and is never restored.
//! 2. The runtime never calls a function that it exports itself. System calls are made directly
//!    (`syscall`); functions of libc that it hides are reached through `syscall::libc_real`.
//! 3. Without the host (`state::controlled` is false) every export behaves as the function that it
//!    hides.
//! 4. Control is handed over only inside `sched`, before an operation is performed. A fiber that
//!    runs owns all state: there is no concurrency inside the runtime, so plain memory is enough
//!    everywhere except in the page shared with the host.
//! 5. A fault in a page that the snapshot protects is handled by `restore::snapshot`; every other
//!    fault is the program's (`interpose::process::failure`).
//!
//! # Folders
//! | folder | what it holds |
//! |---|---|
//! | `arch` | everything that depends on the processor architecture, one folder for each |
//! | `frame_objects` | where the variables of functions lie in their frames |
//! | `interpose` | the functions of the C and C++ libraries that the runtime replaces, by theme |
//! | `library` | what the functions of the C library and the system calls are to the search |
//! | `observed` | accesses that a plug-in of an emulator records |
//! | `restore` | restoring an earlier state of the process: snapshot, checkpoints, kernel state |
//! | `sched` | taking over the process, the host's jobs, which thread runs next, virtual time |
//! | `spinloop` | detecting threads that wait busily |
//! | `stack_pointers` | pointers that lead to bytes of stacks |
//! | `state` | all state of the runtime |
//! | `state_key` | keys by which a search recognises states |
//! | `syscall` | direct system calls, and what lies behind the functions that the runtime hides |
//! | `trace` | the records of a run, and the compiler's hooks for plain accesses |
#![no_std]
// Exports mirror C declarations whose contracts are those of the C library.
#![allow(clippy::missing_safety_doc, reason = "every exported function has the contract of the C function it hides")]

mod arch;
mod frame_objects;
mod interpose;
mod library;
mod liveness;
mod observed;
mod restore;
mod sched;
mod spinloop;
mod stack_pointers;
mod state;
mod state_key;
mod syscall;
mod trace;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let line = info.location().map_or(0, core::panic::Location::line);
    let file = info.location().map_or("", core::panic::Location::file);
    interpose::process::failure::runtime_bug(file, line)
}
