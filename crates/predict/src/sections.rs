//! The critical sections of a trace, by lock, thread and position.

use std::collections::BTreeMap;

use crate::trace::{ObservedTrace, Slot, SyncOp, Tid};

/// From an acquisition to its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The acquisition.
    pub event: u32,
    /// The thread's position before it.
    pub index: u32,
    /// The thread's position after the release, if there is one.
    pub release: Option<u32>,
    /// Whether the lock is held exclusively.
    pub alone: bool,
}

impl Section {
    /// Whether two threads cannot be in the two sections at the same time.
    pub fn excludes(&self, other: &Section) -> bool {
        self.alone || other.alone
    }

    /// Whether a thread at position `limit` has entered the section and not left it.
    pub fn is_open(&self, limit: u32) -> bool {
        self.index < limit && self.release.is_none_or(|release| release > limit)
    }
}

/// All sections of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    /// Sections of each thread, in order, for each lock that several threads acquire.
    by_lock: BTreeMap<Slot, Vec<(Tid, Vec<Section>)>>,
}

impl Sections {
    /// Finds the sections of a trace.
    pub fn of(trace: &ObservedTrace) -> Self {
        let mut all: BTreeMap<Slot, BTreeMap<Tid, Vec<Section>>> = BTreeMap::new();
        // A thread may acquire a rwlock for reading more than once.
        let mut depth: BTreeMap<(Slot, Tid), u32> = BTreeMap::new();
        for (number, event) in trace.events.iter().enumerate() {
            if let Some((slot, alone)) = acquires(&event.op) {
                let depth = depth.entry((slot, event.thread)).or_default();
                *depth += 1;
                if *depth == 1 {
                    let section = Section { event: number as u32, index: event.index, release: None, alone };
                    all.entry(slot).or_default().entry(event.thread).or_default().push(section);
                }
            }
            if let Some(slot) = releases(&event.op)
                && let Some(depth) = depth.get_mut(&(slot, event.thread)).filter(|depth| **depth > 0)
            {
                *depth -= 1;
                let own = all.get_mut(&slot).and_then(|threads| threads.get_mut(&event.thread)?.last_mut());
                if let Some(section) = own.filter(|_| *depth == 0) {
                    section.release = Some(event.index + 1);
                }
            }
        }
        let shared = all.into_iter().filter(|(_, threads)| threads.len() > 1);
        Sections { by_lock: shared.map(|(slot, threads)| (slot, threads.into_iter().collect())).collect() }
    }

    /// Locks that several threads acquire.
    pub fn shared(&self) -> impl Iterator<Item = Slot> + '_ {
        self.by_lock.keys().copied()
    }

    /// The last section that each thread has entered before its limit.
    pub fn last(&self, slot: Slot, limits: &[u32]) -> Vec<(Tid, Section)> {
        let threads = self.by_lock.get(&slot).map_or(&[][..], Vec::as_slice);
        let last = |(thread, sections): &(Tid, Vec<Section>)| {
            let entered = sections.partition_point(|section| section.index < limits[usize::from(*thread)]);
            Some((*thread, sections[entered.checked_sub(1)?]))
        };
        threads.iter().filter_map(last).collect()
    }

    /// The same among sections that exclude `section`.
    pub fn last_excluding(&self, slot: Slot, section: &Section, limits: &[u32]) -> Vec<(Tid, Section)> {
        let threads = self.by_lock.get(&slot).map_or(&[][..], Vec::as_slice);
        let last = |(thread, sections): &(Tid, Vec<Section>)| {
            let entered = sections.partition_point(|section| section.index < limits[usize::from(*thread)]);
            let other = sections[..entered].iter().rfind(|other| other.excludes(section))?;
            Some((*thread, *other))
        };
        threads.iter().filter_map(last).collect()
    }

    /// The section that an event begins or ends, of a lock that several threads acquire.
    pub fn at(&self, trace: &ObservedTrace, event: u32) -> Option<(Slot, Section)> {
        let event = &trace.events[event as usize];
        let slot = acquires(&event.op).map(|(slot, _)| slot).or_else(|| releases(&event.op))?;
        let threads = self.by_lock.get(&slot)?;
        let (_, sections) = threads.iter().find(|(thread, _)| *thread == event.thread)?;
        let entered = sections.partition_point(|section| section.index <= event.index);
        Some((slot, sections[entered.checked_sub(1)?]))
    }
}

/// The lock that an event acquires, and whether exclusively.
fn acquires(op: &SyncOp) -> Option<(Slot, bool)> {
    match *op {
        SyncOp::Lock(slot) | SyncOp::WriteLock(slot) | SyncOp::Resume { mutex: Some(slot), .. } => Some((slot, true)),
        SyncOp::ReadLock(slot) => Some((slot, false)),
        _ => None,
    }
}

/// The lock that an event releases.
fn releases(op: &SyncOp) -> Option<Slot> {
    match *op {
        SyncOp::Unlock(slot)
        | SyncOp::WriteUnlock(slot)
        | SyncOp::ReadUnlock(slot)
        | SyncOp::OnceEnd(slot)
        | SyncOp::Enqueue { mutex: Some(slot), .. } => Some(slot),
        _ => None,
    }
}
