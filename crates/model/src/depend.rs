//! Which transitions depend on each other.
//!
//! Two transitions of different threads depend on each other iff they touch a common cell in modes
//! that do not commute. What an event touches follows from the event itself (its kind, operands and
//! outcome), so executions with the same events have the same dependence.

use raddle_vocab::io;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::execution::Event;
use crate::object::{Operation as _, Woken};

/// Unit of dependence. Ordinary memory is cut into cells of 8 bytes. Other things that threads
/// share have cells above every address.
pub type Cell = u64;

const THREAD_CELLS: Cell = 1 << 60;
const WAIT_CELLS: Cell = 2 << 60;
const QUEUE_CELLS: Cell = 3 << 60;
const FILE_CELLS: Cell = 4 << 60;
const ROUND_CELLS: Cell = 5 << 60;
const PROGRAM_CELLS: Cell = 6 << 60;

/// How a transition touches a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Depends on the state, does not change it: commutes with itself.
    Observe,
    /// Changes the state and commutes with other changes in this mode (readers of an rwlock, posts,
    /// arrivals).
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// Which.
    pub cell: Cell,
    /// Which of its 8 bytes, a bit each.
    pub bytes: u8,
    /// How.
    pub mode: Mode,
}

impl Touch {
    /// Whether it is the place where a thread that waits in a queue learns that it was woken.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        self.cell >> 60 == WAIT_CELLS >> 60
    }

    /// Whether it is about whether a thread lives.
    #[must_use]
    pub fn is_life(&self) -> bool {
        self.cell >> 60 == THREAD_CELLS >> 60
    }

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

/// What an event touches.
#[must_use]
#[inline]
pub fn footprint(event: &Event) -> Footprint {
    let mut prints = Footprint::new();
    event.op.footprint(event.thread, &mut prints);
    if event.exposed {
        prints.push(program_touch(event.thread));
        if event.changes_takers() {
            prints.push(file_touch(io::file(io::TAKERS), Mode::Share));
        }
    }
    prints
}

/// The first four bytes stand for a synchronising object: the smallest ones have no more, and two
/// of them share a cell.
#[inline]
pub(crate) fn object_touch(object: u64, mode: Mode) -> Touch {
    Touch { cell: object >> 3, bytes: 0x0f << (object & 4), mode }
}

/// Whether a thread lives.
#[inline]
pub(crate) fn thread_touch(thread: u16, mode: Mode) -> Touch {
    Touch { cell: THREAD_CELLS | u64::from(thread), bytes: 0xff, mode }
}

/// The place where a thread that waits in a queue learns that it was woken. Threads whose wake-ups
/// are not told apart share one.
#[inline]
pub(crate) fn wait_touch(thread: u16) -> Touch {
    Touch { cell: WAIT_CELLS | u64::from(thread.min(Woken::LIMIT)), bytes: 0xff, mode: Mode::Write }
}

/// One round of a barrier.
#[inline]
pub(crate) fn round_touch(barrier: u64, round: u64, mode: Mode) -> Touch {
    Touch { cell: ROUND_CELLS | (barrier >> 3) ^ ((round & 0xffff) << 44), bytes: 0xff, mode }
}

/// The queue of a futex word, which is not the word itself; whether a thread is inside a guard;
/// the writers that wait for a read-write lock.
#[inline]
pub(crate) fn queue_touch(word: u64, mode: Mode) -> Touch {
    Touch { cell: QUEUE_CELLS | (word >> 2), bytes: 0xff, mode }
}

/// Where a thread is in its program: a handler that interrupts it depends on that.
#[inline]
pub(crate) fn program_touch(thread: u16) -> Touch {
    Touch { cell: PROGRAM_CELLS | u64::from(thread), bytes: 0xff, mode: Mode::Write }
}

/// A pipe, or a thing of a regular file.
#[inline]
pub(crate) fn file_touch(identity: u64, mode: Mode) -> Touch {
    Touch { cell: FILE_CELLS | identity, bytes: 0xff, mode }
}

/// Bytes of memory, at least one.
#[inline]
pub(crate) fn bytes_touch(addr: u64, size: u64, mode: Mode, into: &mut Footprint) {
    let size = size.max(1);
    if size <= 8 - (addr & 7) {
        let bytes = ((1u16 << size) - 1) << (addr & 7);
        into.push(Touch { cell: addr >> 3, bytes: bytes as u8, mode });
    } else {
        into.extend(cells(addr, size).map(|(cell, bytes)| Touch { cell, bytes, mode }));
    }
}

/// The bytes of a cell that lie in the range from `addr` to `end`, a bit each.
#[must_use]
pub fn bytes_within(cell: Cell, addr: u64, end: u64) -> u8 {
    let from = addr.saturating_sub(cell << 3).min(8);
    let to = end.saturating_sub(cell << 3).min(8);
    if from < to { (((1u16 << (to - from)) - 1) << from) as u8 } else { 0 }
}

/// The cells of a range of bytes, with the bytes that lie in the range.
pub fn cells(addr: u64, size: u64) -> impl Iterator<Item = (Cell, u8)> {
    let end = addr.saturating_add(size);
    let mut at = addr;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (cell, from) = (at >> 3, at & 7);
            let length = (8 - from).min(end - at);
            at += length;
            (cell, (((1u16 << length) - 1) << from) as u8)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_into_cells() {
        let cut = |addr, size| cells(addr, size).collect::<Vec<_>>();
        assert_eq!(cut(0x1006, 4), [(0x200, 0b1100_0000), (0x201, 0b11)]);
        assert_eq!(cut(0x1000, 8), [(0x200, 0xff)]);
        assert_eq!(cut(0x1007, 10), [(0x200, 0x80), (0x201, 0xff), (0x202, 0x01)]);
        assert_eq!(cut(0x1000, 0), []);
        assert_eq!(cut(u64::MAX - 1, 8), [(u64::MAX >> 3, 0x40)]);
    }

    #[test]
    fn the_bytes_of_a_cell_are_those_of_its_range() {
        for (addr, size) in [(0x1006, 4), (0x1001, 3), (0x0ff8, 24), (0x1008, 1)] {
            for cell in 0x1fe..0x204 {
                let found = cells(addr, size).find(|&(other, _)| other == cell).map_or(0, |(_, bytes)| bytes);
                assert_eq!(bytes_within(cell, addr, addr + size), found);
            }
        }
    }

    #[test]
    fn a_small_range_touches_what_its_cells_say() {
        for (addr, size) in [(0x1000, 0), (0x1003, 1), (0x1004, 4), (0x1004, 5), (0x1001, 30)] {
            let mut touches = Footprint::new();
            bytes_touch(addr, size, Mode::Write, &mut touches);
            let found: Vec<_> = touches.iter().map(|touch| (touch.cell, touch.bytes)).collect();
            assert_eq!(found, cells(addr, size.max(1)).collect::<Vec<_>>());
        }
    }
}
