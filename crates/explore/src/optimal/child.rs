//! One child: which events it makes instead, and whether the execution is its parent.

use raddle_vocab::ThreadSet;
use smallvec::SmallVec;

use super::WorkItem;
use super::cursor::{ChosenEvent, Cursor, Pick};
use super::expand::{Expander, SleepEntry, SleepSummary, meets};

/// A run beside the execution, in which one of its events sleeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sim {
    cursor: Cursor,
    /// Numbers in [`Expander::slept`].
    asleep: Vec<u32>,
    /// Index in `asleep` of the event that sleeps.
    z: usize,
    sleep_summary: SleepSummary,
    /// Events made beside the execution.
    path: Vec<u32>,
}

impl Expander {
    /// Appends the children that differ first at this position.
    pub(super) fn children_at(&mut self, position: usize, children: &mut Vec<WorkItem>) {
        self.replay.seek(&self.trace.events, position);
        let mut sim = std::mem::take(&mut self.sim);
        sim.cursor.stand_at(&self.trace, &self.base, position);
        sim.path.clear();
        sim.asleep.clear();
        sim.asleep.extend_from_slice(self.sleep_set(position));
        sim.z = sim.asleep.len();
        let slept = self.slept.len();
        self.fall_asleep(&mut sim, self.own_event(position));
        sim.sleep_summary = self.sleep_summary(&sim.asleep);
        let mark = self.replay.leave();
        self.simulate(position, &mut sim, children);
        self.replay.come_back(mark);
        self.slept.truncate(slept);
        self.sim = sim;
    }

    fn asleep<'a>(&'a self, sim: &'a Sim) -> impl Iterator<Item = &'a ChosenEvent> {
        sim.asleep.iter().map(|&number| &self.slept[number as usize].chosen)
    }

    fn fall_asleep(&mut self, sim: &mut Sim, chosen: ChosenEvent) {
        sim.asleep.push(self.slept.len() as u32);
        self.slept.push(SleepEntry::new(chosen, sim.cursor.made, &mut self.trace, &self.replay));
    }

    /// Goes on by the policy without the events asleep, as long as the execution does the same.
    /// Stops at an event that depends on the one that sleeps.
    fn simulate(&mut self, position: usize, sim: &mut Sim, children: &mut Vec<WorkItem>) {
        loop {
            let Sim { cursor, asleep, sleep_summary, .. } = &mut *sim;
            let is_asleep = |thread, choice| {
                let is_it = |chosen: &ChosenEvent| (chosen.event.thread, chosen.choice) == (thread, choice);
                asleep.iter().any(|&number| is_it(&self.slept[number as usize].chosen))
            };
            match cursor.pick(self.facts(), &sleep_summary.sleeping_threads, is_asleep) {
                Pick::Nothing => return,
                Pick::Next(next) => {
                    if self.may_stay_asleep(next, sim) {
                        let mut other = sim.clone();
                        let slept = self.slept.len();
                        self.fall_asleep(&mut other, self.own_event(next as usize));
                        other.sleep_summary = self.sleep_summary(&other.asleep);
                        let mark = self.replay.leave();
                        self.simulate(position, &mut other, children);
                        self.replay.come_back(mark);
                        self.slept.truncate(slept);
                    }
                    if !self.take(next, sim) {
                        return;
                    }
                }
                Pick::Other(thread, choice) => {
                    let Some(chosen) = sim.cursor.event(&self.trace, &self.replay, thread, choice) else { return };
                    if chosen.is_dependent_with(&self.slept[sim.asleep[sim.z] as usize].chosen) {
                        self.stop(position, sim, &chosen, children);
                    }
                    let z = &self.slept[sim.asleep[sim.z] as usize].chosen;
                    let stays_asleep = || {
                        !self.is_delicate(&chosen, z)
                            && !self.may_be_woken(position, &chosen, |other| sim.cursor.has(&self.trace, other))
                    };
                    if self.is_always_reinserted(position, &chosen, sim) || stays_asleep() {
                        return;
                    }
                    self.fall_asleep(sim, chosen);
                    sim.sleep_summary = self.sleep_summary(&sim.asleep);
                }
            }
        }
    }

    /// Whether the event, once asleep, would be reinserted in every child: what wakes it also
    /// depends on the event that sleeps.
    fn is_always_reinserted(&self, position: usize, chosen: &ChosenEvent, sim: &Sim) -> bool {
        !self.thorough
            && chosen.event.op.has_one_successor()
            && !chosen.event.op.is_arrival()
            && self.covers(position, &chosen.touches)
            && self.asleep(sim).all(|sleeper| chosen.is_dependent_with(sleeper))
    }

    /// Makes an event that the execution makes, too; false if it wakes the event that sleeps, which
    /// cannot happen in a sound execution.
    fn take(&mut self, next: u32, sim: &mut Sim) -> bool {
        // Other successors of the same operation may sleep, and a choice of values touches no cell.
        let may_choose = self.trace.summaries[next as usize].may_choose;
        let woken = if self.trace.mask(next as usize) & sim.sleep_summary.cells == 0 && !may_choose {
            Some(SmallVec::new())
        } else if self.trace.events[next as usize].op.is_arrival() {
            let mut chosen = self.own_event(next as usize);
            self.reconsider(&mut chosen);
            self.woken(sim, |number| chosen.is_dependent_with(&self.slept[number as usize].chosen))
        } else {
            self.woken(sim, |number| self.wakes(next as usize, number))
        };
        sim.cursor.take(&self.trace, &mut self.replay, next);
        sim.path.push(next);
        let Some(woken) = woken else { return false };
        if !woken.is_empty() {
            sim.z -= woken.iter().filter(|&&index| index < sim.z).count();
            for &index in woken.iter().rev() {
                sim.asleep.remove(index);
            }
            sim.sleep_summary = self.sleep_summary(&sim.asleep);
        }
        true
    }

    /// Indices of the events that wake; `None` if the event that sleeps is among them.
    fn woken(&self, sim: &Sim, wakes: impl Fn(u32) -> bool) -> Option<SmallVec<[usize; 4]>> {
        let woken: SmallVec<_> = (0..sim.asleep.len()).filter(|&index| wakes(sim.asleep[index])).collect();
        (!woken.contains(&sim.z)).then_some(woken)
    }

    /// Which arrival is the last of a round is the one thing about an event that others change
    /// without conflict.
    fn reconsider(&self, chosen: &mut ChosenEvent) {
        if chosen.event.op.is_arrival() {
            chosen.event = self.replay.world().outcome_of(&chosen.event, chosen.choice);
        }
    }

    /// Whether an event that the execution makes here could be among those reinserted together.
    fn may_stay_asleep(&self, next: u32, sim: &Sim) -> bool {
        let touches = self.trace.touches(next as usize);
        let thread = self.trace.events[next as usize].thread;
        self.fragile.iter().any(|(other, cells)| {
            *other != thread
                && meets(cells, touches)
                && self.asleep(sim).any(|chosen| {
                    meets(cells, &chosen.touches) && !self.trace.conflicts(next as usize, &chosen.touches)
                })
        })
    }

    /// The child that ends in `x`, if the execution is its parent.
    fn stop(&mut self, position: usize, sim: &Sim, x: &ChosenEvent, children: &mut Vec<WorkItem>) {
        if !self.has_required(position, &sim.cursor) || !self.asleep(sim).all(|event| x.is_dependent_with(event)) {
            return;
        }
        for later in (sim.z + 1..sim.asleep.len()).rev() {
            if self.reinsert(later, sim, x).is_some() {
                return;
            }
        }
        let Some(again) = self.reinsert(sim.z, sim, x) else { return };
        let mark = self.replay.leave();
        let is_host = self.is_host(sim, again.as_ref(), position);
        self.replay.come_back(mark);
        if is_host {
            let schedule = self.schedule(position, &sim.path, x);
            children.push(WorkItem { schedule });
        }
    }

    /// Whether making the sleeping event here wakes all events that fell asleep before it: by
    /// itself (`Some(None)`), or together with what `x` becomes behind it.
    fn reinsert(&mut self, index: usize, sim: &Sim, x: &ChosenEvent) -> Option<Option<ChosenEvent>> {
        let mut chosen = self.slept[sim.asleep[index] as usize].chosen.clone();
        self.reconsider(&mut chosen);
        if self.asleep(sim).take(index).all(|sleeper| chosen.is_dependent_with(sleeper)) {
            return Some(None);
        }
        if x.event.thread == chosen.event.thread {
            return None;
        }
        let mark = self.replay.leave();
        self.replay.apply(&chosen.event);
        let again = sim.cursor.event_behind(&self.trace, &self.replay, x, &chosen);
        self.replay.come_back(mark);
        let again = again?;
        let mut rest = self.asleep(sim).take(index).filter(|sleeper| !chosen.is_dependent_with(sleeper));
        rest.all(|sleeper| again.is_dependent_with(sleeper)).then_some(Some(again))
    }

    /// Whether the policy continues as the execution does from the state in which the event that
    /// slept is reinserted (and `again` made behind it).
    fn is_host(&mut self, sim: &Sim, again: Option<&ChosenEvent>, position: usize) -> bool {
        let mut cursor = std::mem::take(&mut self.host);
        cursor.copy_from(&sim.cursor);
        cursor.take(&self.trace, &mut self.replay, position as u32);
        let is_host = again.is_none_or(|event| self.repeat(&mut cursor, event)) && self.follows_policy(&mut cursor);
        self.host = cursor;
        is_host
    }

    /// Makes the event if the execution does.
    fn repeat(&mut self, cursor: &mut Cursor, chosen: &ChosenEvent) -> bool {
        let thread = usize::from(chosen.event.thread);
        let next = self.trace.positions[thread].get(cursor.next[thread] as usize).copied();
        match next {
            Some(next) if cursor.is_ready(&self.trace, next) && self.choices[next as usize] == chosen.choice => {
                cursor.take(&self.trace, &mut self.replay, next);
                true
            }
            _ => false,
        }
    }

    fn follows_policy(&mut self, cursor: &mut Cursor) -> bool {
        let none_asleep = ThreadSet::new();
        let follows = loop {
            // Behind the forced part the execution itself shows what the policy does.
            if cursor.is_along(&self.trace).is_some_and(|made| made as usize >= self.forced) {
                break true;
            }
            if let Some(known) = self.hosts.visit(&cursor.next, cursor.made) {
                break known;
            }
            match cursor.pick(self.facts(), &none_asleep, |_, _| false) {
                Pick::Next(next) => cursor.take(&self.trace, &mut self.replay, next),
                Pick::Nothing => break cursor.made as usize == self.trace.events.len(),
                Pick::Other(..) => break false,
            }
        };
        self.hosts.decide(follows);
        follows
    }
}
