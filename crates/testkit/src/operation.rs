//! Operations of a program as transitions.

use raddle_model::Event;
use raddle_vocab::{MemOrder, OpKind};

use super::code::eval;
use super::interpreter::bits;
use super::layout::Layout;
use super::program::{Mode, Op, Place, Program, REGISTERS};
use super::thread::blank;

/// The transition that an operation is for a thread with these registers. `handle` gives the thread in a slot.
pub(super) fn of(
    op: &Op,
    number: u16,
    regs: &[i32; REGISTERS],
    layout: &Layout,
    handle: impl Fn(u8) -> u64,
    program: &Program,
) -> Event {
    let plain = |kind, obj, arg| Event { obj, arg, ..blank(number, kind) };
    let address = |place: &Place| layout.address(layout.cell(place.id, eval(&place.index, regs)));
    let access = |kind, place: &Place, order| Event { obj: address(place), size: 4, order, ..blank(number, kind) };
    let mutex = |place: &Place| layout.mutex(place.id, eval(&place.index, regs));
    let on_mutex = |kind, place: &Place| plain(kind, mutex(place), program.mutexes[place.id].kind as u64);
    match op {
        Op::Read(_, place) => Event { arg: 4, ..access(OpKind::Read, place, MemOrder::Relaxed) },
        Op::Write(place, _) => Event { arg: 4, ..access(OpKind::Write, place, MemOrder::Relaxed) },
        Op::Load(_, place, order) | Op::Await(_, place, _, order) => access(OpKind::AtomicLoad, place, *order),
        Op::Store(place, value, order) => {
            Event { value: bits(eval(value, regs)), ..access(OpKind::AtomicStore, place, *order) }
        }
        Op::Rmw(_, place, _, _, order) => access(OpKind::AtomicRmw, place, *order),
        Op::Cas { place, expected, desired, order, .. } => Event {
            arg: bits(eval(expected, regs)),
            value: bits(eval(desired, regs)),
            ..access(OpKind::AtomicCas, place, *order)
        },
        Op::Fence(order) => Event { order: *order, ..blank(number, OpKind::Fence) },
        Op::Lock(place) | Op::LockIf(_, place, Mode::Block) => on_mutex(OpKind::Lock, place),
        Op::LockIf(_, place, Mode::Try) => on_mutex(OpKind::TryLock, place),
        Op::LockIf(_, place, Mode::Timed) => on_mutex(OpKind::TimedLock, place),
        Op::Unlock(place) => on_mutex(OpKind::Unlock, place),
        Op::ReadLock(_, lock, mode) => {
            let kinds = (OpKind::ReadLock, OpKind::TryReadLock, OpKind::TimedReadLock);
            plain(by_mode(*mode, kinds), layout.rwlock(*lock), 0)
        }
        Op::WriteLock(_, lock, mode) => {
            let kinds = (OpKind::WriteLock, OpKind::TryWriteLock, OpKind::TimedWriteLock);
            plain(by_mode(*mode, kinds), layout.rwlock(*lock), 0)
        }
        Op::RwUnlock(lock) => plain(OpKind::RwUnlock, layout.rwlock(*lock), 0),
        Op::Wait(_, cond, place, mode) => {
            let kinds = (OpKind::CondWait, OpKind::CondTimedWait, OpKind::CondTimedWait);
            plain(by_mode(*mode, kinds), layout.cond(*cond), mutex(place))
        }
        Op::Signal(cond) => plain(OpKind::Signal, layout.cond(*cond), 0),
        Op::Broadcast(cond) => plain(OpKind::Broadcast, layout.cond(*cond), 0),
        Op::SemWait(_, sem, mode) => {
            let kinds = (OpKind::SemWait, OpKind::SemTryWait, OpKind::SemTimedWait);
            plain(by_mode(*mode, kinds), layout.sem(*sem), 0)
        }
        Op::SemPost(sem) => plain(OpKind::SemPost, layout.sem(*sem), 0),
        Op::Barrier(_, barrier) => plain(OpKind::BarrierArrive, layout.barrier(*barrier), 0),
        Op::Create { .. } => blank(number, OpKind::Create),
        Op::Join(slot) => plain(OpKind::Join, 0, handle(*slot)),
        // What nobody sees never stands before a transition.
        Op::Set(..) | Op::Assert(_) | Op::Assume(_) | Op::Return => blank(number, OpKind::Fence),
    }
}

fn by_mode(mode: Mode, (block, attempt, timed): (OpKind, OpKind, OpKind)) -> OpKind {
    match mode {
        Mode::Block => block,
        Mode::Try => attempt,
        Mode::Timed => timed,
    }
}
