//! Signals that were sent and have not arrived. The kernel sees one thread where the program has
//! many, so it cannot keep them: signals to a thread that has blocked them are kept here, by
//! thread, and signals to a process whose threads all have, for the process.
//!
//! Sending such a signal and taking it are transitions on one object, so every order of them is
//! explored. So is blocking and unblocking signals, in a program whose handlers may run at any
//! moment; a signal that is not blocked where it goes to has a courier there ([`couriers`]). In
//! other programs two things are not explored, and are named:
//! - a signal to another thread that has not blocked it;
//! - a signal that is used so while a thread blocks or unblocks it.
//!
//! A signal that is sent again before it was taken is one, unless it is of the real-time kind:
//! those arrive as often as they were sent, in that order.

use raddle_vocab::io::SIGNALS;
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::{export, hook};
use crate::interpose::process::couriers::{self, Errand, Serial};
use crate::interpose::process::signal_masks::{self, all_block, bit, make_room_for_frame};
use crate::interpose::process::{handlers, shared_state, timers};
use crate::interpose::thread::identity;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, ThreadStatus, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{self, set_errno, syscall};

real! { hidden:
    fn raise(signal: i32) -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn getpid() -> i32;
    fn signalfd(descriptor: i32, set: *const u64, flags: i32) -> i32;
    fn sigqueue(process: i32, signal: i32, value: usize) -> i32;
    fn pthread_sigqueue(thread: u64, signal: i32, value: usize) -> i32;
    fn tgkill(process: i32, thread: i32, signal: i32) -> i32;
}

/// The first signal that the kernel queues: it arrives as often as it was sent.
const FIRST_QUEUED: i32 = 34;

/// Signals that can be pending at once.
const MOST: usize = 64;

/// A signal that was sent and has not arrived.
#[derive(Clone, Copy)]
pub struct Sent {
    /// Which.
    pub signal: i32,
    /// The thread that it is for; `None` for the process.
    pub target: Option<u16>,
    /// Its number among all that were sent.
    pub serial: u32,
    /// Whether there is a courier for it.
    pub has_courier: bool,
    /// What the description says of its source.
    pub code: i32,
    /// The value that was sent with it.
    pub value: usize,
}

/// Signals in a run, apart from those that are pending for a thread.
pub struct Signals {
    /// Those that are pending for the process, a bit each.
    pending: u64,
    /// All that are pending, for a thread or for the process, in the order in which they were sent.
    queue: [Option<Sent>; MOST],
    /// How many were sent.
    sent: u32,
    /// Those that one thread has sent to others, or a timer sends.
    used: u64,
    /// Those that a thread has blocked or unblocked while there were others.
    remasked: u64,
    /// Whether the program reads signals from a descriptor, so that the kernel has to keep them.
    by_descriptor: bool,
}

impl Signals {
    /// None.
    pub const NONE: Signals =
        Signals { pending: 0, queue: [None; MOST], sent: 0, used: 0, remasked: 0, by_descriptor: false };

    /// Whether any were used.
    pub fn is_used(&self) -> bool {
        self.pending | self.used | self.remasked != 0 || self.by_descriptor || self.sent > 0
    }

    /// Adds one at the end. False if there is no room.
    fn push(&mut self, new: Sent) -> bool {
        match self.queue.iter_mut().find(|place| place.is_none()) {
            Some(place) => {
                *place = Some(new);
                true
            }
            None => false,
        }
    }

    /// Takes out the one at this place, and moves up what is behind it.
    fn remove(&mut self, at: usize) -> Option<Sent> {
        let sent = self.queue[at].take();
        self.queue[at..].rotate_left(1);
        sent
    }

    fn position(&self, is_it: impl Fn(&Sent) -> bool) -> Option<usize> {
        self.queue.iter().position(|sent| sent.as_ref().is_some_and(&is_it))
    }

    /// Whether the signal with this number among all is pending, and is the first of its kind.
    pub fn is_next(&self, signal: i32, number: u32) -> bool {
        let Some(at) = self.position(|sent| sent.serial == number) else { return false };
        let target = self.queue[at].and_then(|sent| sent.target);
        self.position(|sent| (sent.signal, sent.target) == (signal, target)) == Some(at)
    }

    /// Notes that a courier is on its way with the signal.
    pub fn note_courier(&mut self, serial: u32) {
        for sent in self.queue.iter_mut().flatten().filter(|sent| sent.serial == serial) {
            sent.has_courier = true;
        }
    }

    /// Takes out the signal with this number.
    pub fn remove_number(&mut self, number: u32) -> Option<Sent> {
        let sent = self.remove(self.position(|sent| sent.serial == number)?)?;
        unmark(&sent);
        Some(sent)
    }

    /// A signal for the thread, of those wanted, that no courier delivers.
    pub fn without_courier(&self, tid: usize, wanted: u64) -> Option<Sent> {
        let is_it = |sent: &Sent| {
            sent.target.is_none_or(|target| usize::from(target) == tid)
                && wanted & bit(sent.signal) != 0
                && !sent.has_courier
        };
        self.position(is_it).and_then(|at| self.queue[at])
    }
}

/// A signal has left the queue: it is no longer pending, unless there is another one.
fn unmark(sent: &Sent) {
    let is_same = |other: &Sent| (other.signal, other.target) == (sent.signal, sent.target);
    if run().signals.position(is_same).is_none() {
        *pending_set(sent.target) &= !bit(sent.signal);
    }
}

/// What is pending for a thread, or for the process.
fn pending_set(target: Option<u16>) -> &'static mut u64 {
    match target {
        Some(tid) => &mut run().fibers[usize::from(tid)].private.pending_signals,
        None => &mut run().signals.pending,
    }
}

/// The running thread changes or looks at what is pending, or what may become so.
pub fn touch(arg: u64, pc: u64) {
    if run().threads > 1 {
        sched::perform(AnnouncedOp::new(OpKind::Io, SIGNALS, arg, pc), Outcome::Done, 0, 0);
    }
}

/// Which threads there are to take a signal to the process is looked at in the same transition.
pub const SEES_TAKERS: u64 = io::and(io::TAKERS) | io::SECOND_OBSERVES;

/// Notes that other threads, or timers, send the signal.
pub fn note_use(signal: i32) {
    run().signals.used |= bit(signal);
    name_if_remasked();
}

/// Notes that the running thread blocks or unblocks the signals.
pub fn note_remasked(signals: u64) {
    if run().threads > 1 && !couriers::in_use() {
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

/// Makes the signal pending, for a thread or for the process. Its number, unless it is one with a
/// signal that is pending already.
fn keep(signal: i32, target: Option<u16>, (code, value): (i32, usize)) -> Result<Option<u32>, i32> {
    let pending = pending_set(target);
    let was = core::mem::replace(pending, *pending | bit(signal)) & bit(signal) != 0;
    if was && signal < FIRST_QUEUED {
        return Ok(None);
    }
    let signals = &mut run().signals;
    signals.sent += 1;
    let sent = Sent { signal, target, serial: signals.sent, has_courier: false, code, value };
    if !signals.push(sent) {
        note_limit(limit::TIMER);
        return Err(libc::EAGAIN);
    }
    if run().signals.by_descriptor {
        // It would still be pending in the next run.
        crate::restore::undo::needs_own_process();
        // SAFETY: the running thread blocks the signal, or another one does.
        unsafe { syscall!(libc::SYS_kill, syscall!(libc::SYS_getpid), signal) };
    }
    sched::changed(SIGNALS);
    Ok(Some(run().signals.sent))
}

/// Makes a signal of a crash pending for the running thread, which has blocked it.
pub fn keep_for_self(signal: i32) {
    // What cannot be kept is lost, which is named.
    let _ = keep(signal, Some(couriers::self_id()), (libc::SI_USER, 0));
}

/// A timer makes the signal pending for the process.
pub fn keep_of_timer(signal: i32) {
    // What cannot be kept is lost, which is named.
    let _ = keep(signal, None, (libc::SI_KERNEL, 0));
}

/// Sends a signal to the running thread: it arrives at once, unless the thread has blocked it.
pub fn to_self(signal: i32, pc: u64) -> i32 {
    send_to_self(signal, (libc::SI_TKILL, 0), pc)
}

fn send_to_self(signal: i32, about: (i32, usize), pc: u64) -> i32 {
    let own = usize::from(run().hot.tid);
    if signal_masks::blocks(own, signal) {
        return keep(signal, Some(couriers::self_id()), about).err().unwrap_or(0);
    }
    if couriers::in_use() {
        touch(io::BLIND, pc);
    }
    let (code, value) = about;
    arrive(&Sent { signal, target: None, serial: 0, has_courier: false, code, value }, pc);
    0
}

/// The signal arrives at the running thread, which has not blocked it and has just touched what is
/// pending: there its handler begins to block signals.
fn arrive(sent: &Sent, pc: u64) {
    let before = run().me().blocked;
    let by_handler = handlers::blocked_by_handler(run().handlers[sent.signal as usize], sent.signal);
    run().me().blocked = signal_masks::blockable(before | by_handler);
    shared_state::gets_signal(sent.signal, pc);
    run().me().blocked = before;
    signal_masks::apply();
    arrive_now(sent);
}

/// The kernel delivers the signal to the running thread, which has not blocked it.
fn arrive_now(sent: &Sent) {
    let info = describe(sent);
    make_room_for_frame();
    // SAFETY: sends the signal to this kernel thread, with a description that is a local.
    unsafe {
        let (process, thread) = (syscall!(libc::SYS_getpid), syscall!(libc::SYS_gettid));
        syscall!(libc::SYS_rt_tgsigqueueinfo, process, thread, sent.signal, &raw const info);
    }
}

/// Sends a signal to a thread that has not ended; an error number.
pub fn to_thread(tid: usize, signal: i32, pc: u64) -> i32 {
    send_to_thread(tid, signal, (libc::SI_TKILL, 0), pc)
}

/// The same, with a value.
pub fn send_to_thread(tid: usize, signal: i32, about: (i32, usize), pc: u64) -> i32 {
    if !(1..=64).contains(&signal) {
        return libc::EINVAL;
    }
    if tid == usize::from(couriers::self_id()) {
        return send_to_self(signal, about, pc);
    }
    note_use(signal);
    // Who sends a signal learns nothing of other senders.
    touch(io::BLIND, pc);
    if signal_masks::blocks_for_sender(tid, signal) {
        return keep(signal, Some(tid as u16), about).err().unwrap_or(0);
    }
    if handlers::is_ignored(signal) {
        return 0;
    }
    if run().handlers[signal as usize].handler <= libc::SIG_IGN {
        return end_process_by(signal, pc);
    }
    if !couriers::in_use() {
        note_limit(limit::TIMER);
        run().fibers[tid].private.signalled = true;
        return 0;
    }
    match keep(signal, Some(tid as u16), about) {
        Ok(Some(serial)) => {
            couriers::send(Errand { signal, target: tid as u16, serial: Serial::Sent(serial) }, pc);
            0
        }
        Ok(None) => 0,
        Err(code) => code,
    }
}

/// The default action of a signal is one of the process, whichever thread gets it.
fn end_process_by(signal: i32, pc: u64) -> i32 {
    shared_state::gets_signal(signal, pc);
    signal_masks::unblock_in_kernel(signal);
    make_room_for_frame();
    // SAFETY: sends the signal to this process.
    unsafe { hidden::kill(hidden::getpid(), signal) };
    0
}

/// The threads that can take the signal, and how many they are.
pub fn takers(signal: i32) -> ([u16; MAX_THREADS], usize) {
    let (mut all, mut count) = ([0u16; MAX_THREADS], 0);
    let is_one = |&tid: &usize| {
        signal_masks::is_alive(tid) && !couriers::is_foreign(tid) && !signal_masks::blocks_for_sender(tid, signal)
    };
    for tid in (0..run().threads).filter(is_one) {
        all[count] = tid as u16;
        count += 1;
    }
    (all, count)
}

/// Sends a signal to the process; an error number.
fn to_process(signal: i32, about: (i32, usize), pc: u64) -> i32 {
    let own = usize::from(couriers::self_id());
    if run().threads > 1 {
        note_use(signal);
        touch(io::BLIND | SEES_TAKERS, pc);
    }
    if all_block(signal) {
        return keep(signal, None, about).err().unwrap_or(0);
    }
    if handlers::is_ignored(signal) {
        return 0;
    }
    if run().handlers[signal as usize].handler <= libc::SIG_IGN {
        return end_process_by(signal, pc);
    }
    let (takers, count) = takers(signal);
    if takers[..count] == [own as u16] {
        // No other thread can take it, so it arrives before the call returns.
        return send_to_self(signal, about, pc);
    }
    if !couriers::in_use() {
        note_limit(limit::TIMER);
        for &tid in takers[..count].iter().filter(|&&tid| usize::from(tid) != own) {
            run().fibers[usize::from(tid)].private.signalled = true;
        }
        return if couriers::accepts(own, signal) { send_to_self(signal, about, pc) } else { 0 };
    }
    match keep(signal, None, about) {
        Ok(Some(serial)) => {
            for &target in &takers[..count] {
                couriers::send(Errand { signal, target, serial: Serial::Sent(serial) }, pc);
            }
            0
        }
        Ok(None) => 0,
        Err(code) => code,
    }
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
    let private = &run().fibers[tid].private;
    if private.awaits_timers {
        return !timers::is_any_due(run().fibers[tid].clock);
    }
    let wanted = private.awaited_signals;
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
    let own = *pending_set(Some(couriers::self_id())) & wanted;
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
    let (signal, target) = match (least(own), least(run().signals.pending & wanted)) {
        (Some(signal), _) => (signal, Some(couriers::self_id())),
        (None, Some(signal)) => (signal, None),
        (None, None) => return None,
    };
    // The C library says the same of signals to a thread and to the process.
    let code = |code: i32| if code == libc::SI_TKILL { libc::SI_USER } else { code };
    remove_first(signal, target).map(|sent| describe(&Sent { code: code(sent.code), ..sent }))
}

/// Takes out the first signal of this number that is pending for the thread, or for the process.
fn remove_first(signal: i32, target: Option<u16>) -> Option<Sent> {
    let at = run().signals.position(|sent| (sent.signal, sent.target) == (signal, target));
    let sent = at.and_then(|at| run().signals.remove(at));
    match &sent {
        Some(sent) => unmark(sent),
        None => *pending_set(target) &= !bit(signal),
    }
    sent
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
pub fn describe(sent: &Sent) -> libc::siginfo_t {
    /// Sender and its user, behind three numbers and a gap; a value follows.
    const SENDER: usize = 4;
    // SAFETY: all-zero is a valid value.
    let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
    (info.si_signo, info.si_code) = (sent.signal, sent.code);
    let words = (&raw mut info).cast::<i32>();
    if !matches!(sent.code, libc::SI_KERNEL | libc::SI_TIMER) {
        // SAFETY: the description has 32 words.
        unsafe {
            *words.add(SENDER) = process().pid;
            *words.add(SENDER + 1) = syscall::call(libc::SYS_getuid, [0; 6]) as i32;
        }
    }
    if matches!(sent.code, libc::SI_QUEUE | libc::SI_TIMER) {
        // SAFETY: as above.
        unsafe { *words.add(SENDER + 2).cast::<usize>() = sent.value };
    }
    info
}

/// Delivers signals to the running thread that are pending and no longer blocked.
pub fn deliver_due() {
    loop {
        let target = couriers::self_id();
        let own = *pending_set(Some(target));
        let due = (own | run().signals.pending) & !run().me().blocked;
        if due == 0 || run().me().private.errand.is_some_and(|_| run().me().private.acts_for.is_none()) {
            return;
        }
        let signal = due.trailing_zeros() as i32 + 1;
        let from = (own & bit(signal) != 0).then_some(target);
        let Some(sent) = remove_first(signal, from) else { continue };
        if !handlers::is_ignored(signal) {
            arrive(&sent, run().me().pending.pc);
        }
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
        found = pending(usize::from(couriers::self_id())) & run().me().blocked;
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
        return as_result(to_process(signal, (libc::SI_USER, 0), pc));
    }
    // SAFETY: no preconditions.
    let number = if own { unsafe { hidden::getpid() } } else { number };
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::kill(number, signal) }
}

/// An error number as functions outside of the thread library return it.
fn as_result(code: i32) -> i32 {
    if code == 0 {
        return 0;
    }
    set_errno(code);
    -1
}

extern "C" fn queue_to_process(number: i32, signal: i32, value: usize, pc: u64) -> i32 {
    let own = controlled() && number == process().pid;
    if own && (0..=64).contains(&signal) {
        return if signal == 0 { 0 } else { as_result(to_process(signal, (libc::SI_QUEUE, value), pc)) };
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::sigqueue(number, signal, value) }
}

extern "C" fn queue_to_thread(handle: u64, signal: i32, value: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_sigqueue(handle, signal, value) };
    }
    let Some(tid) = identity::thread(handle, pc) else { return libc::ESRCH };
    if signal == 0 || !couriers::in_use() && run().fibers[tid].status == ThreadStatus::Ended {
        return 0;
    }
    send_to_thread(tid, signal, (libc::SI_QUEUE, value), pc)
}

extern "C" fn kill_by_number(group: i32, number: i32, signal: i32, pc: u64) -> i32 {
    if !controlled() || group != process().pid {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::tgkill(group, number, signal) };
    }
    match identity::by_number(number) {
        Some(tid) if signal == 0 || !couriers::in_use() && run().fibers[tid].status == ThreadStatus::Ended => 0,
        Some(tid) => as_result(to_thread(tid, signal, pc)),
        None => as_result(libc::ESRCH),
    }
}

/// The kernel has to keep the signals that it shall report by a descriptor. What happens by it is
/// not explored.
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
export!(sigqueue, 3 => queue_to_process);
export!(pthread_sigqueue, 3 => queue_to_thread);
export!(tgkill, 3 => kill_by_number);
export!(sigpending, 1 => get_pending);
hook!(signalfd, 3 => make_descriptor);
