//! Whether a thread can perform its pending operation.

use raddle_vocab::{MutexKind, OpKind, SECTION};

use crate::interpose::annotations::section;
use crate::interpose::io::{descriptors, net, readiness};
use crate::interpose::process::couriers;
use crate::interpose::sync::{barrier, cond, mutex, once, rwlock, sem, spinlock};
use crate::interpose::thread::{cancel, lifecycle};
use crate::sched::timeouts;
use crate::state::{AnnouncedOp, ThreadStatus, WaitStage, process, run};

/// Answer of [`enabled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanStep {
    /// It is blocked, or has ended.
    No,
    /// It can step.
    Yes,
    /// It can step, but only by timing out or waking spuriously.
    Reluctant,
}

/// Whether the thread can step now.
#[inline(always)]
pub fn enabled(tid: usize) -> CanStep {
    let run = run();
    let is_plain = run.couriers == 0 && !process().has_sections;
    let fiber = run.fiber(tid);
    let op = &fiber.pending;
    let is_load = op.kind == OpKind::AtomicLoad && !lifecycle::is_life_word(op.obj);
    if is_plain && fiber.status == ThreadStatus::Pending && (never_blocks(op.kind) || is_load) {
        return CanStep::Yes;
    }
    examine(tid)
}

/// The same for any thread.
#[inline(never)]
fn examine(tid: usize) -> CanStep {
    let fiber = run().fiber(tid);
    if couriers::is_suspended(tid) {
        return CanStep::No;
    }
    match fiber.status {
        ThreadStatus::Pending => {}
        ThreadStatus::AtAccess => return CanStep::Yes,
        ThreadStatus::AtSpinRead if crate::spinloop::detector::is_failed_spin_round(tid) => return CanStep::No,
        ThreadStatus::AtSpinRead => {}
        _ => return CanStep::No,
    }
    if section::waits(tid as u16, fiber.pending.kind) && section::is_closed_to(tid as u16) {
        return CanStep::No;
    }
    match now(tid, &fiber.pending) {
        CanStep::No if fiber.private.interrupted || cancel::interrupts(tid, &fiber.pending) => CanStep::Yes,
        CanStep::Reluctant if timeouts::is_exhausted(tid) => CanStep::No,
        answer => answer,
    }
}

fn yes(condition: bool) -> CanStep {
    if condition { CanStep::Yes } else { CanStep::No }
}

/// A timed operation times out where the plain one would block.
fn or_time_out(condition: bool) -> CanStep {
    if condition { CanStep::Yes } else { CanStep::Reluctant }
}

/// Whether operations of the kind are enabled whatever the state, but for sections and handlers.
#[inline(always)]
const fn never_blocks(kind: OpKind) -> bool {
    match kind {
        OpKind::ThreadStart
        | OpKind::ThreadEnd
        | OpKind::Create
        | OpKind::Detach
        | OpKind::Exit
        | OpKind::MutexInit
        | OpKind::MutexDestroy
        | OpKind::TryLock
        | OpKind::Unlock
        | OpKind::RwInit
        | OpKind::RwDestroy
        | OpKind::TryReadLock
        | OpKind::TryWriteLock
        | OpKind::RwUnlock
        | OpKind::RwAnnounce
        | OpKind::CondInit
        | OpKind::CondDestroy
        | OpKind::CondWait
        | OpKind::CondTimedWait
        | OpKind::Signal
        | OpKind::Broadcast
        | OpKind::SemInit
        | OpKind::SemDestroy
        | OpKind::SemTryWait
        | OpKind::SemPost
        | OpKind::BarrierInit
        | OpKind::BarrierArrive
        | OpKind::OnceEnd
        | OpKind::OnceAbort
        | OpKind::AtomicStore
        | OpKind::AtomicRmw
        | OpKind::AtomicCas
        | OpKind::Fence
        | OpKind::FutexWait
        | OpKind::FutexTimedWait
        | OpKind::FutexWake
        | OpKind::Read
        | OpKind::Write
        | OpKind::Free
        | OpKind::Mapping
        | OpKind::HandlerReturn
        | OpKind::CallBegin
        | OpKind::Choose => true,
        OpKind::Join
        | OpKind::AtomicLoad
        | OpKind::Lock
        | OpKind::TimedLock
        | OpKind::ReadLock
        | OpKind::TimedReadLock
        | OpKind::WriteLock
        | OpKind::TimedWriteLock
        | OpKind::CondReacquire
        | OpKind::CondResume
        | OpKind::FutexResume
        | OpKind::SemWait
        | OpKind::SemTimedWait
        | OpKind::Deliver
        | OpKind::BarrierLeave
        | OpKind::BarrierDestroy
        | OpKind::OnceBegin
        | OpKind::Io => false,
    }
}

fn now(tid: usize, op: &AnnouncedOp) -> CanStep {
    let thread = tid as u16;
    match op.kind {
        OpKind::Join => yes(lifecycle::can_join_or_poll(tid, op.arg as usize)),
        OpKind::AtomicLoad if !lifecycle::is_life_word(op.obj) => CanStep::Yes,
        OpKind::AtomicLoad if lifecycle::is_waiting_main(tid) => {
            yes(lifecycle::can_join_or_poll(tid, lifecycle::polled_thread(op.obj)))
        }
        OpKind::AtomicLoad => or_time_out(lifecycle::life_word(op.obj) != 0),
        OpKind::Lock if op.obj == SECTION => yes(!section::is_closed_to(thread)),
        OpKind::Lock if op.arg == MutexKind::Spin as u64 => yes(spinlock::can_lock(op.obj)),
        OpKind::Lock => yes(mutex::can_lock(op.obj, thread)),
        OpKind::TimedLock => or_time_out(mutex::can_lock(op.obj, thread)),
        OpKind::ReadLock => yes(rwlock::can_read(op.obj, thread)),
        OpKind::TimedReadLock => or_time_out(rwlock::can_read(op.obj, thread)),
        OpKind::WriteLock => yes(rwlock::can_write(op.obj, thread)),
        OpKind::TimedWriteLock => or_time_out(rwlock::can_write(op.obj, thread)),
        OpKind::CondReacquire if !mutex::can_reacquire(op.arg, thread) => CanStep::No,
        OpKind::CondReacquire | OpKind::CondResume | OpKind::FutexResume => resume(tid),
        OpKind::SemWait => yes(sem::is_positive(op.obj)),
        OpKind::SemTimedWait => or_time_out(sem::is_positive(op.obj)),
        OpKind::Deliver => yes(couriers::can_deliver(tid)),
        OpKind::BarrierLeave => yes(barrier::is_open(tid)),
        OpKind::BarrierDestroy => yes(!barrier::is_being_left(op.obj)),
        OpKind::OnceBegin => yes(once::can_begin(op)),
        OpKind::Io => {
            let (descriptor, events) = raddle_vocab::io::waited_for(op.arg);
            if events == raddle_vocab::io::WAITS_FOR_SIGNAL {
                return yes(crate::interpose::process::pending_signals::can_take(tid));
            }
            if events == raddle_vocab::io::WAITS_FOR_CHILD {
                return CanStep::Reluctant;
            }
            if matches!(events, raddle_vocab::io::WAITS_FOR_PROGRAM | raddle_vocab::io::WAITS_FOR_CALLER) {
                return yes(net::party::can_go_on(tid));
            }
            if events == raddle_vocab::io::WAITS_WITH_TIME_OUT {
                return or_time_out(descriptors::is_ready(descriptor, libc::POLLIN));
            }
            if raddle_vocab::io::is_wait_for_lock(events) {
                return yes(crate::interpose::io::file_locks::can_lock(tid, descriptor, events));
            }
            let private = &run().fibers[tid].private;
            if let Some(socket) = usize::from(private.socket).checked_sub(1) {
                return yes(net::can_go_on(socket, events));
            }
            if events != 0 && private.polled.1 > 0 {
                return yes(readiness::is_any_ready(private.polled));
            }
            yes(events == 0 || descriptors::is_ready(descriptor, events))
        }
        _ => CanStep::Yes,
    }
}

/// How a wait in a queue can end.
fn resume(tid: usize) -> CanStep {
    match run().fibers[tid].wait {
        WaitStage::Queued { .. } if cond::endings(tid) > 0 => CanStep::Reluctant,
        WaitStage::Queued { .. } => CanStep::No,
        _ => CanStep::Yes,
    }
}
