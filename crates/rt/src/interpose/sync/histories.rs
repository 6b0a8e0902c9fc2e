//! The stores of atomic locations in modification order, for memory models in which a load may read
//! another store than the last one.
//!
//! The runtime knows no memory model. A schedule says how many stores stand behind the one that an
//! operation reads, or behind the place of its own; without a word that is none. Memory holds the
//! last store. If it does not, something else has written there, and the history begins anew with
//! what it holds.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use raddle_vocab::RunStatus;
use raddle_wire::history::{Histories, KeptLocation, KeptStore, MAX_LOCATIONS, MAX_STORES};

use crate::sched;
use crate::state::process;

/// Locations that are used before the run is ended, so that looking one up stays fast.
const ENOUGH: u32 = (MAX_LOCATIONS / 4 * 3) as u32;

/// Keeps stores in the shared file from now on.
pub fn attach(file: *mut u8, arena: usize) {
    // SAFETY: the caller checked that the file is large enough.
    process().histories = unsafe { file.add(raddle_wire::histories_offset(arena)) }.cast();
}

/// Whether stores are kept.
#[inline(always)]
pub fn are_kept() -> bool {
    !process().histories.is_null()
}

fn histories() -> Option<&'static Histories> {
    // SAFETY: null, or within the shared file, which stays mapped and which no other process of
    // this target uses while this one runs. All of it are atomics, of which any bits are a value.
    unsafe { process().histories.as_ref() }
}

/// Forgets the stores of earlier runs.
pub fn begin_run() {
    if let Some(all) = histories() {
        all.run.store(all.run.load(Relaxed).wrapping_add(1), Relaxed);
        all.locations_used.store(0, Relaxed);
        all.stores_used.store(0, Relaxed);
    }
}

/// The history of a location.
pub struct History {
    all: &'static Histories,
    location: &'static KeptLocation,
}

impl History {
    /// That of the location at an address, which holds `now`; `None` if stores are not kept.
    pub fn of(address: u64, log_size: u8, now: u64) -> Option<Self> {
        let all = histories()?;
        let key = address | u64::from(log_size) << 56;
        let run = all.run.load(Relaxed);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % MAX_LOCATIONS;
        let location = loop {
            let location = &all.locations[at];
            if location.run.load(Relaxed) != run {
                break location;
            }
            if location.key.load(Relaxed) == key {
                let history = History { all, location };
                if history.store(location.last.load(Relaxed)).value.load(Relaxed) != now {
                    location.last.store(history.add(now, 0), Relaxed);
                }
                return Some(history);
            }
            at = (at + 1) % MAX_LOCATIONS;
        };
        if take_number(&all.locations_used, ENOUGH).is_none() {
            sched::finish(RunStatus::Cut, 0);
        }
        let history = History { all, location };
        location.last.store(history.add(now, 0), Relaxed);
        location.key.store(key, Relaxed);
        location.run.store(run, Relaxed);
        Some(history)
    }

    fn store(&self, number: u32) -> &'static KeptStore {
        &self.all.stores[number as usize - 1]
    }

    /// Notes a store that stands behind the one with the number `before`.
    fn add(&self, value: u64, before: u32) -> u32 {
        let Some(number) = take_number(&self.all.stores_used, MAX_STORES as u32) else {
            sched::finish(RunStatus::Cut, 0);
        };
        let store = self.store(number);
        store.value.store(value, Relaxed);
        store.before.store(before, Relaxed);
        number
    }

    /// The link to the store that has so many others behind it.
    fn link(&self, behind: u16) -> &'static AtomicU32 {
        let mut link = &self.location.last;
        for _ in 0..behind {
            link = match link.load(Relaxed) {
                0 => sched::diverge(),
                number => &self.store(number).before,
            };
        }
        link
    }

    /// What the store holds that has so many others behind it.
    pub fn read(&self, behind: u16) -> u64 {
        match self.link(behind).load(Relaxed) {
            0 => sched::diverge(),
            number => self.store(number).value.load(Relaxed),
        }
    }

    /// Puts a store where so many others stand behind it. The first one stays the first.
    pub fn insert(&self, behind: u16, value: u64) {
        let link = self.link(behind);
        let before = link.load(Relaxed);
        if before == 0 {
            sched::diverge();
        }
        link.store(self.add(value, before), Relaxed);
    }
}

/// Counts up to a bound; the new count.
fn take_number(count: &AtomicU32, bound: u32) -> Option<u32> {
    let number = count.load(Relaxed) + 1;
    if number > bound {
        return None;
    }
    count.store(number, Relaxed);
    Some(number)
}
