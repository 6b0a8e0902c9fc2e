//! Everything that depends on the processor architecture. The rest of the runtime contains no
//! assembly, names no register, and does not ask for the architecture.
//!
//! Another architecture is another folder beside `x86_64` with the same modules:
//!
//! * `context`: [`context::switch`] and [`context::prepare`] for fibers;
//!   [`context::prepare_processor`] at the start.
//! * `tls`: thread pointer, and where static thread-local storage lies relative to it.
//! * `entry`: the stubs through which the program enters the runtime (`export!`, `hook!`,
//!   `read_hook!`, `intercept!`) and the registers that they store ([`entry::Registers`]).
//! * `liveness`: which registers and stack bytes the program will not read again.
//! * `syscall`: [`syscall::call`], the system call instruction.
//! * `signal`: [`signal::KernelAction`], returning from a handler, the interrupted instruction.
//! * `atomic16`: compare-exchange of 16 bytes.
//! * `watched_call`: a call that notices when it is left by unwinding.
//! * `unwind`: numbers and offsets that the unwinder and glibc use.
//! * `vector`: [`vector::fastest_restore`], restoring a page with wide registers.
//!
//! and the constants for pages, cache lines and the address space that are re-exported here.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the runtime supports x86-64 only: add a folder to crates/rt/src/arch");
