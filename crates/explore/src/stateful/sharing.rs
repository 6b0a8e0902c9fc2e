//! Which bytes several threads access in conflicting ways, in some execution that was seen.
//!
//! Only accesses to such bytes can race, so only they are kept in summaries. When bytes turn out to
//! be shared, summaries that were made before lack accesses and are given up.

use raddle_model::depend::cells;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::flow::SharedAccess;

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
}

impl Sharing {
    /// Notes an access; whether bytes became shared by it.
    pub fn note(&mut self, access: SharedAccess) -> bool {
        self.known.insert(access) && self.note_cells(access)
    }

    fn note_cells(&mut self, access: SharedAccess) -> bool {
        let mut became = false;
        for (cell, bytes) in cells(access.range.addr, access.range.size) {
            let cell = self.cells.entry(cell).or_default();
            if cell.is_shared {
                continue;
            }
            let conflicts = |(other, others): &(SharedAccess, u8)| {
                other.thread != access.thread && others & bytes != 0 && other.what.conflicts(access.what)
            };
            if cell.accesses.iter().any(conflicts) {
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
        let mut cells = cells(access.range.addr, access.range.size);
        cells.any(|(cell, _)| self.cells.get(&cell).is_some_and(|cell| cell.is_shared))
    }
}
