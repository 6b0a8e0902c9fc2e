//! Operations of a program as transitions.

use raddle_model::object::{
    AtomicAction, AtomicOp, BarrierAction, BarrierOp, ChoiceOp, CondAction, CondOp, FenceOp, MemoryAction, MemoryOp,
    MutexAction, MutexOp, Patience, RwlockAction, RwlockOp, SemaphoreAction, SemaphoreOp, SignalOp, ThreadOp, WaitEnd,
    Woken,
};
use raddle_model::{Event, Op as Operation};
use raddle_vocab::handler::Handling;
use raddle_vocab::{MemOrder, MutexKind, Outcome, SECTION};

use super::code::eval;
use super::heap::{Handle, Heap};
use super::interpreter::{WORD, bits, pointer_of};
use super::layout::Layout;
use super::program::{AbstractOp, AbstractPlace, AbstractProgram, POINTERS, Pointer, REGISTERS};

/// Bytes of a pointer.
pub(super) const POINTER: u64 = 8;
/// All signals are for main.
const HANDLING: Handling = Handling { target: 0, onto: 0, signal: 10, interrupts: false };

/// Turns operations of a thread with these registers into transitions.
pub(super) struct Lowering<'a> {
    pub thread: u16,
    pub regs: &'a [i32; REGISTERS],
    pub pointers: &'a [Handle; POINTERS],
    /// The thread that its handler has suspended.
    pub onto: u16,
    pub heap: &'a Heap,
    pub layout: &'a Layout,
    pub program: &'a AbstractProgram,
    /// Whether accesses have to wait for atomic sections of others.
    pub outside: bool,
}

impl Lowering<'_> {
    /// The transition that an operation is. `handle` gives the thread in a slot.
    pub fn lower(&self, op: &AbstractOp, handle: impl Fn(u8) -> u16) -> Event {
        let layout = self.layout;
        let op = match op {
            AbstractOp::Read(_, place) => self.access(place, MemoryAction::Read),
            AbstractOp::Write(place, _) => self.access(place, MemoryAction::Write),
            AbstractOp::Load(_, place, order) | AbstractOp::Await(_, place, _, order) => {
                self.atomic(place, *order, AtomicAction::Load { value: 0, awaited: None })
            }
            AbstractOp::Store(place, value, order) => {
                self.atomic(place, *order, AtomicAction::Store { value: self.eval(value), old: 0 })
            }
            AbstractOp::Rmw(_, place, _, _, order) => {
                self.atomic(place, *order, AtomicAction::Rmw { value: 0, old: 0 })
            }
            AbstractOp::Cas { place, expected, desired, order, .. } => {
                let (expected, new) = (self.eval(expected), self.eval(desired));
                self.atomic(place, *order, AtomicAction::Cas { expected, new, seen: 0, success: true })
            }
            AbstractOp::Fence(order) => fence(*order),
            AbstractOp::Lock(place) => self.mutex(place, MutexAction::Lock(Patience::Block)),
            AbstractOp::LockIf(_, place, patience) => self.mutex(place, MutexAction::Lock(*patience)),
            AbstractOp::Unlock(place) => self.mutex(place, MutexAction::Unlock),
            AbstractOp::ReadLock(_, lock, patience) => self.rwlock(*lock, RwlockAction::Read(*patience)),
            AbstractOp::WriteLock(_, lock, patience) => self.rwlock(*lock, self.write(*patience)),
            AbstractOp::RwUnlock(lock) => self.rwlock(*lock, RwlockAction::Unlock { writer: false }),
            AbstractOp::Wait(_, cond, place, patience) => {
                let timed = *patience != Patience::Block;
                cond_op(layout.cond(*cond), CondAction::Wait { mutex: self.mutex_address(place), timed })
            }
            AbstractOp::Signal(cond) => {
                cond_op(layout.cond(*cond), CondAction::Signal { woken: Woken::default(), waiters: 0 })
            }
            AbstractOp::Broadcast(cond) => {
                cond_op(layout.cond(*cond), CondAction::Broadcast { woken: Woken::default(), waiters: 0 })
            }
            AbstractOp::SemWait(_, sem, patience) => {
                semaphore(layout.sem(*sem), SemaphoreAction::Wait { patience: *patience, taken: true })
            }
            AbstractOp::SemPost(sem) => semaphore(layout.sem(*sem), SemaphoreAction::Post),
            AbstractOp::Barrier(_, barrier) => Operation::Barrier(BarrierOp {
                barrier: layout.barrier(*barrier),
                action: BarrierAction::Arrive { round: 0, last: false },
            }),
            AbstractOp::Create { .. } => {
                Operation::Thread(ThreadOp::Create { child: 0, entry: 0, detached: false, failed: false })
            }
            AbstractOp::Join(slot) => Operation::Thread(ThreadOp::Join { thread: handle(*slot), refused: false }),
            AbstractOp::HandlerBegin => Operation::Signal(SignalOp::Begin(HANDLING)),
            AbstractOp::HandlerReturn => {
                Operation::Signal(SignalOp::Return { handling: Handling { onto: self.onto, ..HANDLING }, awaited: 0 })
            }
            AbstractOp::SectionBegin => section(MutexAction::Lock(Patience::Block)),
            AbstractOp::SectionEnd => section(MutexAction::Unlock),
            AbstractOp::Choose(_, values) => {
                Operation::Choice(ChoiceOp { values: u64::from((*values).max(1)), chosen: 0, given: 0 })
            }
            AbstractOp::Fetch(_, link) => memory(self.link(*link), POINTER, MemoryAction::Read, self.outside),
            AbstractOp::Share(link, _) => memory(self.link(*link), POINTER, MemoryAction::Write, self.outside),
            AbstractOp::Swap(_, link, order) => Operation::Atomic(AtomicOp {
                addr: self.link(*link),
                size: POINTER as u32,
                order: *order,
                action: AtomicAction::Rmw { value: 0, old: 0 },
                continues: false,
                outside: self.outside,
            }),
            AbstractOp::ReadBlock(_, pointer) => self.block(*pointer, MemoryAction::Read),
            AbstractOp::WriteBlock(pointer, _) => self.block(*pointer, MemoryAction::Write),
            AbstractOp::Free(pointer) => self.block(*pointer, MemoryAction::Free),
            // What no other thread sees never stands before a transition.
            AbstractOp::Allocate { .. } | AbstractOp::Forget(_) => silent(),
            AbstractOp::Set(..) | AbstractOp::Assert(_) | AbstractOp::Assume(_) | AbstractOp::Return => silent(),
        };
        Event { exposed: self.program.has_handlers(), ..Event::new(self.thread, op) }
    }

    fn eval(&self, value: &super::program::Expr) -> u64 {
        bits(eval(value, self.regs))
    }

    fn address(&self, place: &AbstractPlace) -> u64 {
        self.layout.address(self.layout.cell(place.id, eval(&place.index, self.regs)))
    }

    fn access(&self, place: &AbstractPlace, action: MemoryAction) -> Operation {
        memory(self.address(place), u64::from(WORD), action, self.outside)
    }

    fn atomic(&self, place: &AbstractPlace, order: MemOrder, action: AtomicAction) -> Operation {
        Operation::Atomic(AtomicOp {
            addr: self.address(place),
            size: WORD,
            order,
            action,
            continues: false,
            outside: self.outside,
        })
    }

    fn link(&self, link: usize) -> u64 {
        self.layout.address(self.layout.link(link))
    }

    /// An access to a block, or its end.
    fn block(&self, pointer: Pointer, action: MemoryAction) -> Operation {
        let block = self.pointers[pointer_of(pointer)];
        let size = if action == MemoryAction::Free { self.heap.size(block) } else { u64::from(WORD) };
        memory(Heap::address(block), size, action, self.outside)
    }

    fn mutex_address(&self, place: &AbstractPlace) -> u64 {
        self.layout.mutex(place.id, eval(&place.index, self.regs))
    }

    fn mutex(&self, place: &AbstractPlace, action: MutexAction) -> Operation {
        let (mutex, kind) = (self.mutex_address(place), self.program.mutexes[place.id].kind);
        Operation::Mutex(MutexOp { mutex, kind, action, outcome: Outcome::Done })
    }

    /// The first transition of an acquisition for writing.
    fn write(&self, patience: Patience) -> RwlockAction {
        match patience {
            Patience::Block | Patience::Timed if self.program.writers_first => {
                RwlockAction::Announce { timed: patience == Patience::Timed }
            }
            _ => RwlockAction::Write(patience),
        }
    }

    fn rwlock(&self, lock: usize, action: RwlockAction) -> Operation {
        let told = !matches!(action, RwlockAction::Unlock { .. });
        rwlock(self.layout.rwlock(lock), action, told && self.program.writers_first)
    }
}

/// The next part of an operation of which this was one. `kind`: of the mutex that a wait takes
/// again.
pub(super) fn next_part(op: &Operation, kind: MutexKind) -> Option<Operation> {
    match *op {
        Operation::Cond(CondOp { cond, action: CondAction::Wait { mutex, timed } }) => {
            let end = WaitEnd::Woken;
            let action = if timed { CondAction::Resume { mutex, end } } else { CondAction::Reacquire { mutex, end } };
            Some(cond_op(cond, action))
        }
        Operation::Cond(CondOp { action: CondAction::Resume { mutex, .. }, .. }) => {
            let action = MutexAction::Lock(Patience::Block);
            Some(Operation::Mutex(MutexOp { mutex, kind, action, outcome: Outcome::Done }))
        }
        Operation::Barrier(BarrierOp { barrier, action: BarrierAction::Arrive { round, .. } }) => {
            Some(Operation::Barrier(BarrierOp { barrier, action: BarrierAction::Leave { round, serial: false } }))
        }
        Operation::Rwlock(RwlockOp { rwlock: lock, action: RwlockAction::Announce { timed }, .. }) => {
            let patience = if timed { Patience::Timed } else { Patience::Block };
            Some(rwlock(lock, RwlockAction::Write(patience), true))
        }
        _ => None,
    }
}

/// Whether the operation concerns a heap block or a shared pointer, and is no atomic one.
pub(super) fn is_of_heap(op: &AbstractOp) -> bool {
    matches!(
        op,
        AbstractOp::Allocate { .. }
            | AbstractOp::Free(_)
            | AbstractOp::ReadBlock(..)
            | AbstractOp::WriteBlock(..)
            | AbstractOp::Fetch(..)
            | AbstractOp::Share(..)
            | AbstractOp::Forget(_)
    )
}

fn memory(addr: u64, size: u64, action: MemoryAction, outside: bool) -> Operation {
    Operation::Memory(MemoryOp { addr, size, action, order: MemOrder::Relaxed, outside })
}

/// Stands for instructions that are no transition.
pub(super) fn silent() -> Operation {
    fence(MemOrder::Relaxed)
}

fn section(action: MutexAction) -> Operation {
    Operation::Mutex(MutexOp { mutex: SECTION, kind: MutexKind::Normal, action, outcome: Outcome::Done })
}

fn fence(order: MemOrder) -> Operation {
    Operation::Fence(FenceOp { order })
}

fn rwlock(rwlock: u64, action: RwlockAction, writers_first: bool) -> Operation {
    Operation::Rwlock(RwlockOp { rwlock, action, writers_first, outcome: Outcome::Done })
}

fn cond_op(cond: u64, action: CondAction) -> Operation {
    Operation::Cond(CondOp { cond, action })
}

pub(super) fn semaphore(semaphore: u64, action: SemaphoreAction) -> Operation {
    Operation::Semaphore(SemaphoreOp { semaphore, action })
}
