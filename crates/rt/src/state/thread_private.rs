//! What the runtime keeps for each thread beside its place in the schedule.

use crate::interpose::io::net::party::PartyWait;
use crate::interpose::io::slots::LookUp;
use crate::interpose::io::traversal::Traversal;
use crate::interpose::process::couriers::{Errand, InterruptibleCall};
use crate::interpose::process::settings::ThreadSettings;
use crate::interpose::thread::cancel::Cancel;
use crate::interpose::thread::schedule::Scheduling;
use crate::sched::counted_rounds::Rounds;
use crate::spinloop::awaits;
use crate::spinloop::libstdcxx_spin::LastPoll;
use crate::spinloop::locked_poll::LockVisit;

/// Bytes of a thread's name, the zero at the end included.
pub const NAME_BYTES: usize = 16;

/// What an atomic operation is beside what is announced of it.
#[derive(Clone, Copy)]
pub struct UpdateDetail {
    /// How it combines, or its orders: [`raddle_vocab::update`].
    pub how: u8,
    /// What it combines with, or stores.
    pub operand: u64,
}

impl UpdateDetail {
    /// That of a load or a store.
    pub const NONE: UpdateDetail = UpdateDetail { how: 0, operand: 0 };
}

/// What belongs to one thread.
#[derive(Clone, Copy)]
pub struct ThreadPrivate {
    /// Its name, zero-terminated; empty if it has none.
    pub name: [u8; NAME_BYTES],
    /// First thread that it has joined and whose slot it may use again, or 0 (the slot of main is
    /// never used again).
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
    /// Whether it is ending: its start function has returned, or its stack was unwound.
    pub ends: bool,
    /// Whether it has ended; main may still wait for the others then.
    pub over: bool,
    /// Whether it was detached by an operation, not from the start.
    pub was_detached: bool,
    /// Whether another thread has sent it a signal, which is not delivered.
    pub signalled: bool,
    /// Whether main, which has ended, has seen its end.
    pub main_saw_end: bool,
    /// Whether it has yielded, slept, timed out or read the time since its last transition: then
    /// other threads go first where there is a choice.
    pub yielded: bool,
    /// Calls since its last transition by which it yields.
    pub idle_calls: u32,
    /// How often it has slept, or a wait has timed out, since all scripted parties are done.
    pub rests: u16,
    /// Transitions in a row before which it yielded, without progress.
    pub stalled: u16,
    /// How often it was left because it had gone on for long while others could: those that were
    /// left less often go first.
    pub left: u16,
    /// Rounds without an effect since the last one that was seen to have one.
    pub idle_rounds: u16,
    /// Rounds that leave something behind.
    pub rounds: Rounds,
    /// Rounds from known places that were seen to have one.
    pub effects: u16,
    /// From how many transitions on it is watched at known places ([`crate::sched::idle_rounds`]).
    pub watch_known_from: u32,
    /// Clock readings since it last made progress.
    pub readings: u32,
    /// Clock readings.
    pub all_readings: u32,
    /// Clock readings of all threads that happen before what it does next, in the longest chain of
    /// them.
    pub readings_before: u32,
    /// Keys for thread-specific data that it has created.
    pub keys: u32,
    /// Random words that it has been given.
    pub random_words: u32,
    /// Signals that were sent to it while it had blocked them, a bit each.
    pub pending_signals: u64,
    /// Whether it waits until the timers have gone off that it has outlived.
    pub awaits_timers: bool,
    /// Whether it is in `sigsuspend`, and takes its signals by itself.
    pub suspends: bool,
    /// Signals that it waits for.
    pub awaited_signals: u64,
    /// What is blocked behind the handler that is about to begin, if that differs from what is
    /// blocked now.
    pub blocked_behind_handler: Option<u64>,
    /// Start and size of its alternate stack for signal handlers; no bytes if there is none.
    pub signal_stack: (usize, usize),
    /// Bytes below 2 GiB that its mappings have used.
    pub low_mapped_bytes: usize,
    /// Bytes of address space that its mappings of many gigabytes have used.
    pub large_mapped_bytes: usize,
    /// Whether its end was told to the host: nothing may use its stack and its thread-local storage
    /// any more.
    pub frames_are_over: bool,
    /// Descriptor that becomes readable when a signal shall end its `pause`; -1 if it is in none.
    pub pause: i32,
    /// The signal that ended it.
    pub pause_signal: i32,
    /// Last component of its spawn path.
    pub component: u32,
    /// Couriers that it has created.
    pub couriers: u32,
    /// What it delivers, if it is a courier.
    pub errand: Option<Errand>,
    /// The thread in whose place it runs a handler.
    pub acts_for: Option<u16>,
    /// The courier that runs a handler in its place.
    pub suspended_by: Option<u16>,
    /// Its own thread pointer, while it has that of another.
    pub own_thread_pointer: u64,
    /// Handlers that it is in and that may run at any moment.
    pub handlers: u32,
    /// The call in which it waits, if a handler may interrupt that.
    pub call: Option<InterruptibleCall>,
    /// Whether a handler has.
    pub interrupted: bool,
    /// The `std::thread` whose thread it is about to join, and where it called that; 0 if there is
    /// none.
    pub joins: (usize, u64),
    /// Requests for its cancellation.
    pub cancel: Cancel,
    /// What the atomic operation is, beside what is announced of it, that it stands before or has
    /// made last; where stores are kept.
    pub detail: UpdateDetail,
    /// What it found when the host was last told that it is held before its pending operation.
    pub held: Option<u64>,
    /// Whether it may have been held there.
    pub may_spin: bool,
    /// Its last load of an atomic word.
    pub last_poll: LastPoll,
    /// Its last visit to a lock.
    pub lock_visit: LockVisit,
    /// The lock of a range of a file that it asks for, in the program's memory.
    pub lock_request: usize,
    /// The descriptor that it is about to use.
    pub look_up: LookUp,
    /// The lock of the stream that it uses in a call; 0 if it uses none.
    pub stream_lock: u64,
    /// The socket that it waits for, from 1; 0 if it waits for none.
    pub socket: u16,
    /// The scripted party that it plays, by its number among all.
    pub party: Option<u8>,
    /// Its code ([`raddle_vocab::party::Party::code`]), or 0. The commands for gdb know it.
    pub party_code: u16,
    /// What that party waits for.
    pub party_wait: PartyWait,
    /// The descriptors that it waits for in `poll`, and how many.
    pub polled: (usize, usize),
    /// Number of the descriptor that it asks about, of those of one call.
    pub asked: u8,
    /// What it has set of itself.
    pub settings: ThreadSettings,
    /// How it is scheduled, if a thread has said so.
    pub schedule: Option<Scheduling>,
    /// The call in which the C library walks through directories for it.
    pub traversal: Traversal,
}

impl ThreadPrivate {
    /// That of a thread that has not started.
    pub const NEW: ThreadPrivate = ThreadPrivate {
        name: [0; NAME_BYTES],
        reusable: 0,
        next_reusable: 0,
        exit_pc: 0,
        exit_status: 0,
        spare_semaphore: 0,
        joins: (0, 0),
        cleanup: 0,
        robust: 0,
        ends: false,
        over: false,
        was_detached: false,
        signalled: false,
        main_saw_end: false,
        yielded: false,
        idle_calls: 0,
        rests: 0,
        stalled: 0,
        left: 0,
        idle_rounds: 0,
        rounds: Rounds::NONE,
        effects: 0,
        watch_known_from: 0,
        readings: 0,
        all_readings: 0,
        readings_before: 0,
        keys: 0,
        random_words: 0,
        pending_signals: 0,
        awaits_timers: false,
        suspends: false,
        awaited_signals: 0,
        blocked_behind_handler: None,
        signal_stack: (0, 0),
        low_mapped_bytes: 0,
        large_mapped_bytes: 0,
        frames_are_over: false,
        pause: -1,
        pause_signal: 0,
        component: 0,
        couriers: 0,
        errand: None,
        acts_for: None,
        suspended_by: None,
        own_thread_pointer: 0,
        handlers: 0,
        call: None,
        interrupted: false,
        cancel: Cancel::NEW,
        detail: UpdateDetail::NONE,
        held: awaits::NOT_HELD,
        may_spin: false,
        last_poll: LastPoll::NONE,
        lock_visit: LockVisit::NONE,
        lock_request: 0,
        look_up: LookUp::NONE,
        stream_lock: 0,
        socket: 0,
        party: None,
        party_code: 0,
        party_wait: PartyWait::None,
        polled: (0, 0),
        asked: 0,
        settings: ThreadSettings::AT_START,
        schedule: None,
        traversal: Traversal::NONE,
    };
}
