//! Which transitions depend on each other.
//!
//! Two transitions of different threads depend on each other iff they touch a common cell in modes that do not commute.
//! What a step touches follows from the step itself (its kind, operands and outcome), so executions with the same steps
//! have the same dependence.

use raddle_vocab::{OpKind, Outcome, io};
use smallvec::SmallVec;

use crate::execution::Event;

/// A place where transitions meet. Ordinary memory is cut into cells of 8 bytes; other things that threads share have
/// cells above every address.
pub type Cell = u64;

const THREAD_CELLS: Cell = 1 << 60;
const WAIT_CELLS: Cell = 2 << 60;
const QUEUE_CELLS: Cell = 3 << 60;
const FILE_CELLS: Cell = 4 << 60;
const ROUND_CELLS: Cell = 5 << 60;

/// How a transition touches a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Depends on the state, does not change it: commutes with itself.
    Observe,
    /// Changes the state in a way that commutes with changes of the same sort (readers of an rwlock, posts, arrivals).
    Share,
    /// Changes it.
    Write,
}

impl Mode {
    /// Whether two touches in these modes commute.
    #[must_use]
    pub fn commutes(self, other: Mode) -> bool {
        self == other && self != Mode::Write
    }
}

/// One cell that a transition touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which.
    pub cell: Cell,
    /// Which of its 8 bytes, a bit each.
    pub bytes: u8,
    /// How.
    pub mode: Mode,
}

impl Touch {
    /// Whether the two touches order their transitions.
    #[must_use]
    pub fn conflicts(&self, other: &Touch) -> bool {
        self.cell == other.cell && self.bytes & other.bytes != 0 && !self.mode.commutes(other.mode)
    }
}

/// All that a transition touches.
pub type Footprint = SmallVec<[Touch; 3]>;

/// Whether two transitions with these footprints depend on each other (apart from program order).
#[must_use]
pub fn conflict(a: &[Touch], b: &[Touch]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.conflicts(y)))
}

/// What a step touches.
#[must_use]
pub fn footprint(step: &Event) -> Footprint {
    let mut prints = Footprint::new();
    touch_all(step, &mut prints);
    prints
}

/// The first four bytes stand for a synchronising object: the smallest ones have no more, and two of them share a cell.
fn object(obj: u64, mode: Mode) -> Touch {
    Touch { cell: obj >> 3, bytes: 0x0f << (obj & 4), mode }
}

fn thread_cell(thread: u64, mode: Mode) -> Touch {
    Touch { cell: THREAD_CELLS | thread, bytes: 0xff, mode }
}

/// The place where a thread that waits on a queue learns that it was woken.
fn wait_cell(thread: u64) -> Touch {
    Touch { cell: WAIT_CELLS | thread.min(63), bytes: 0xff, mode: Mode::Write }
}

/// An atomic load of `LIFE_WORDS | thread << 3` looks whether the thread has ended (1) or not (0): a join that does not
/// insist.
pub const LIFE_WORDS: u64 = 1 << 63;

/// `arg` of operations on the guard of a function-local static of C++, whose first byte an atomic store sets.
pub const GUARD: u64 = 1;

/// `arg` of an atomic load that ended a folded loop of busy waiting: before, the location held `old`, with which the loop
/// would have gone round once more.
pub const AWAITED: u64 = 1;

/// The thread that a load of such a word looks at.
pub(crate) fn looked_at(obj: u64) -> u64 {
    (obj & !LIFE_WORDS) >> 3
}

/// A once control is one thing. Of a guard, whether it is finished is its first byte, which the compiler's code reads too;
/// whether somebody is inside is a thing of its own.
fn once(step: &Event, prints: &mut Footprint) {
    let mode = if step.outcome == Outcome::Done { Mode::Write } else { Mode::Observe };
    if step.arg != GUARD {
        return prints.push(object(step.obj, mode));
    }
    prints.push(queue_cell(step.obj, mode));
    if step.kind == OpKind::OnceBegin {
        bytes(prints, step.obj, 1, Mode::Observe);
    }
}

/// One round of a barrier.
fn round_cell(obj: u64, round: u64, mode: Mode) -> Touch {
    Touch { cell: ROUND_CELLS | (obj >> 3) ^ ((round & 0xffff) << 44), bytes: 0xff, mode }
}

/// The queue of a futex word, which is not the word itself.
fn queue_cell(obj: u64, mode: Mode) -> Touch {
    Touch { cell: QUEUE_CELLS | (obj >> 2), bytes: 0xff, mode }
}

fn bytes(prints: &mut Footprint, addr: u64, size: u64, mode: Mode) {
    let end = addr.saturating_add(size.max(1));
    let mut at = addr;
    while at < end {
        let stop = ((at >> 3) + 1) << 3;
        let last = stop.min(end);
        let mask = ((1u16 << (last - at)) - 1) << (at & 7);
        prints.push(Touch { cell: at >> 3, bytes: mask as u8, mode });
        at = last;
    }
}

fn woken(prints: &mut Footprint, mut set: u64) {
    while set != 0 {
        prints.push(wait_cell(u64::from(set.trailing_zeros())));
        set &= set - 1;
    }
}

fn touch_all(step: &Event, prints: &mut Footprint) {
    let done = |mode: Mode| if step.outcome == Outcome::Done { mode } else { Mode::Observe };
    match step.kind {
        // Who looks whether the thread has ended does not see whether it has started.
        OpKind::ThreadStart => prints.push(thread_cell(u64::from(step.thread), Mode::Observe)),
        OpKind::ThreadEnd => prints.push(thread_cell(u64::from(step.thread), Mode::Write)),
        OpKind::Create | OpKind::Detach => prints.push(thread_cell(step.arg, Mode::Write)),
        OpKind::Join => prints.push(thread_cell(step.arg, Mode::Write)),
        OpKind::Exit | OpKind::Fence => {}
        OpKind::Lock | OpKind::TryLock | OpKind::TimedLock | OpKind::Unlock => {
            // A recursive relock or its release is nobody else's business.
            if step.outcome != Outcome::Nested {
                prints.push(object(step.obj, done(Mode::Write)));
            }
        }
        OpKind::MutexInit
        | OpKind::MutexDestroy
        | OpKind::RwInit
        | OpKind::RwDestroy
        | OpKind::CondInit
        | OpKind::CondDestroy
        | OpKind::SemInit
        | OpKind::SemDestroy
        | OpKind::BarrierInit
        | OpKind::BarrierDestroy => prints.push(object(step.obj, Mode::Write)),
        OpKind::OnceBegin | OpKind::OnceEnd | OpKind::OnceAbort => once(step, prints),
        OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock => {
            prints.push(object(step.obj, done(Mode::Share)));
        }
        OpKind::WriteLock | OpKind::TryWriteLock | OpKind::TimedWriteLock => {
            prints.push(object(step.obj, done(Mode::Write)));
        }
        // arg: 1 if it was the writer's side that was released.
        OpKind::RwUnlock => prints.push(object(step.obj, if step.arg == 1 { Mode::Write } else { Mode::Share })),
        OpKind::CondWait | OpKind::CondTimedWait => {
            prints.push(object(step.obj, Mode::Write));
            prints.push(object(step.arg, Mode::Write));
            prints.push(wait_cell(u64::from(step.thread)));
        }
        OpKind::CondReacquire => {
            prints.push(object(step.arg, Mode::Write));
            prints.push(wait_cell(u64::from(step.thread)));
            if step.outcome != Outcome::Done {
                // It leaves the queue by itself, which a signal would notice.
                prints.push(object(step.obj, Mode::Write));
            }
        }
        OpKind::Signal | OpKind::Broadcast => {
            prints.push(object(step.obj, if step.value == 0 { Mode::Observe } else { Mode::Write }));
            woken(prints, step.value);
        }
        OpKind::SemWait | OpKind::SemTryWait | OpKind::SemTimedWait => {
            prints.push(object(step.obj, done(Mode::Write)));
        }
        OpKind::SemPost => prints.push(object(step.obj, Mode::Share)),
        // Rounds are apart: an arrival for the next round does not meet a thread that still leaves the last one. It does
        // meet the arrivals that closed that round: without them it would have been one of them.
        OpKind::BarrierArrive => {
            prints.push(object(step.obj, Mode::Observe));
            prints.push(round_cell(step.obj, step.arg, Mode::Share));
            if step.arg > 0 {
                prints.push(round_cell(step.obj, step.arg - 1, Mode::Observe));
            }
        }
        OpKind::BarrierLeave => {
            prints.push(object(step.obj, Mode::Observe));
            prints.push(round_cell(step.obj, step.arg, Mode::Observe));
        }
        OpKind::AtomicLoad if step.obj & LIFE_WORDS != 0 => {
            prints.push(thread_cell(looked_at(step.obj), Mode::Observe))
        }
        OpKind::AtomicLoad | OpKind::Read => bytes(prints, step.obj, step.extent(), Mode::Observe),
        OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::Write => {
            bytes(prints, step.obj, step.extent(), Mode::Write);
        }
        OpKind::AtomicCas => bytes(prints, step.obj, u64::from(step.size), done(Mode::Write)),
        OpKind::FutexWait | OpKind::FutexTimedWait => {
            bytes(prints, step.obj, 4, Mode::Observe);
            if step.outcome == Outcome::Done {
                prints.push(queue_cell(step.obj, Mode::Write));
                prints.push(wait_cell(u64::from(step.thread)));
            }
        }
        OpKind::FutexResume => {
            prints.push(wait_cell(u64::from(step.thread)));
            if step.outcome != Outcome::Done {
                prints.push(queue_cell(step.obj, Mode::Write));
            }
        }
        OpKind::FutexWake => {
            prints.push(queue_cell(step.obj, if step.value == 0 { Mode::Observe } else { Mode::Write }));
            woken(prints, step.value);
        }
        OpKind::Free => bytes(prints, step.obj, step.arg, Mode::Write),
        OpKind::Io => {
            let mode = |observes: u64| if step.arg & observes == 0 { Mode::Write } else { Mode::Observe };
            prints.push(Touch { cell: FILE_CELLS | step.obj, bytes: 0xff, mode: mode(io::OBSERVES) });
            if let Some(second) = io::second(step.arg) {
                prints.push(Touch { cell: FILE_CELLS | second, bytes: 0xff, mode: mode(io::SECOND_OBSERVES) });
            }
        }
    }
}
