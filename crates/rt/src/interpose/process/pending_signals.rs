//! Signals that were sent and have not arrived. The kernel sees one thread where the program has
//! many, so it cannot keep them: signals to a thread that has blocked them are kept here, by thread,
//! and signals to a process whose threads all have, for the process.
//!
//! Sending such a signal and taking it are transitions on one object, so every order of them is
//! explored. Three things are not, and are named:
//! - a signal to another thread that has not blocked it: its handler could run anywhere;
//! - a signal that is used so while a thread blocks or unblocks it;
//! - a signal of the real-time kind that is sent again before it was taken.

use raddle_vocab::io::SIGNALS;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::{export, hook};
use crate::interpose::process::signal_masks::{self, all_block, bit, is_alive, make_room_for_frame};
use crate::interpose::process::{shared_state, timers};
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{self, syscall};

real! { hidden:
    fn raise(signal: i32) -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn getpid() -> i32;
    fn signalfd(descriptor: i32, set: *const u64, flags: i32) -> i32;
}

/// The first signal that the kernel queues: it arrives as often as it was sent.
const FIRST_QUEUED: i32 = 34;

/// Signals in a run, apart from those that are pending for a thread.
pub struct Signals {
    /// Those that are pending for the process, a bit each.
    pending: u64,
    /// Those of them that a timer has sent.
    by_timer: u64,
    /// Those that one thread has sent to others, or a timer sends.
    used: u64,
    /// Those that a thread has blocked or unblocked while there were others.
    remasked: u64,
    /// Whether the program reads signals from a descriptor, so that the kernel has to keep them.
    by_descriptor: bool,
}

impl Signals {
    /// None.
    pub const NONE: Signals = Signals { pending: 0, by_timer: 0, used: 0, remasked: 0, by_descriptor: false };

    /// Whether any were used.
    pub fn is_used(&self) -> bool {
        self.pending | self.used | self.remasked != 0 || self.by_descriptor
    }
}

/// The running thread changes or looks at what is pending, or what may become so.
pub fn touch(arg: u64, pc: u64) {
    if run().threads > 1 {
        sched::perform(AnnouncedOp::new(OpKind::Io, SIGNALS, arg, pc), Outcome::Done, 0, 0);
    }
}

/// Notes that other threads, or timers, send the signal.
pub fn note_use(signal: i32) {
    run().signals.used |= bit(signal);
    name_if_remasked();
}

/// Notes that the running thread blocks or unblocks the signals.
pub fn note_remasked(signals: u64) {
    if run().threads > 1 {
        run().signals.remasked |= signals;
        name_if_remasked();
    }
}

/// Where a signal arrives depends on when it is blocked, and these orders are not explored.
fn name_if_remasked() {
    let signals = &run().signals;
    if signals.used & signals.remasked != 0 {
        note_limit(limit::TIMER);
    }
}

/// Makes the signal pending, for a thread or for the process.
fn keep(signal: i32, tid: Option<usize>) {
    let pending = match tid {
        Some(tid) => &mut run().fibers[tid].private.pending_signals,
        None => &mut run().signals.pending,
    };
    let was = core::mem::replace(pending, *pending | bit(signal)) & bit(signal) != 0;
    if was && signal >= FIRST_QUEUED {
        note_limit(limit::TIMER);
    }
    if run().signals.by_descriptor {
        // It would still be pending in the next run.
        crate::restore::undo::needs_own_process();
        // SAFETY: the running thread blocks the signal, or another one does.
        unsafe { syscall!(libc::SYS_kill, syscall!(libc::SYS_getpid), signal) };
    }
    sched::changed(SIGNALS);
}

/// A timer makes the signal pending for the process.
pub fn keep_of_timer(signal: i32) {
    run().signals.by_timer |= bit(signal);
    keep(signal, None);
}

/// Sends a signal to the running thread: it arrives at once, unless the thread has blocked it.
pub fn to_self(signal: i32, pc: u64) -> i32 {
    let own = usize::from(run().hot.tid);
    if signal_masks::blocks(own, signal) {
        keep(signal, Some(own));
        return 0;
    }
    shared_state::gets_signal(signal, pc);
    make_room_for_frame();
    // SAFETY: sends the signal to this thread.
    unsafe { hidden::raise(signal) }
}

/// Sends a signal to a thread that has not ended.
pub fn to_thread(tid: usize, signal: i32, pc: u64) -> i32 {
    if !(1..=64).contains(&signal) {
        return libc::EINVAL;
    }
    if tid == usize::from(run().hot.tid) {
        to_self(signal, pc);
        return 0;
    }
    note_use(signal);
    // Who sends a signal learns nothing of other senders.
    touch(io::BLIND, pc);
    if signal_masks::blocks(tid, signal) {
        keep(signal, Some(tid));
    } else {
        note_limit(limit::TIMER);
        run().fibers[tid].private.signalled = true;
    }
    0
}

/// Sends a signal to the process.
fn to_process(signal: i32, pc: u64) -> i32 {
    let own = usize::from(run().hot.tid);
    let is_handled = run().handlers[signal as usize].handler > libc::SIG_IGN;
    if run().threads > 1 {
        note_use(signal);
        touch(io::BLIND, pc);
    }
    if all_block(signal) {
        keep(signal, None);
        return 0;
    }
    let others = || (0..run().threads).filter(|&tid| tid != own && is_alive(tid) && !signal_masks::blocks(tid, signal));
    if is_handled && others().next().is_some() {
        note_limit(limit::TIMER);
    }
    if signal_masks::blocks(own, signal) {
        if is_handled {
            for tid in others() {
                run().fibers[tid].private.signalled = true;
            }
            return 0;
        }
        // The default action is one of the process, whichever thread gets the signal.
        signal_masks::unblock_in_kernel(signal);
    }
    shared_state::gets_signal(signal, pc);
    make_room_for_frame();
    // SAFETY: sends the signal to this process.
    unsafe { hidden::kill(hidden::getpid(), signal) }
}

/// Signals that are pending for the thread, here or in the kernel.
fn pending(tid: usize) -> u64 {
    let mut kernel = 0u64;
    // SAFETY: asks for the pending signals, into the local.
    unsafe { syscall!(libc::SYS_rt_sigpending, &raw mut kernel, 8usize) };
    run().fibers[tid].private.pending_signals | run().signals.pending | kernel
}

/// Whether the thread, which waits for signals, can go on: one is pending, or a timer can send it.
pub fn can_take(tid: usize) -> bool {
    let wanted = run().fibers[tid].private.awaited_signals;
    pending(tid) & wanted != 0 || timers::may_send(wanted)
}

/// Waits until one of the signals is pending or can become so; does not wait if `never_waits`.
pub fn wait(wanted: u64, never_waits: bool, pc: u64) {
    run().me().private.awaited_signals = wanted;
    let events = if never_waits { 0 } else { io::WAITS_FOR_SIGNAL };
    sched::perform(AnnouncedOp::new(OpKind::Io, SIGNALS, io::waits_for(0, events), pc), Outcome::Done, 0, 0);
    timers::observe();
}

/// Takes a pending signal, of those wanted: the least one for the thread, or else for the process.
/// If there is none, and `waits`, a timer sends it.
pub fn take(wanted: u64, waits: bool) -> Option<libc::siginfo_t> {
    let least = |set: u64| (set != 0).then(|| set.trailing_zeros() as i32 + 1);
    let own = run().me().private.pending_signals & wanted;
    if (own | run().signals.pending) & wanted == 0 {
        if let Some(info) = take_from_kernel(wanted) {
            return Some(info);
        }
        if waits {
            timers::send_one(wanted);
        } else if timers::may_send(wanted) {
            note_limit(limit::TIMER);
        }
    } else if timers::may_send(wanted) {
        // It may have gone off before, and then another signal would be the least.
        note_limit(limit::TIMER);
    }
    let (signal, code) = match (least(own), least(run().signals.pending & wanted)) {
        (Some(signal), _) => {
            run().me().private.pending_signals &= !bit(signal);
            // The C library says the same of signals to a thread and to the process.
            (signal, libc::SI_USER)
        }
        (None, Some(signal)) => {
            let signals = &mut run().signals;
            signals.pending &= !bit(signal);
            let is_timer = signals.by_timer & bit(signal) != 0;
            signals.by_timer &= !bit(signal);
            (signal, if is_timer { libc::SI_KERNEL } else { libc::SI_USER })
        }
        (None, None) => return None,
    };
    Some(description(signal, code))
}

fn take_from_kernel(wanted: u64) -> Option<libc::siginfo_t> {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: all-zero is a valid value.
    let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
    // SAFETY: the operands are locals; does not wait.
    let taken =
        unsafe { syscall!(libc::SYS_rt_sigtimedwait, &raw const wanted, &raw mut info, &raw const at_once, 8usize) };
    (taken > 0).then_some(info)
}

/// The description of a signal that this process has sent to itself.
fn description(signal: i32, code: i32) -> libc::siginfo_t {
    /// Sender and its user, behind three numbers and a gap.
    const SENDER: usize = 4;
    // SAFETY: all-zero is a valid value.
    let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
    (info.si_signo, info.si_code) = (signal, code);
    if code != libc::SI_KERNEL {
        let words = (&raw mut info).cast::<i32>();
        // SAFETY: the description has 32 words.
        unsafe {
            *words.add(SENDER) = process().pid;
            *words.add(SENDER + 1) = syscall::call(libc::SYS_getuid, [0; 6]) as i32;
        }
    }
    info
}

/// Delivers signals to the running thread that are pending and no longer blocked.
pub fn deliver_due() {
    loop {
        let me = run().me();
        let due = (me.private.pending_signals | run().signals.pending) & !me.blocked;
        if due == 0 {
            return;
        }
        let signal = due.trailing_zeros() as i32 + 1;
        if me.private.pending_signals & bit(signal) != 0 {
            me.private.pending_signals &= !bit(signal);
        } else {
            run().signals.pending &= !bit(signal);
        }
        make_room_for_frame();
        // SAFETY: sends the signal to this thread.
        unsafe { hidden::raise(signal) };
    }
}

/// Bytes of a set of signals that are used.
pub const SET: usize = 8;

extern "C" fn get_pending(set: *mut u64, pc: u64) -> i32 {
    crate::interpose::buffers::writes(set as usize, SET, pc);
    crate::restore::snapshot::touch(set.cast(), size_of::<libc::sigset_t>());
    let mut found = 0u64;
    if controlled() {
        touch(io::OBSERVES, pc);
        if timers::may_send(u64::MAX) {
            note_limit(limit::TIMER);
        }
        found = pending(usize::from(run().hot.tid)) & run().me().blocked;
    } else {
        // SAFETY: asks for the pending signals, into the local.
        unsafe { syscall!(libc::SYS_rt_sigpending, &raw mut found, SET) };
    }
    // SAFETY: the caller passes room for a set.
    unsafe { *set = found };
    0
}

extern "C" fn raise(signal: i32, pc: u64) -> i32 {
    if controlled() && (1..=64).contains(&signal) {
        return to_self(signal, pc);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::raise(signal) }
}

extern "C" fn kill(number: i32, signal: i32, pc: u64) -> i32 {
    let own = controlled() && number == process().pid;
    if own && (1..=64).contains(&signal) {
        return to_process(signal, pc);
    }
    // SAFETY: no preconditions.
    let number = if own { unsafe { hidden::getpid() } } else { number };
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::kill(number, signal) }
}

/// The kernel has to keep the signals that it shall report by a descriptor. What happens by it is not
/// explored.
extern "C" fn make_descriptor(descriptor: i32, set: *const u64, flags: i32, _pc: u64) -> i32 {
    if controlled() {
        note_limit(limit::TIMER);
        run().signals.by_descriptor = true;
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::signalfd(descriptor, set, flags) }
}

export!(raise, 1 => raise);
export!(gsignal, 1 => raise);
export!(kill, 2 => kill);
export!(sigpending, 1 => get_pending);
hook!(signalfd, 3 => make_descriptor);
