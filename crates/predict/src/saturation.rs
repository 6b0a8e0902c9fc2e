//! The order that follows if certain events are all made and every read keeps its writer.
//!
//! Three rules are applied to must-happen-before and the reads-from relation until they add
//! nothing:
//!
//! * A write that is before a read is before the read's writer. A write that is after the writer is
//!   after the read.
//! * A section of a lock that begins before another one ends also ends before the other one begins.
//! * A section that is not left is after all other sections of its lock.
//!
//! If an event would be before itself, there is no such order. An event is known by thread and
//! index. The row of an event holds how many events of each thread are made once the event is made,
//! including itself.

use raddle_model::ClockTable;
use raddle_model::clock::join_changes;
use rustc_hash::FxHashMap;

use crate::order::MustHappenBefore;
use crate::pins::ReadsFrom;
use crate::sections::{Section, Sections};
use crate::trace::{ObservedTrace, Slot, Tid, Var};

/// Entries of all rows together, at most.
const MOST_ENTRIES: usize = 8_000_000;

/// Thread and index of an event.
type At = (Tid, u32);

/// Writes and reads of each variable, computed once for a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct VariableAccesses {
    /// Events of a thread that write a variable, in order.
    writes: FxHashMap<(Var, Tid), Vec<u32>>,
    /// Events that read what an event (plus 1; 0 for the initial value) wrote.
    readers: FxHashMap<(Var, u32), Vec<At>>,
}

impl VariableAccesses {
    pub(crate) fn of(trace: &ObservedTrace, flow: &ReadsFrom) -> Self {
        let mut users = VariableAccesses::default();
        for (number, event) in trace.events.iter().enumerate() {
            for &read in flow.reads(number as u32) {
                users.readers.entry(read).or_default().push((event.thread, event.index));
            }
            for &var in flow.writes(number as u32) {
                users.writes.entry((var, event.thread)).or_default().push(event.index);
            }
        }
        users
    }

    /// The last write of a thread before an index.
    fn last_write(&self, var: Var, thread: Tid, before: u32) -> Option<u32> {
        let writes = self.writes.get(&(var, thread))?;
        writes[..writes.partition_point(|&index| index < before)].last().copied()
    }

    fn readers(&self, var: Var, writer: u32) -> &[At] {
        self.readers.get(&(var, writer)).map_or(&[], Vec::as_slice)
    }
}

/// Everything that the rules use.
#[derive(Clone, Copy)]
pub(crate) struct SaturationInput<'a> {
    pub trace: &'a ObservedTrace,
    pub flow: &'a ReadsFrom,
    pub order: &'a MustHappenBefore,
    pub sections: &'a Sections,
    pub users: &'a VariableAccesses,
}

/// Why there is no [`Saturated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsaturated {
    /// No order of the events exists.
    Contradiction,
    /// There are too many events.
    TooLarge,
}

/// A partial order of the events up to some limits, closed under the rules.
pub(crate) struct Saturated<'a> {
    ground: SaturationInput<'a>,
    limits: &'a [u32],
    /// Rows of each thread.
    rows: Vec<ClockTable>,
    /// For each thread, the range of rows to which the rules have to be applied again.
    again: Vec<(u32, u32)>,
}

impl<'a> Saturated<'a> {
    /// Applies the rules.
    pub(crate) fn new(ground: SaturationInput<'a>, limits: &'a [u32]) -> Result<Self, Unsaturated> {
        let width = limits.len();
        let events: usize = limits.iter().map(|&limit| limit as usize).sum();
        if events.saturating_mul(width) > MOST_ENTRIES {
            return Err(Unsaturated::TooLarge);
        }
        let rows_of = |thread: usize| {
            let mut rows = ClockTable::default();
            rows.reset(width);
            for index in 0..limits[thread] {
                rows.push(ground.order.clock(thread as Tid, index + 1));
                rows.row_mut(index as usize)[thread] = index + 1;
            }
            rows
        };
        let rows = (0..width).map(rows_of).collect();
        let again = limits.iter().map(|&limit| (0, limit)).collect();
        let mut saturated = Saturated { ground, limits, rows, again };
        saturated.saturate().ok_or(Unsaturated::Contradiction)?;
        Ok(saturated)
    }

    /// Whether threads at these positions have made all events that an event needs.
    pub(crate) fn allows(&self, (thread, index): At, position: impl Fn(Tid) -> u32) -> bool {
        let row = self.row((thread, index));
        (0..self.limits.len()).all(|other| other == usize::from(thread) || row[other] <= position(other as Tid))
    }

    fn row(&self, (thread, index): At) -> &[u32] {
        self.rows[usize::from(thread)].row(index as usize)
    }

    fn saturate(&mut self) -> Option<()> {
        while let Some(thread) = (0..self.again.len()).find(|&thread| self.again[thread].0 < self.again[thread].1) {
            let (from, to) = std::mem::replace(&mut self.again[thread], (u32::MAX, 0));
            for index in from..to {
                self.apply((thread as Tid, index))?;
            }
        }
        Some(())
    }

    /// Applies the rules to one event.
    fn apply(&mut self, at: At) -> Option<()> {
        let event = self.ground.trace.event_at(at.0, at.1)?;
        for &(var, writer) in self.ground.flow.reads(event) {
            self.read(at, var, writer)?;
        }
        for &var in self.ground.flow.writes(event) {
            self.write(at, var)?;
        }
        if let Some((slot, section)) = self.ground.sections.at(self.ground.trace, event) {
            let open = section.is_open(self.limits[usize::from(at.0)]);
            if open || section.release == Some(at.1 + 1) {
                self.leave(at.0, slot, section, open)?;
            }
        }
        Some(())
    }

    /// Writes that are before the read are before its writer.
    fn read(&mut self, at: At, var: Var, writer: u32) -> Option<()> {
        let source = writer.checked_sub(1).map(|event| self.ground.trace.position(event));
        for thread in 0..self.limits.len() as Tid {
            let before = if thread == at.0 { at.1 } else { self.row(at)[usize::from(thread)] };
            let Some(index) = self.ground.users.last_write(var, thread, before) else { continue };
            if source != Some((thread, index)) {
                self.put((thread, index), source?)?;
            }
        }
        Some(())
    }

    /// Reads of values from before the write are before the write.
    fn write(&mut self, at: At, var: Var) -> Option<()> {
        let users = self.ground.users;
        self.put_all(users.readers(var, 0), at)?;
        for thread in 0..self.limits.len() as Tid {
            let before = if thread == at.0 { at.1 } else { self.row(at)[usize::from(thread)] };
            let earlier = users.last_write(var, thread, before);
            let Some(event) = earlier.and_then(|index| self.ground.trace.event_at(thread, index)) else { continue };
            self.put_all(users.readers(var, event + 1), at)?;
        }
        Some(())
    }

    fn put_all(&mut self, readers: &[At], at: At) -> Option<()> {
        let made = |&&(thread, index): &&At| index < self.limits[usize::from(thread)] && (thread, index) != at;
        let readers: Vec<At> = readers.iter().filter(made).copied().collect();
        readers.into_iter().try_for_each(|reader| self.put(reader, at))
    }

    /// Sections that begin before this one ends are left before it begins.
    fn leave(&mut self, thread: Tid, slot: Slot, section: Section, open: bool) -> Option<()> {
        let bounds = match section.release.filter(|_| !open) {
            Some(release) => self.row((thread, release - 1)).to_vec(),
            None => self.limits.to_vec(),
        };
        for (other, entered) in self.ground.sections.last_excluding(slot, &section, &bounds) {
            if other == thread {
                continue;
            }
            let release = entered.release.filter(|&release| release <= self.limits[usize::from(other)])?;
            self.put((other, release - 1), (thread, section.index))?;
        }
        Some(())
    }

    /// Orders an event before another one; `None` if the reverse is already known.
    fn put(&mut self, first: At, second: At) -> Option<()> {
        let known = if first.0 == second.0 { second.1 } else { self.row(second)[usize::from(first.0)] };
        if known > first.1 {
            return Some(());
        }
        if first.0 == second.0 || self.row(first)[usize::from(second.0)] > second.1 {
            return None;
        }
        let needed = self.row(first).to_vec();
        let mut rows = vec![(second, needed)];
        while let Some(((thread, start), needed)) = rows.pop() {
            // All later events of the thread need it as well, up to the first that already does.
            let mut end = start;
            while end < self.limits[usize::from(thread)] && self.join((thread, end), &needed)? {
                end += 1;
            }
            if end > start {
                self.look_again(thread, start, end);
                rows.extend(self.dependents(thread, start, end));
            }
        }
        Some(())
    }

    /// Joins into a row; whether that changed it, `None` if an event would be before itself.
    fn join(&mut self, (thread, index): At, needed: &[u32]) -> Option<bool> {
        let row = self.rows[usize::from(thread)].row_mut(index as usize);
        let changed = join_changes(row, needed);
        (row[usize::from(thread)] == index + 1).then_some(changed)
    }

    fn look_again(&mut self, thread: Tid, start: u32, end: u32) {
        let again = &mut self.again[usize::from(thread)];
        *again = (again.0.min(start), again.1.max(end));
    }

    /// Rows of other threads that have to grow with these: for each thread, the first rows that
    /// need them.
    fn dependents(&self, thread: Tid, start: u32, end: u32) -> Vec<(At, Vec<u32>)> {
        let width = self.limits.len();
        let mut found = Vec::new();
        for other in (0..width).filter(|&other| other != usize::from(thread)) {
            let mut at = start;
            // Rows that need the same index grow by the same row.
            while at < end {
                let needs = |index: u32| self.row((other as Tid, index))[usize::from(thread)];
                let first = first_index(self.limits[other], |index| needs(index) > at);
                if first == self.limits[other] {
                    break;
                }
                let last_needed = needs(first).min(end);
                found.push(((other as Tid, first), self.row((thread, last_needed - 1)).to_vec()));
                at = last_needed;
            }
        }
        found
    }
}

/// The first index below `count` for which a monotonic predicate holds; `count` if there is none.
fn first_index(count: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
