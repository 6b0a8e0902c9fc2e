//! Which bytes several threads access in conflicting ways, in some execution that was seen, and not
//! always under the same mutex.
//!
//! Only accesses to such bytes can race, so only they are kept in summaries. When bytes turn out to
//! be shared, summaries that were made before lack accesses and are given up.

use raddle_model::depend::{bytes_within, cells};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::flow::{Range, SharedAccess};
use super::ordered::Mutexes;

/// Accesses to more bytes are not cut into cells. They are taken to be shared.
pub(super) const LARGE: u64 = if cfg!(test) { 64 } else { 1 << 16 };

/// What is known of one cell.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CellUse {
    is_shared: bool,
    /// Whether threads access it in conflicting ways.
    has_conflict: bool,
    /// Different accesses, with the bytes of the cell; none of a cell with a conflict.
    accesses: SmallVec<[(SharedAccess, u8); 2]>,
    /// Mutexes that were held at every access, once there was one.
    guards: Option<Mutexes>,
}

impl CellUse {
    /// Whether it became shared.
    fn settle(&mut self) -> bool {
        let is_shared = self.has_conflict && self.guards.as_ref().is_none_or(|guards| guards.is_empty());
        !std::mem::replace(&mut self.is_shared, is_shared) && is_shared
    }

    /// Notes a conflict; whether it became shared.
    fn meet(&mut self) -> bool {
        self.has_conflict = true;
        self.accesses = SmallVec::new();
        self.settle()
    }
}

/// Sharing of memory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sharing {
    cells: FxHashMap<u64, CellUse>,
    known: FxHashSet<(SharedAccess, Mutexes)>,
    large: Vec<SharedAccess>,
}

impl Sharing {
    /// Notes an access under these mutexes; whether bytes became shared by it.
    pub fn note(&mut self, access: SharedAccess, guards: &Mutexes) -> bool {
        if !self.known.insert((access, guards.clone())) {
            return false;
        }
        if access.range.size > LARGE { self.note_large(access) } else { self.note_cells(access, guards) }
    }

    /// Cells become shared that a large access has in common with others. It counts as one without
    /// a mutex.
    fn note_large(&mut self, access: SharedAccess) -> bool {
        self.large.push(access);
        let mut became = false;
        for (cell, bytes) in met(self.cells.keys(), access.range) {
            let Some(cell) = self.cells.get_mut(&cell).filter(|cell| !cell.is_shared) else { continue };
            cell.guards = Some(Mutexes::new());
            let meets = |(other, others): &(SharedAccess, u8)| others & bytes != 0 && conflicts(other, &access);
            became |= if cell.accesses.iter().any(meets) { cell.meet() } else { cell.settle() };
        }
        became
    }

    fn note_cells(&mut self, access: SharedAccess, guards: &Mutexes) -> bool {
        let mut became = false;
        for (cell, bytes) in cells(access.range.addr, access.range.size) {
            let cell = self.cells.entry(cell).or_default();
            if cell.is_shared {
                continue;
            }
            let is_met = |(other, others): &(SharedAccess, u8)| others & bytes != 0 && conflicts(other, &access);
            let is_in = |large: &SharedAccess| large.range.overlaps(access.range) && conflicts(large, &access);
            let is_in_large = self.large.iter().any(is_in);
            match &mut cell.guards {
                _ if is_in_large => cell.guards = Some(Mutexes::new()),
                Some(common) => common.retain(|guard| guards.contains(guard)),
                None => cell.guards = Some(guards.clone()),
            }
            if is_in_large || cell.accesses.iter().any(is_met) {
                became |= cell.meet();
                continue;
            }
            became |= cell.settle();
            let is_same = |(other, others): &(SharedAccess, u8)| {
                (other.thread, other.what, *others) == (access.thread, access.what, bytes)
            };
            if !cell.has_conflict && !cell.accesses.iter().any(is_same) {
                cell.accesses.push((access, bytes));
            }
        }
        became
    }

    /// What some mutex orders is no longer known: only those that are trusted count.
    pub fn distrust(&mut self, is_trusted: impl Fn(u64) -> bool) {
        for cell in self.cells.values_mut() {
            if let Some(guards) = &mut cell.guards {
                guards.retain(|guard| is_trusted(*guard));
            }
            cell.settle();
        }
        self.known.clear();
    }

    /// Whether the access may race.
    pub fn is_shared(&self, access: &SharedAccess) -> bool {
        let mut cells = cells(access.range.addr, access.range.size.min(LARGE));
        access.range.size > LARGE || cells.any(|(cell, _)| self.cells.get(&cell).is_some_and(|cell| cell.is_shared))
    }
}

/// Whether the two accesses may race if they have bytes in common.
fn conflicts(one: &SharedAccess, other: &SharedAccess) -> bool {
    one.thread != other.thread && one.what.conflicts(other.what)
}

/// Those of the cells that lie in the range, with the bytes that do, in order.
pub(super) fn met<'a>(cells: impl Iterator<Item = &'a u64>, range: Range) -> Vec<(u64, u8)> {
    let within = cells.map(|&cell| (cell, bytes_within(cell, range.addr, range.end())));
    let mut met: Vec<_> = within.filter(|&(_, bytes)| bytes != 0).collect();
    met.sort_unstable();
    met
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::race::Touching;

    fn none() -> Mutexes {
        Mutexes::new()
    }

    /// Bytes that are always accessed under one mutex are not shared, until they are accessed
    /// otherwise or the mutex is not what it seemed.
    #[test]
    fn a_mutex_keeps_bytes_from_being_shared() {
        let (one, two, both) = (Mutexes::from_slice(&[1]), Mutexes::from_slice(&[2]), Mutexes::from_slice(&[1, 2]));
        let write = |thread| access(thread, 0x1000, 4, Touching::Write);
        let mut sharing = Sharing::default();
        assert!(!sharing.note(write(0), &both) && !sharing.note(write(1), &one) && !sharing.is_shared(&write(1)));
        assert!(sharing.note(write(0), &two) && sharing.is_shared(&write(1)));
        let mut sharing = Sharing::default();
        assert!(!sharing.note(write(0), &one) && !sharing.note(write(1), &both) && !sharing.is_shared(&write(1)));
        sharing.distrust(|mutex| mutex != 1);
        assert!(sharing.is_shared(&write(0)));
    }

    fn access(thread: u16, addr: u64, size: u64, what: Touching) -> SharedAccess {
        SharedAccess { thread, range: Range { addr, size }, what }
    }

    /// An access to most of the address space makes those bytes shared that another thread
    /// accesses, in either order.
    #[test]
    fn large_accesses_share_what_they_meet() {
        let large = access(0, 0x1000, u64::MAX - 0x1000, Touching::Write);
        let (met, missed) = (access(1, 0x2004, 4, Touching::Read), access(1, 0xff8, 8, Touching::Read));
        for order in [[large, met], [met, large]] {
            let mut sharing = Sharing::default();
            assert!(!sharing.note(order[0], &none()) && sharing.note(order[1], &none()));
            assert!(!sharing.note(missed, &none()));
            assert!(sharing.is_shared(&met) && sharing.is_shared(&large) && !sharing.is_shared(&missed));
        }
        let mut sharing = Sharing::default();
        assert!(
            !sharing.note(large, &none()) && !sharing.note(access(0, 0x2004, 4, Touching::Read), &none()),
            "one thread"
        );
    }
}
