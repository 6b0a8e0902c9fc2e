//! Which bytes several threads access in conflicting ways, in some execution that was seen.
//!
//! Only accesses to such bytes can race, so only they are kept in summaries. When bytes turn out to
//! be shared, summaries that were made before lack accesses and are given up.

use raddle_model::depend::{bytes_within, cells};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::flow::{Range, SharedAccess};

/// Accesses to more bytes are not cut into cells. They are taken to be shared.
pub(super) const LARGE: u64 = if cfg!(test) { 64 } else { 1 << 16 };

/// What is known of one cell.
#[derive(Debug, Default)]
struct CellUse {
    is_shared: bool,
    /// Different accesses, with the bytes of the cell.
    accesses: SmallVec<[(SharedAccess, u8); 2]>,
}

/// Sharing of memory.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    cells: FxHashMap<u64, CellUse>,
    known: FxHashSet<SharedAccess>,
    large: Vec<SharedAccess>,
}

impl Sharing {
    /// Notes an access; whether bytes became shared by it.
    pub fn note(&mut self, access: SharedAccess) -> bool {
        if !self.known.insert(access) {
            return false;
        }
        if access.range.size > LARGE { self.note_large(access) } else { self.note_cells(access) }
    }

    /// Cells become shared that a large access has in common with others.
    fn note_large(&mut self, access: SharedAccess) -> bool {
        self.large.push(access);
        let mut became = false;
        for (cell, bytes) in met(self.cells.keys(), access.range) {
            let Some(cell) = self.cells.get_mut(&cell).filter(|cell| !cell.is_shared) else { continue };
            if cell.accesses.iter().any(|(other, others)| others & bytes != 0 && conflicts(other, &access)) {
                cell.is_shared = true;
                became = true;
            }
        }
        became
    }

    fn note_cells(&mut self, access: SharedAccess) -> bool {
        let mut became = false;
        for (cell, bytes) in cells(access.range.addr, access.range.size) {
            let cell = self.cells.entry(cell).or_default();
            if cell.is_shared {
                continue;
            }
            let is_met = |(other, others): &(SharedAccess, u8)| others & bytes != 0 && conflicts(other, &access);
            let is_in = |large: &SharedAccess| large.range.overlaps(access.range) && conflicts(large, &access);
            if cell.accesses.iter().any(is_met) || self.large.iter().any(is_in) {
                cell.is_shared = true;
                cell.accesses = SmallVec::new();
                became = true;
            } else if !cell
                .accesses
                .iter()
                .any(|(other, others)| (other.thread, other.what, *others) == (access.thread, access.what, bytes))
            {
                cell.accesses.push((access, bytes));
            }
        }
        became
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

    fn access(thread: u16, addr: u64, size: u64, what: Touching) -> SharedAccess {
        SharedAccess { thread, range: Range { addr, size }, what }
    }

    /// An access to most of the address space makes those bytes shared that another thread accesses, in
    /// either order.
    #[test]
    fn large_accesses_share_what_they_meet() {
        let large = access(0, 0x1000, u64::MAX - 0x1000, Touching::Write);
        let (met, missed) = (access(1, 0x2004, 4, Touching::Read), access(1, 0xff8, 8, Touching::Read));
        for order in [[large, met], [met, large]] {
            let mut sharing = Sharing::default();
            assert!(!sharing.note(order[0]) && sharing.note(order[1]));
            assert!(!sharing.note(missed));
            assert!(sharing.is_shared(&met) && sharing.is_shared(&large) && !sharing.is_shared(&missed));
        }
        let mut sharing = Sharing::default();
        assert!(!sharing.note(large) && !sharing.note(access(0, 0x2004, 4, Touching::Read)), "one thread");
    }
}
