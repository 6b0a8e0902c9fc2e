//! One child: which steps it makes instead, and whether the execution is its parent.

use raddle_vocab::OpKind;

use super::Unit;
use super::cursor::{Cursor, Event, Pick};
use super::expand::{Expander, Sleeper, meets};

/// A run beside the execution, in which one of its steps sleeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sim {
    cursor: Cursor,
    asleep: Vec<Sleeper>,
    /// Index in `asleep` of the step that sleeps.
    z: usize,
    /// Steps made beside the execution.
    path: Vec<u32>,
}

impl Sim {
    fn is_asleep(&self, thread: u16, choice: u16) -> bool {
        self.asleep.iter().any(|sleeper| sleeper.event.step.thread == thread && sleeper.event.choice == choice)
    }

    fn sleep(&mut self, event: Event) {
        let since = self.cursor.made;
        self.asleep.push(Sleeper { event, since });
    }
}

impl Expander {
    /// Appends the children that differ first at this position.
    pub(super) fn children_at(&mut self, position: usize, children: &mut Vec<Unit>) {
        self.replay.seek(&self.record.steps, position);
        let mut sim = std::mem::take(&mut self.sim);
        let mut base = std::mem::take(&mut self.base);
        base.look(self.facts());
        sim.cursor.copy_from(&base);
        self.base = base;
        sim.path.clear();
        sim.asleep.clear();
        sim.asleep.extend_from_slice(self.sleepers(position));
        sim.z = sim.asleep.len();
        sim.sleep(self.own_event(position));
        let mark = self.replay.leave();
        self.simulate(position, &mut sim, children);
        self.replay.come_back(mark);
        self.sim = sim;
    }

    /// Goes on by the policy without those asleep, as long as the execution does the same, and stops at what disturbs
    /// the step that sleeps.
    fn simulate(&mut self, position: usize, sim: &mut Sim, children: &mut Vec<Unit>) {
        loop {
            let mut cursor = std::mem::take(&mut sim.cursor);
            let pick = cursor.pick(self.facts(), &|thread, choice| sim.is_asleep(thread, choice));
            sim.cursor = cursor;
            match pick {
                Pick::Nothing => return,
                Pick::Next(next) => {
                    if self.may_stay_asleep(next, sim) {
                        let mut other = sim.clone();
                        other.sleep(self.own_event(next as usize));
                        let mark = self.replay.leave();
                        self.simulate(position, &mut other, children);
                        self.replay.come_back(mark);
                    }
                    if !self.take(next, sim) {
                        return;
                    }
                }
                Pick::Other(event) => {
                    if event.disturbs(&sim.asleep[sim.z].event) {
                        self.stop(position, sim, &event, children);
                    }
                    if self.fragile.is_empty()
                        && !self.may_be_woken(position, &event, |step| sim.cursor.has(&self.record, step))
                    {
                        return;
                    }
                    sim.sleep(event);
                }
            }
        }
    }

    /// Makes a step that the execution makes, too; false if it disturbs what sleeps, which cannot be in a sound execution.
    fn take(&mut self, next: u32, sim: &mut Sim) -> bool {
        let mut event = self.own_event(next as usize);
        self.reconsider(&mut event);
        sim.cursor.take(&self.record, &mut self.replay, next);
        sim.path.push(next);
        if sim.asleep.len() == 1 {
            return !event.disturbs(&sim.asleep[0].event);
        }
        if event.disturbs(&sim.asleep[sim.z].event) {
            return false;
        }
        let woken = sim.asleep[..sim.z].iter().filter(|sleeper| event.disturbs(&sleeper.event)).count();
        sim.z -= woken;
        sim.asleep.retain(|sleeper| !event.disturbs(&sleeper.event));
        true
    }

    /// Which arrival is the last of a round is the one thing about a step that others change without conflict.
    fn reconsider(&self, event: &mut Event) {
        if event.step.kind == OpKind::BarrierArrive {
            event.step = self.replay.world().outcome_of(&event.step, event.choice);
        }
    }

    /// Whether a step that the execution makes here could be among those put back together.
    fn may_stay_asleep(&self, next: u32, sim: &Sim) -> bool {
        let touches = self.record.touches(next as usize);
        let thread = self.record.steps[next as usize].thread;
        self.fragile.iter().any(|(other, cells)| {
            *other != thread
                && meets(cells, touches)
                && sim.asleep.iter().any(|sleeper| {
                    meets(cells, &sleeper.event.touches)
                        && !self.record.conflicts(next as usize, &sleeper.event.touches)
                })
        })
    }

    /// The child that ends in `x`, if the execution is its parent.
    fn stop(&mut self, position: usize, sim: &Sim, x: &Event, children: &mut Vec<Unit>) {
        if !sim.asleep.iter().all(|sleeper| x.disturbs(&sleeper.event)) {
            return;
        }
        for later in (sim.z + 1..sim.asleep.len()).rev() {
            if self.put_back(later, sim, x).is_some() {
                return;
            }
        }
        let Some(again) = self.put_back(sim.z, sim, x) else { return };
        let mark = self.replay.leave();
        let is_host = self.is_host(sim, again.as_ref(), position);
        self.replay.come_back(mark);
        if is_host {
            children.push(Unit { schedule: self.schedule(position, &sim.path, x) });
        }
    }

    /// Whether making the sleeper's event here keeps all earlier sleepers from being possible as they were: by itself
    /// (`Some(None)`), or with what `x` is behind it.
    fn put_back(&mut self, index: usize, sim: &Sim, x: &Event) -> Option<Option<Event>> {
        let mut event = sim.asleep[index].event.clone();
        self.reconsider(&mut event);
        let mut rest = sim.asleep[..index].iter().filter(|sleeper| !event.disturbs(&sleeper.event)).peekable();
        if rest.peek().is_none() {
            return Some(None);
        }
        if x.step.thread == event.step.thread {
            return None;
        }
        let mark = self.replay.leave();
        self.replay.apply(&event.step);
        let again = sim.cursor.event_behind(&self.record, &self.replay, x, &event);
        self.replay.come_back(mark);
        let again = again?;
        rest.all(|sleeper| again.disturbs(&sleeper.event)).then_some(Some(again))
    }

    /// Whether the execution is what the policy makes of the state in which the step that slept is put back (and `again`
    /// made behind it).
    fn is_host(&mut self, sim: &Sim, again: Option<&Event>, position: usize) -> bool {
        let mut cursor = std::mem::take(&mut self.host);
        cursor.copy_from(&sim.cursor);
        cursor.take(&self.record, &mut self.replay, position as u32);
        let is_host = again.is_none_or(|event| self.repeat(&mut cursor, event)) && self.follows_policy(&mut cursor);
        self.host = cursor;
        is_host
    }

    /// Makes the event if the execution does.
    fn repeat(&mut self, cursor: &mut Cursor, event: &Event) -> bool {
        let thread = usize::from(event.step.thread);
        let next = self.record.positions[thread].get(cursor.next[thread] as usize).copied();
        match next {
            Some(next) if cursor.is_ready(&self.record, next) && self.choices[next as usize] == event.choice => {
                cursor.take(&self.record, &mut self.replay, next);
                true
            }
            _ => false,
        }
    }

    fn follows_policy(&mut self, cursor: &mut Cursor) -> bool {
        loop {
            // Behind the forced part the execution itself shows what the policy does.
            if cursor.low == cursor.made && cursor.low as usize >= self.forced {
                return true;
            }
            match cursor.pick(self.facts(), &|_, _| false) {
                Pick::Next(next) => cursor.take(&self.record, &mut self.replay, next),
                Pick::Nothing => return cursor.made as usize == self.record.steps.len(),
                Pick::Other(_) => return false,
            }
        }
    }
}
