//! What the runtime keeps for each thread beside its place in the schedule.

use crate::interpose::thread::cancel::Cancel;
use crate::spinloop::libstdcxx_spin::Look;
use crate::spinloop::locked_poll::Visit;

/// Bytes of a thread's name, the zero at the end included.
pub const NAME_BYTES: usize = 16;

/// One thread's own things.
#[derive(Clone, Copy)]
pub struct Private {
    /// Its name, zero-terminated; empty if it has none.
    pub name: [u8; NAME_BYTES],
    /// First thread that it has joined and whose slot it may use again, or 0 (nobody joins main for its slot).
    pub reusable: u16,
    /// Next of such a list.
    pub next_reusable: u16,
    /// Where it called `exit` or `quick_exit`, or 0.
    pub exit_pc: u64,
    /// Status that it gave to `quick_exit`.
    pub exit_status: i32,
    /// A semaphore that it has initialised and not yet given a name, or 0.
    pub spare_semaphore: u64,
    /// Innermost cleanup handler that C code has registered, or 0.
    pub cleanup: usize,
    /// First robust mutex that it holds, or 0.
    pub robust: u64,
    /// Whether it has ended, but for what main does at the end of the process.
    pub over: bool,
    /// Whether it was detached by an operation, not from the start.
    pub was_detached: bool,
    /// Whether another thread has sent it a signal, which is not delivered.
    pub signalled: bool,
    /// Whether main, which has ended, has seen its end.
    pub outlived: bool,
    /// Whether it has said, since its last transition, that others may go first: it has yielded, slept, timed out or looked at the time.
    pub polite: bool,
    /// Calls since its last transition by which it lets others go first.
    pub idle_calls: u32,
    /// Transitions in a row that were polite and no progress.
    pub stalled: u16,
    /// Clock readings since it last made progress.
    pub readings: u32,
    /// Keys for thread-specific data that it has created.
    pub keys: u32,
    /// Random words that it has been given.
    pub chances: u32,
    /// Whether somebody asked it to end.
    pub cancel: Cancel,
    /// What it saw when it last looked at an atomic word.
    pub look: Look,
    /// When it last stood before a lock.
    pub visit: Visit,
}

impl Private {
    /// That of a thread that has not started.
    pub const NEW: Private = Private {
        name: [0; NAME_BYTES],
        reusable: 0,
        next_reusable: 0,
        exit_pc: 0,
        exit_status: 0,
        spare_semaphore: 0,
        cleanup: 0,
        robust: 0,
        over: false,
        was_detached: false,
        signalled: false,
        outlived: false,
        polite: false,
        idle_calls: 0,
        stalled: 0,
        readings: 0,
        keys: 0,
        chances: 0,
        cancel: Cancel::NEW,
        look: Look::NONE,
        visit: Visit::NONE,
    };
}
