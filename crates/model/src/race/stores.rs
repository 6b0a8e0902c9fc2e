//! What the stores of atomic locations publish, where a read may read another one than the last.
//!
//! A store carries the clocks of the release sequences that it belongs to: its own, if it releases
//! or stands behind a release fence; those of earlier stores of its thread to the location, if it
//! goes on with them; and if it is the write of a read-modify-write, all that the store carries
//! that this reads.

use rustc_hash::FxHashMap;

use crate::clock::join;
use crate::weak::AtomicDetail;

/// A store.
#[derive(Debug)]
pub(super) struct Published {
    thread: u16,
    /// What it publishes itself.
    own: Vec<u32>,
    /// What a read of it may take over.
    pub all: Vec<u32>,
}

/// The stores of an execution.
#[derive(Debug, Default)]
pub(super) struct Stores {
    details: Vec<AtomicDetail>,
    /// By the first byte of the location, in modification order.
    by_place: FxHashMap<u64, Vec<Published>>,
}

impl Stores {
    pub fn reset(&mut self, details: &[AtomicDetail]) {
        self.details.clear();
        self.details.extend_from_slice(details);
        self.by_place.clear();
    }

    /// What the event is beside what it says.
    pub fn detail(&self, event: u32) -> Option<AtomicDetail> {
        let at = self.details.binary_search_by_key(&event, |detail| detail.event).ok()?;
        Some(self.details[at])
    }

    /// Whether reads may read other stores than the last one.
    #[inline]
    pub fn are_told_apart(&self) -> bool {
        !self.details.is_empty()
    }

    /// The store that has so many others behind it; `None` for what was there before all stores.
    pub fn read(&self, addr: u64, behind: u16) -> Option<&Published> {
        let stores = self.by_place.get(&addr)?;
        stores.get(stores.len().checked_sub(1 + usize::from(behind))?)
    }

    /// Adds a store with so many behind it. `own`: what it publishes itself; `before`: what it goes
    /// on with as a part of a read-modify-write.
    pub fn add(&mut self, addr: u64, behind: u16, store: (u16, Vec<u32>), before: Option<Vec<u32>>, continues: bool) {
        let (thread, own) = store;
        let stores = self.by_place.entry(addr).or_default();
        let mut all = own.clone();
        if continues {
            stores.iter().filter(|other| other.thread == thread).for_each(|other| join(&mut all, &other.own));
        }
        if let Some(before) = before {
            join(&mut all, &before);
        }
        let at = stores.len().saturating_sub(usize::from(behind));
        stores.insert(at, Published { thread, own, all });
    }

    /// What lies at the address is new from now on.
    pub fn forget(&mut self, addr: u64) {
        self.by_place.remove(&addr);
    }
}
