//! Schedules that show a finding, each of them run before it is believed.

use raddle_exec::recording::{RecordingNames, ScheduleEntry, entries_of};
use raddle_model::finding::WitnessKind;
use raddle_model::race::{AccessPosition, Race, Side};
use raddle_model::{Access, Event, Execution, Operation as _, ThreadPath};

use super::closure::{ThreadPosition, causal_closure};
use super::confirm::{Confirmer, Replayed, Then};
use super::order::{fewest_preemptions, preemptions};
use crate::error::Error;

/// A schedule and what came of running it.
pub struct Witness {
    /// The schedule, with stops.
    pub entries: Vec<ScheduleEntry>,
    /// Preemptions in it.
    pub preemptions: u32,
    /// The run that confirmed it.
    pub run: Replayed,
    /// How strong it is, for a race.
    pub kind: Option<WitnessKind>,
    /// Whether the run showed the finding. One that did not is a bug of raddle.
    pub confirmed: bool,
}

/// An execution of the search with what all its witnesses need.
pub struct Found<'a> {
    /// The execution.
    pub execution: &'a Execution,
    entries: Vec<ScheduleEntry>,
    spurious: u32,
    /// Preemptions that a witness may have; the execution itself has no more.
    bound: u32,
}

impl<'a> Found<'a> {
    /// Names the execution's steps once for all findings in it.
    pub fn new(execution: &'a Execution, spurious: u32, names: &dyn RecordingNames) -> Self {
        Found { execution, entries: entries_of(execution, spurious, names), spurious, bound: u32::MAX }
    }

    /// Allows no witness with more preemptions than that.
    #[must_use]
    pub fn bounded(self, preemptions: Option<u32>) -> Self {
        Found { bound: preemptions.unwrap_or(u32::MAX), ..self }
    }

    /// A witness of a race: both threads stand before their accesses, or at least the second one
    /// does.
    pub fn race(&self, race: &Race, confirmer: &mut Confirmer) -> Result<Witness, Error> {
        let (first, second) = (self.point(&race.first), self.point(&race.second));
        if let Some(chosen) = causal_closure(self.execution, &[first, second]) {
            // One thread waits before its access while the other goes to its own.
            let (order, preemptions) = fewest_preemptions(self.execution, &chosen, self.spurious);
            let entries = self.schedule(&order, &[first, second]);
            let run = confirmer.run(&entries, Then::Stop)?;
            let stands = self.stands_before(&run, &race.first) && self.stands_before(&run, &race.second);
            if stands && preemptions <= self.bound {
                return Ok(Witness { entries, preemptions, run, kind: Some(WitnessKind::Adjacent), confirmed: true });
            }
        }
        self.unordered(race, second, confirmer)
    }

    /// The observed run up to the second access.
    fn unordered(&self, race: &Race, second: ThreadPosition, confirmer: &mut Confirmer) -> Result<Witness, Error> {
        let order: Vec<usize> = (0..second.before as usize).collect();
        let entries = self.schedule(&order, &[second]);
        let run = confirmer.run(&entries, Then::Stop)?;
        let confirmed = self.stands_before(&run, &race.second) && self.was_made(&run, &race.first);
        let preemptions = preemptions(self.execution, &order, self.spurious);
        Ok(Witness { entries, preemptions, run, kind: Some(WitnessKind::Unordered), confirmed })
    }

    /// The observed run once more, up to an access.
    pub fn stopped_before(&self, access: &Access, confirmer: &mut Confirmer) -> Result<Replayed, Error> {
        confirmer.run(&self.entries_before(access), Then::Stop)
    }

    /// The observed run once more, up to an event.
    pub fn stopped_before_event(&self, event: usize, confirmer: &mut Confirmer) -> Result<Replayed, Error> {
        let order: Vec<usize> = (0..event).collect();
        confirmer.run(&self.schedule(&order, &[]), Then::Stop)
    }

    /// The observed schedule up to an access.
    pub fn entries_before(&self, access: &Access) -> Vec<ScheduleEntry> {
        let order: Vec<usize> = (0..access.after as usize).collect();
        self.schedule(&order, &[ThreadPosition::before_access(access)])
    }

    /// A witness of something that shows in a run that goes to its end: what the points need, then
    /// whatever the policy does. If that does not show it, the observed schedule as it was.
    pub fn to_the_end(
        &self,
        points: &[ThreadPosition],
        confirmer: &mut Confirmer,
        shows: &mut dyn FnMut(&Execution) -> bool,
    ) -> Result<Witness, Error> {
        let all: Vec<usize> = (0..self.execution.events.len()).collect();
        let mut tries = Vec::new();
        if let Some(chosen) = causal_closure(self.execution, points) {
            tries.push(fewest_preemptions(self.execution, &chosen, self.spurious));
        }
        tries.push(fewest_preemptions(self.execution, &all, self.spurious));
        tries.retain(|(_, preemptions)| *preemptions <= self.bound);
        // The shorter schedule, unless the longer one has fewer preemptions.
        tries.sort_by_key(|(_, preemptions)| *preemptions);
        let mut attempt = |order: &[usize], preemptions: u32| -> Result<Witness, Error> {
            let entries = self.schedule(order, &[]);
            let run = confirmer.run(&entries, Then::Rest)?;
            let confirmed = run.followed && shows(&run.execution);
            Ok(Witness { entries, preemptions, run, kind: None, confirmed })
        };
        for (order, preemptions) in tries {
            let witness = attempt(&order, preemptions)?;
            if witness.confirmed {
                return Ok(witness);
            }
        }
        attempt(&all, preemptions(self.execution, &all, self.spurious))
    }

    fn point(&self, side: &Side) -> ThreadPosition {
        match side.position {
            AccessPosition::Access(number) => ThreadPosition::before_access(&self.execution.accesses[number as usize]),
            AccessPosition::Event(number) => ThreadPosition::before_event(self.execution, number as usize),
        }
    }

    /// The entries of the steps, with the stops that the points ask for behind the last step of
    /// each thread.
    fn schedule(&self, order: &[usize], points: &[ThreadPosition]) -> Vec<ScheduleEntry> {
        let mut entries: Vec<ScheduleEntry> = order.iter().map(|&index| self.entries[index].clone()).collect();
        for point in points {
            let last = order.iter().rposition(|&index| self.execution.events[index].thread == point.thread);
            if let Some(last) = last {
                entries[last].stop = point.access;
            }
        }
        entries
    }

    fn path(&self, thread: u16) -> &ThreadPath {
        &self.execution.threads[usize::from(thread)].path
    }

    /// Whether the side's thread stands before the same access at the end of a run.
    fn stands_before(&self, run: &Replayed, side: &Side) -> bool {
        let Some(thread) = number_of(&run.execution, self.path(side.thread)) else { return false };
        match side.position {
            AccessPosition::Access(number) => {
                let access = &self.execution.accesses[number as usize];
                run.followed
                    && run.detail.parked.iter().any(|parked| {
                        let same = (parked.access.pc, parked.access.addr) == (access.pc, access.addr);
                        same && parked.access.thread == thread
                    })
            }
            AccessPosition::Event(number) => {
                let step = &self.execution.events[number as usize];
                let pending = &run.execution.pending[usize::from(thread)].event;
                run.followed && is_same_operation(pending, step)
            }
        }
    }

    /// Whether the side's thread made the same access in a run.
    fn was_made(&self, run: &Replayed, side: &Side) -> bool {
        let Some(thread) = number_of(&run.execution, self.path(side.thread)) else { return false };
        match side.position {
            AccessPosition::Access(number) => {
                let access = &self.execution.accesses[number as usize];
                let same = |other: &&raddle_model::Access| {
                    (other.thread, other.pc, other.addr) == (thread, access.pc, access.addr)
                };
                run.execution.accesses.iter().any(|other| same(&other))
            }
            AccessPosition::Event(number) => {
                let step = &self.execution.events[number as usize];
                run.execution.events.iter().any(|other| other.thread == thread && is_same_operation(other, step))
            }
        }
    }
}

/// Whether both are the same operation on the same object at the same place, whatever became of it.
fn is_same_operation(one: &Event, other: &Event) -> bool {
    (one.op.kind(), one.op.object(), one.pc) == (other.op.kind(), other.op.object(), other.pc)
}

/// The run-local number of a thread.
pub fn number_of(execution: &Execution, path: &ThreadPath) -> Option<u16> {
    execution.threads.iter().position(|thread| thread.path == *path).map(|number| number as u16)
}
