//! Futexes, as programs and the C++ library use them through `syscall()`. A wait is two
//! transitions: compare and enqueue; then continue, once woken or timed out.
//!
//! Every user of a futex must expect spurious wake-ups. So where the kernel would move waiters to
//! another word, or wake only some by their bit sets, all of those are woken: they compare again
//! and wait where they should. A waiter that would have been moved to a word where it is never
//! woken is missed; this is reported as a limit.

use raddle_vocab::{OpKind, Outcome};
use raddle_wire::limit;

use crate::interpose::sync::cond;
use crate::sched::controller::note_limit;
use crate::sched::{self, timeouts, virtual_time};
use crate::state::{AnnouncedOp, WaitStage, run};
use crate::state_key;

/// The sixth and following operands of the system call.
#[derive(Clone, Copy)]
pub struct Call {
    /// The word.
    pub word: u64,
    /// What to do, with flags.
    pub operation: i32,
    /// Expected value, or how many to wake.
    pub value: u32,
    /// A span or point in time; or a second number.
    pub time: usize,
    /// A second word.
    pub other: u64,
    /// Bit set or second expected value.
    pub value3: u32,
    /// Return address of the caller.
    pub pc: u64,
}

/// Performs the system call: its result, or an error as a negative number.
pub fn perform(call: &Call) -> i64 {
    const COMMAND: i32 = 127;
    const ALL: u32 = u32::MAX;
    match call.operation & COMMAND {
        libc::FUTEX_WAIT => wait(call, deadline(call, false)),
        libc::FUTEX_WAIT_BITSET => wait(call, deadline(call, true)),
        libc::FUTEX_WAKE => wake(call.word, call.value, call.pc),
        libc::FUTEX_WAKE_BITSET => {
            wake(call.word, if call.value3 == ALL { call.value } else { i32::MAX as u32 }, call.pc)
        }
        libc::FUTEX_REQUEUE => requeue(call),
        libc::FUTEX_CMP_REQUEUE => {
            hold(call);
            if load(call.word, call.pc) != call.value3 {
                return -i64::from(libc::EAGAIN);
            }
            requeue(call)
        }
        libc::FUTEX_WAKE_OP => {
            hold(call);
            wake_after_change(call)
        }
        _ => {
            note_limit(limit::SYSTEM_CALL);
            -i64::from(libc::ENOSYS)
        }
    }
}

/// The call will use all its operands, of which its first operation names some.
fn hold(call: &Call) {
    let numbers = [u64::from(call.value), call.time as u64, call.other, u64::from(call.value3)];
    numbers.into_iter().for_each(state_key::holds);
}

/// Also wakes the threads that would be moved.
fn requeue(call: &Call) -> i64 {
    let woken = wake(call.word, call.value.saturating_add(call.time as u32), call.pc);
    if woken > i64::from(call.value) {
        note_limit(limit::REQUEUE);
    }
    woken
}

/// When a wait ends: never, or at a moment of the thread's clock; or the error.
fn deadline(call: &Call, absolute: bool) -> Result<Option<u64>, i64> {
    let time = call.time as *const libc::timespec;
    // SAFETY: the caller passes a time or null.
    let Some(span) = (unsafe { time.as_ref() }) else { return Ok(None) };
    let moment = if absolute {
        virtual_time::deadline(time)
    } else {
        virtual_time::span(span).map(|span| run().me().clock.saturating_add(span))
    };
    // The clock may have gone on when the wait ends.
    moment.into_iter().for_each(state_key::holds);
    moment.map(Some).ok_or(-i64::from(libc::EINVAL))
}

/// The word's value, which the program may access in any way.
fn value(word: u64) -> u32 {
    // SAFETY: the program passes the address of a word; a wrong one faults.
    unsafe { (word as *const u32).read_volatile() }
}

fn wait(call: &Call, deadline: Result<Option<u64>, i64>) -> i64 {
    let deadline = match deadline {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    if deadline.is_some() {
        timeouts::entering(call.pc);
    }
    let kind = if deadline.is_some() { OpKind::FutexTimedWait } else { OpKind::FutexWait };
    let op = AnnouncedOp::new(kind, call.word, u64::from(call.value), call.pc);
    sched::arrive(op);
    if value(call.word) != call.value {
        sched::commit(&op, Outcome::Failed, 0, 0);
        return -i64::from(libc::EAGAIN);
    }
    run().me().wait = WaitStage::Queued { obj: call.word, mutex: 0, timed: deadline.is_some() };
    sched::commit(&op, Outcome::Done, 0, 0);
    let op = AnnouncedOp::new(OpKind::FutexResume, call.word, 0, call.pc);
    sched::arrive(op);
    let outcome = cond::end_wait();
    sched::commit(&op, outcome, 0, 0);
    match (outcome, deadline) {
        (Outcome::TimedOut, Some(deadline)) => {
            timeouts::timed_out(&op, deadline);
            -i64::from(libc::ETIMEDOUT)
        }
        (Outcome::Spurious, _) => -i64::from(libc::EINTR),
        _ => 0,
    }
}

/// Wakes `count` of the waiting threads and returns how many; the schedule decides which.
fn wake(word: u64, count: u32, pc: u64) -> i64 {
    let op = AnnouncedOp::new(OpKind::FutexWake, word, u64::from(count), pc);
    sched::arrive(op);
    let total = cond::queue(word).count() as u32;
    let wanted = count.min(total);
    let successors = if total == 0 { 0 } else { subsets(total, wanted) };
    let mut skip = sched::choice(successors.max(1) as usize) as u32;
    let (mut left, mut missing, mut woken) = (total, wanted, 0);
    let me = run().threads;
    for rank in 0..me {
        let tid = run().by_rank[rank] as usize;
        if missing == 0 || !matches!(run().fibers[tid].wait, WaitStage::Queued { obj, .. } if obj == word) {
            continue;
        }
        left -= 1;
        // The subsets that contain this thread come first.
        let with = binomial(left, missing - 1);
        if skip < with {
            cond::wake(tid);
            woken |= cond::bit(tid);
            missing -= 1;
        } else {
            skip -= with;
        }
    }
    sched::commit(&op, Outcome::Done, woken, u64::from(successors));
    i64::from(wanted)
}

/// Ways to take `count` out of `total`, as many as a schedule can number.
fn subsets(total: u32, count: u32) -> u32 {
    binomial(total, count).min(u32::from(u16::MAX))
}

fn binomial(n: u32, k: u32) -> u32 {
    let k = k.min(n - k);
    let mut result: u64 = 1;
    for i in 0..u64::from(k) {
        result = (result * (u64::from(n) - i) / (i + 1)).min(u64::from(u32::MAX));
    }
    result as u32
}

fn load(word: u64, pc: u64) -> u32 {
    let op = AnnouncedOp { log_size: 2, ..AnnouncedOp::new(OpKind::AtomicLoad, word, 0, pc) };
    sched::arrive(op);
    let seen = value(word);
    sched::commit(&op, Outcome::Done, u64::from(seen), 0);
    seen
}

/// Changes the second word, wakes threads at the first, and at the second if its old value passes a
/// test.
fn wake_after_change(call: &Call) -> i64 {
    let (how, test) = (call.value3 >> 28, call.value3 >> 24 & 15);
    let operand = call.value3 >> 12 & 0xfff;
    let operand = if how & 8 != 0 { 1 << (operand & 31) } else { operand };
    let op = AnnouncedOp { log_size: 2, order: 5, ..AnnouncedOp::new(OpKind::AtomicRmw, call.other, 0, call.pc) };
    sched::arrive(op);
    let old = value(call.other);
    let new = match how & 7 {
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        4 => old ^ operand,
        _ => operand,
    };
    // SAFETY: as in `value`.
    unsafe { (call.other as *mut u32).write_volatile(new) };
    sched::commit(&op, Outcome::Done, u64::from(new), u64::from(old));
    let woken = wake(call.word, call.value, call.pc);
    let (seen, bound) = (old as i32, (call.value3 & 0xfff) as i32);
    let passes = match test {
        0 => seen == bound,
        1 => seen != bound,
        2 => seen < bound,
        3 => seen <= bound,
        4 => seen > bound,
        _ => seen >= bound,
    };
    if passes { woken + wake(call.other, call.time as u32, call.pc) } else { woken }
}
