//! Condition variables. A wait is two transitions: release the mutex and enqueue; then re-acquire,
//! once woken. A timed wait is three: it leaves the queue, woken or timed out, before it locks the
//! mutex, which another thread may hold and signal under meanwhile.
//!
//! Each thread's own entry says whether it waits ([`WaitStage`]). So the object holds nothing but
//! its tag, in bytes 0..8, where glibc has a sequence number that static initialisers set to 0, as
//! they do with all other bytes.

use core::ffi::c_void;

use raddle_vocab::{Misuse, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::buffers::attributes;
use crate::interpose::process::couriers;
use crate::interpose::sync::mutex::{self, DEAD, LIVE};
use crate::interpose::thread::cancel;
use crate::sched::{self, timeouts, virtual_time};
use crate::state::{AnnouncedOp, WaitStage, controlled, run};
use crate::syscall::libc_real::real;
use crate::trace;

real! { hidden:
    fn pthread_cond_init(cond: u64, attr: *const c_void) -> i32;
    fn pthread_cond_destroy(cond: u64) -> i32;
    fn pthread_cond_wait(cond: u64, mutex: u64) -> i32;
    fn pthread_cond_timedwait(cond: u64, mutex: u64, until: *const libc::timespec) -> i32;
    fn pthread_cond_clockwait(cond: u64, mutex: u64, clock: i32, until: *const libc::timespec) -> i32;
    fn pthread_cond_signal(cond: u64) -> i32;
    fn pthread_cond_broadcast(cond: u64) -> i32;
}

/// The tag of the object at an address that the program passed.
fn tag(address: u64) -> &'static mut u64 {
    // SAFETY: the program passes a pointer to a condition variable; a wrong pointer faults as it
    // would in libc.
    unsafe { &mut *(address as *mut u64) }
}

/// Whether all words are those of a static initialiser.
fn is_static(address: u64) -> bool {
    const WORDS: usize = size_of::<libc::pthread_cond_t>() / 8;
    // SAFETY: as for `tag`; the object has so many words.
    unsafe { &*(address as *const [u64; WORDS]) }.iter().all(|&word| word == 0)
}

/// Reports use of an invalid condition variable, and initialises it.
fn require(address: u64, pc: u64) {
    let misuse = match *tag(address) {
        LIVE => return,
        0 if is_static(address) => return,
        DEAD => Misuse::CondDestroyed,
        _ => Misuse::CondUninitialised,
    };
    trace::misuse(misuse, address, 0, pc);
    *tag(address) = LIVE;
}

fn arrive(kind: OpKind, address: u64, arg: u64, pc: u64) -> AnnouncedOp {
    let op = AnnouncedOp::new(kind, address, arg, pc);
    sched::arrive(op);
    require(address, pc);
    op
}

/// Whether the thread waits in the queue of the object.
fn is_queued(tid: usize, address: u64) -> bool {
    matches!(run().fibers[tid].wait, WaitStage::Queued { obj, .. } if obj == address)
}

/// The mutex that a thread in a queue has released. Its pending operation may be one of
/// cancellation.
fn mutex_of(tid: usize) -> Option<u64> {
    match run().fibers[tid].wait {
        WaitStage::Queued { mutex, .. } => Some(mutex),
        _ => None,
    }
}

/// Threads in the queue of an object, in order of their ranks.
pub fn queue(address: u64) -> impl Iterator<Item = usize> + Clone {
    (0..run().threads).map(|rank| run().by_rank[rank] as usize).filter(move |&tid| is_queued(tid, address))
}

/// Takes a thread out of its queue: what it does next happens after this.
pub fn wake(tid: usize) {
    virtual_time::hand_to(tid);
    run().fibers[tid].wait = WaitStage::Woken;
    sched::mark(tid);
}

/// A set of threads as a step's `value` shows it: one bit each, the last for all from 63 on.
pub fn bit(tid: usize) -> u64 {
    1 << tid.min(63)
}

extern "C" fn init(address: u64, attr: *const u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_init(address, attr.cast()) };
    }
    attributes::initialises_cond(attr as usize, pc);
    start(address, pc);
    0
}

/// `pthread_cond_init` without attributes.
pub fn start(address: u64, pc: u64) {
    let op = AnnouncedOp::new(OpKind::CondInit, address, 0, pc);
    sched::arrive(op);
    if queue(address).next().is_some() {
        trace::misuse(Misuse::ReinitInUse, address, 0, pc);
    }
    abandon_queue(address);
    *tag(address) = LIVE;
    sched::commit(&op, Outcome::Done, 0, 0);
}

/// `pthread_cond_destroy` and its C11 form.
pub extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_destroy(address) };
    }
    let op = arrive(OpKind::CondDestroy, address, 0, pc);
    if let Some(waiter) = queue(address).next() {
        trace::misuse(Misuse::DestroyWaited, address, waiter as u64, pc);
    }
    abandon_queue(address);
    *tag(address) = DEAD;
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Threads that wait on a destroyed object are never woken.
fn abandon_queue(address: u64) {
    for tid in 0..run().threads {
        if let WaitStage::Queued { obj, .. } = &mut run().fibers[tid].wait
            && *obj == address
        {
            *obj = 0;
        }
    }
}

/// `pthread_cond_wait` and its C11 form.
pub extern "C" fn wait(address: u64, mutex: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_wait(address, mutex) };
    }
    wait_until(address, mutex, None, pc)
}

/// `pthread_cond_timedwait` and its C11 form.
pub extern "C" fn timedwait(address: u64, mutex: u64, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_timedwait(address, mutex, until) };
    }
    let Some(deadline) = virtual_time::deadline(until) else { return libc::EINVAL };
    wait_until(address, mutex, Some(deadline), pc)
}

extern "C" fn clockwait(address: u64, mutex: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_clockwait(address, mutex, clock, until) };
    }
    let Some(deadline) = virtual_time::deadline(until) else { return libc::EINVAL };
    wait_until(address, mutex, Some(deadline), pc)
}

fn wait_until(address: u64, mutex: u64, deadline: Option<u64>, pc: u64) -> i32 {
    if deadline.is_some() {
        timeouts::entering(pc);
    }
    enqueue(address, mutex, deadline.is_some(), pc);
    cancel::in_queue(address, pc);
    let code = match deadline {
        Some(deadline) => resume_and_lock(address, mutex, deadline, pc),
        None => reacquire(address, mutex, pc),
    };
    cancel::after_queue(pc);
    code
}

/// Second half of a wait that is not timed.
fn reacquire(address: u64, mutex: u64, pc: u64) -> i32 {
    let op = AnnouncedOp::new(OpKind::CondReacquire, address, mutex, pc);
    sched::arrive(op);
    mutex::require(mutex, pc);
    let outcome = end_wait();
    mutex::reacquire(mutex);
    sched::commit(&op, outcome, 0, 0);
    mutex::reacquired_code(mutex, pc)
}

/// The end of a timed wait.
fn resume_and_lock(address: u64, mutex: u64, deadline: u64, pc: u64) -> i32 {
    let op = AnnouncedOp::new(OpKind::CondResume, address, mutex, pc);
    sched::arrive(op);
    let outcome = end_wait();
    sched::commit(&op, outcome, 0, 0);
    let timed_out = outcome == Outcome::TimedOut;
    run().me().wait = WaitStage::Resumed { timed_out };
    let code = mutex::lock(mutex, pc);
    run().me().wait = WaitStage::None;
    if timed_out {
        // What others do before this thread has the mutex is seen by its next look at what it waits
        // for.
        timeouts::timed_out(&op, deadline);
    }
    if code == 0 && timed_out { libc::ETIMEDOUT } else { code }
}

/// First half of a wait.
fn enqueue(address: u64, mutex: u64, timed: bool, pc: u64) {
    let kind = if timed { OpKind::CondTimedWait } else { OpKind::CondWait };
    let op = arrive(kind, address, mutex, pc);
    mutex::require(mutex, pc);
    if mutex::held_by(mutex, couriers::self_id()) {
        mutex::release(mutex);
    } else {
        trace::misuse(Misuse::CondWaitUnlocked, address, mutex, pc);
    }
    let other = queue(address).filter_map(mutex_of).find(|&other| other != mutex);
    if let Some(other) = other {
        trace::misuse(Misuse::CondTwoMutexes, address, other, pc);
    }
    run().me().wait = WaitStage::Queued { obj: address, mutex, timed };
    sched::commit(&op, Outcome::Done, 0, 0);
}

/// In how many ways the wait of a thread that was not woken can end: by time-out, spuriously.
pub fn endings(tid: usize) -> usize {
    let fiber = &run().fibers[tid];
    let timed = matches!(fiber.wait, WaitStage::Queued { timed: true, .. });
    usize::from(timed) + usize::from(fiber.spurious_left > 0)
}

/// How the running thread's wait in a queue ends. Used for futexes, too.
pub fn end_wait() -> Outcome {
    let tid = run().hot.tid as usize;
    let outcome = match run().fibers[tid].wait {
        WaitStage::Queued { timed, .. } => {
            let chosen = sched::choice(endings(tid));
            if timed && chosen == 0 { Outcome::TimedOut } else { Outcome::Spurious }
        }
        _ => Outcome::Done,
    };
    let me = run().me();
    me.wait = WaitStage::None;
    me.spurious_left -= u32::from(outcome == Outcome::Spurious);
    outcome
}

/// `pthread_cond_signal` and its C11 form.
pub extern "C" fn signal(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_signal(address) };
    }
    let op = arrive(OpKind::Signal, address, 0, pc);
    let waiters = queue(address).count();
    let chosen = sched::choice(waiters.max(1));
    let woken = queue(address).nth(chosen);
    if let Some(tid) = woken {
        wake(tid);
    }
    sched::commit(&op, Outcome::Done, woken.map_or(0, bit), waiters as u64);
    0
}

/// `pthread_cond_broadcast` and its C11 form.
pub extern "C" fn broadcast(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cond_broadcast(address) };
    }
    let op = arrive(OpKind::Broadcast, address, 0, pc);
    let (mut woken, mut count) = (0, 0);
    for tid in 0..run().threads {
        if is_queued(tid, address) {
            wake(tid);
            woken |= bit(tid);
            count += 1;
        }
    }
    sched::commit(&op, Outcome::Done, woken, count);
    0
}

export!(pthread_cond_init, 2 => init);
export!(pthread_cond_destroy, 1 => destroy);
export!(pthread_cond_wait, 2 => wait);
export!(pthread_cond_timedwait, 3 => timedwait);
export!(pthread_cond_clockwait, 4 => clockwait);
export!(pthread_cond_signal, 1 => signal);
export!(pthread_cond_broadcast, 1 => broadcast);
