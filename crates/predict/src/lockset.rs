//! Lock sets, each stored once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::trace::{Slot, SlotInfo, SyncOp};

/// A lock that is held: twice its slot, plus 1 if it is held for reading.
type Held = u32;

/// All lock sets of a trace. A set is known by its number; 0 is the empty set.
#[derive(Clone, Debug)]
pub struct LockSets {
    sets: Vec<Arc<[Held]>>,
    numbers: FxHashMap<Arc<[Held]>, u32>,
}

impl Default for LockSets {
    fn default() -> Self {
        let none: Arc<[Held]> = Arc::default();
        LockSets { sets: vec![none.clone()], numbers: FxHashMap::from_iter([(none, 0)]) }
    }
}

impl LockSets {
    /// The number of a sorted set.
    pub(crate) fn intern(&mut self, set: &[Held]) -> u32 {
        if let Some(&number) = self.numbers.get(set) {
            return number;
        }
        let number = self.sets.len() as u32;
        let set: Arc<[Held]> = set.into();
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        number
    }

    /// The set with this number, sorted.
    #[must_use]
    pub(crate) fn get(&self, number: u32) -> &[Held] {
        &self.sets[number as usize]
    }

    /// The slots in a set, with whether each is held for writing.
    pub fn slots(&self, number: u32) -> impl Iterator<Item = (Slot, bool)> + '_ {
        self.get(number).iter().map(|held| (held / 2, held % 2 == 0))
    }

    /// Whether threads can hold both sets at the same time.
    #[must_use]
    pub fn compatible(&self, a: u32, b: u32) -> bool {
        if a == 0 || b == 0 {
            return true;
        }
        self.slots(a)
            .all(|(lock, writes)| self.slots(b).all(|(other, other_writes)| lock != other || !(writes || other_writes)))
    }
}

/// Whether every lock of the first set is in the second, held in the same way.
pub(crate) fn within(a: &[Held], b: &[Held]) -> bool {
    a.iter().all(|held| b.binary_search(held).is_ok())
}

/// Applies an event to the set of locks that its thread holds. Locks that threads other than the
/// owner release protect nothing and are left out.
pub(crate) fn apply(held: &mut Vec<Held>, op: &SyncOp, slots: &[SlotInfo]) {
    let mut take = |lock: Held| {
        if !slots[(lock / 2) as usize].loose {
            // A thread may hold a rwlock for reading more than once.
            let at = held.partition_point(|&other| other < lock);
            held.insert(at, lock);
        }
    };
    match *op {
        SyncOp::Lock(slot) | SyncOp::WriteLock(slot) | SyncOp::Resume { mutex: Some(slot), .. } => take(slot * 2),
        SyncOp::ReadLock(slot) => take(slot * 2 + 1),
        SyncOp::Unlock(slot)
        | SyncOp::WriteUnlock(slot)
        | SyncOp::OnceEnd(slot)
        | SyncOp::Enqueue { mutex: Some(slot), .. } => {
            give(held, slot * 2);
        }
        SyncOp::ReadUnlock(slot) => give(held, slot * 2 + 1),
        _ => {}
    }
}

fn give(held: &mut Vec<Held>, lock: Held) {
    if let Ok(at) = held.binary_search(&lock) {
        held.remove(at);
    }
}
