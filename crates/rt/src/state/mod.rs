//! All state of the runtime, in two parts.
//!
//! [`RunState`] and the tables beside it ([`run_ranges`]) are state of a run: they are restored
//! together with the program's memory. [`ProcessState`] belongs to the process and is never
//! restored.

mod process_state;
mod run_state;
pub mod thread_private;

use core::cell::UnsafeCell;

use raddle_vocab::policy::MAX_THREADS;

pub use process_state::{Handover, PoolEntry, ProcessState};
pub use run_state::{AnnouncedOp, Fiber, ReadySet, RunState, ThreadStatus, WaitStage};
pub use thread_private::UpdateDetail;

use crate::interpose::io::{net, overlay};
use crate::interpose::thread::affinity::{Affinity, NOT_ASKED};
use crate::interpose::thread::keys::Keys;
use crate::sched::timeouts::View;
use crate::spinloop::locked_poll::LockPoll;
use crate::spinloop::loop_head::{LoopCandidates, NO_READ_SITES, ReadSites};
use crate::state_key::Entry;
use crate::trace::faults::FaultedAccess;

/// A static that only the one running fiber accesses.
#[repr(C, align(4096))]
pub struct Global<T>(UnsafeCell<T>);

// SAFETY: rule 4 of the crate: one kernel thread runs all fibers, so there is never a second access
// at the same time. The parked kernel threads of the pool access `ProcessState` only before they
// report that they are parked.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// A static with this value at the start.
    pub const fn new(value: T) -> Self {
        Global(UnsafeCell::new(value))
    }

    /// The address, for the snapshot's bookkeeping.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}

static RUN: Global<RunState> = Global::new(RunState::new());
static PROCESS: Global<ProcessState> = Global::new(ProcessState::new());

/// The state of the run, part of what a snapshot restores.
///
/// Callers keep the reference for as short as possible and never across a switch of fibers.
#[inline(always)]
pub fn run() -> &'static mut RunState {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *RUN.get() }
}

static LOOP_CANDIDATES: Global<[LoopCandidates; MAX_THREADS]> =
    Global::new([const { LoopCandidates::new() }; MAX_THREADS]);

/// Possible loop heads of a thread; part of the state of the run.
#[inline(always)]
pub fn loop_candidates(tid: usize) -> &'static mut LoopCandidates {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*LOOP_CANDIDATES.get())[tid] }
}

static LOCK_POLLS: Global<[LockPoll; MAX_THREADS]> = Global::new([const { LockPoll::NONE }; MAX_THREADS]);

/// What a thread has read since it last stopped before a lock; part of the state of the run.
pub fn lock_polls(tid: usize) -> &'static mut LockPoll {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*LOCK_POLLS.get())[tid] }
}

static READ_SITES: Global<[ReadSites; MAX_THREADS]> = Global::new([NO_READ_SITES; MAX_THREADS]);

/// Sites of a thread's last reads; part of the state of the run.
#[inline(always)]
pub fn read_sites(tid: usize) -> &'static mut ReadSites {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*READ_SITES.get())[tid] }
}

static KEYS: Global<Keys> = Global::new(Keys::new());

/// Keys and values of thread-specific data; part of the state of the run.
pub fn keys() -> &'static mut Keys {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *KEYS.get() }
}

static VIEWS: Global<[View; MAX_THREADS]> = Global::new([View::NONE; MAX_THREADS]);

/// What a thread's registers and stack held when it last entered a timed wait; part of the state of
/// the run.
pub fn views(tid: usize) -> &'static mut View {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*VIEWS.get())[tid] }
}

static ENTRIES: Global<[Entry; MAX_THREADS]> = Global::new([Entry::NONE; MAX_THREADS]);

/// How a thread entered the runtime for the operation that it is before; part of the state of the
/// run.
pub fn entries(tid: usize) -> &'static mut Entry {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*ENTRIES.get())[tid] }
}

/// Accesses of a thread that have faulted, whose handlers have not returned: the last ones.
type FaultedAccesses = [FaultedAccess; 4];

static FAULTED: Global<[FaultedAccesses; MAX_THREADS]> = Global::new([[FaultedAccess::NONE; 4]; MAX_THREADS]);

/// Accesses of a thread that have faulted; part of the state of the run.
pub fn faulted(tid: usize) -> &'static mut FaultedAccesses {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*FAULTED.get())[tid] }
}

static AFFINITIES: Global<[Affinity; MAX_THREADS]> = Global::new([NOT_ASKED; MAX_THREADS]);

/// Processors that a thread asked for; part of the state of the run.
pub fn affinities(tid: usize) -> &'static mut Affinity {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*AFFINITIES.get())[tid] }
}

/// The state of the process.
#[inline(always)]
pub fn process() -> &'static mut ProcessState {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *PROCESS.get() }
}

/// Whether the host is in control. False before start and in a program that runs without raddle.
#[inline(always)]
pub fn controlled() -> bool {
    run().hot.controlled
}

/// Where the state of the run is, for a debugger.
pub const fn run_pointer() -> *const RunState {
    RUN.get()
}

/// Address and size of what belongs to the run and holds nothing that the program can notice.
pub fn runtime_ranges() -> [(usize, usize); 10] {
    let [sockets, bytes] = net::ranges();
    [
        (RUN.get() as usize, size_of_val(&RUN)),
        (LOOP_CANDIDATES.get() as usize, size_of_val(&LOOP_CANDIDATES)),
        (LOCK_POLLS.get() as usize, size_of_val(&LOCK_POLLS)),
        (READ_SITES.get() as usize, size_of_val(&READ_SITES)),
        (VIEWS.get() as usize, size_of_val(&VIEWS)),
        (ENTRIES.get() as usize, size_of_val(&ENTRIES)),
        (FAULTED.get() as usize, size_of_val(&FAULTED)),
        overlay::range(),
        sockets,
        bytes,
    ]
}

/// Address and size of everything that belongs to the run, for the snapshot.
pub fn run_ranges() -> [(usize, usize); 12] {
    let [sockets, bytes] = net::ranges();
    [
        (RUN.get() as usize, size_of_val(&RUN)),
        (LOOP_CANDIDATES.get() as usize, size_of_val(&LOOP_CANDIDATES)),
        (LOCK_POLLS.get() as usize, size_of_val(&LOCK_POLLS)),
        (READ_SITES.get() as usize, size_of_val(&READ_SITES)),
        (KEYS.get() as usize, size_of_val(&KEYS)),
        (VIEWS.get() as usize, size_of_val(&VIEWS)),
        (AFFINITIES.get() as usize, size_of_val(&AFFINITIES)),
        (ENTRIES.get() as usize, size_of_val(&ENTRIES)),
        (FAULTED.get() as usize, size_of_val(&FAULTED)),
        overlay::range(),
        sockets,
        bytes,
    ]
}
