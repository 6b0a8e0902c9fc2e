//! Spin loops: threads that read again and again until another thread changes what they read.
//!
//! # What is done about them
//! A thread that comes back to the same reading operation with the same registers and the same
//! stack, and has only read in between, has made no progress. Nor has one that has written what was
//! there, or has allocated blocks and freed them. The last read of that round is a
//! *failed spin round*. Such reads are remembered, by the state of the reading thread and the value
//! that it reads. From then on they are disabled: the thread stays before them until there is
//! another value to be read. So a trace contains no failed rounds, and whether a thread can step is
//! a function of the state.
//!
//! # When a round may be folded
//! **A round is folded only where it was proved that it changes nothing.** The obligation: the
//! thread is at the end of the round in the very state in which it began (registers, the whole live
//! stack, all memory that the run may write, the runtime's and the kernel's state), so it repeats
//! the round while all that it reads stays the same. The proof is one run of that round under
//! [`observation`]. What makes a round a candidate (returning to a read with the same registers and
//! the same window of the stack) proves nothing.
//!
//! # Literature
//! * Michalis Kokologiannakis, Xiaowei Ren, Viktor Vafeiadis: *Dynamic Partial Order Reductions for
//!   Spinloops*, FMCAD 2021. A failed round of a side-effect-free loop is pruned; the thread is
//!   blocked until the value changes.
//! * Bengt Jonsson, Magnus Lång, Konstantinos Sagonas: *Awaiting for Godot: Stateless Model
//!   Checking that Avoids Executions where Nothing Happens*, FMCAD 2022. A loop becomes one
//!   *await*: an operation that is enabled only while the value that it reads ends the loop.
//!
//! Deviations: loops are not found in the source or an intermediate representation but in the
//! running machine code, by comparing states; and a loop may contain data reads, tries of locks,
//! and locks that it gives back.
//!
//! # Parts
//! * [`detector`]: the state machine that recognises rounds. It learns in runs that are abandoned
//!   and restarted, with the knowledge kept in the shared file ([`knowledge`]).
//! * [`awaits`]: what the host is told of threads that are held.
//! * [`loop_head`]: the state of a thread before a read, and when two such states look the same.
//! * [`last_round`]: which threads are held for good at the end of a run.
//! * [`proof`], [`observation`]: whether a round changes nothing.
//! * [`read_set`]: the data that a thread has read since it last made progress.
//! * [`locked_poll`]: rounds of `lock; read data; unlock`.
//! * [`libstdcxx_spin`]: polls of libstdc++ before it sleeps.
//!
//! # Invariants
//! * A verdict depends on the state of the reading thread and the value only, never on the schedule
//!   that led there. So swapping independent events changes no verdict.
//! * Knowledge only grows. A search restarts when there is more of it, because an earlier run would
//!   take another course with it.
//! * No data race is hidden: a round that reads data which the thread has not read since its last
//!   progress is performed; only the next one is disabled. So is a round that writes data for the
//!   first time.
//! * Nothing that a failed round writes is seen by others: what it writes is there again at its
//!   end, and between the writes of two rounds the thread tells others nothing (no lock is given
//!   back, no atomic is written, if only with the value that it has). So any access of another
//!   thread to these bytes races with the first round.
//!
//! # What it misses
//! * A loop with more than [`loop_head::HISTORY`] reads in a round, or whose state differs from
//!   round to round in more than dead bytes (a counter), is not recognised: its rounds are explored
//!   up to the bound on events.
//! * A round that locks and gives back leaves its thread in the middle of a round, holding locks.
//!   If other threads wait for them, such an end of a run is covered by executions in which the
//!   thread begins its round later.

pub mod awaits;
pub mod detector;
pub mod knowledge;
pub mod last_round;
pub mod libstdcxx_spin;
pub mod locked_poll;
pub mod loop_head;
pub mod observation;
pub mod proof;
pub mod read_set;
