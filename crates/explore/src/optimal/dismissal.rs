//! Dismissal rules: why no child differs first at a position, so that no simulation is needed.
//!
//! Notation: z is the event at the position, u what the execution H did before it. A child that
//! differs first at z has the schedule u A x: it leaves z out, makes events A of H that are
//! independent of z, and then x, which wakes z (see [`super`]). `1:w(x)` is a write of x by thread
//! 1, and threads are numbered by rank. A bar stands where the schedule of H ends.
//!
//! Each rule has a lemma that says when a position has no child. [`Expander::thorough`] applies no
//! rule. In debug builds every decision about a short execution is compared with a simulation that
//! applies none (`is_complete`), and a test does so for random programs. The examples are tests
//! below.
//!
//! * **Undisputed** (`may_be_raced`). Lemma: if every later event that touches a cell of z has to
//!   wait for z, whatever order was chosen before, nothing overtakes z. So it is with the creation,
//!   the start and the end of a thread, which its start and its joins wait for, and with an unlock
//!   by the owner, which locks wait for, as long as no other kind of operation touches the cell.
//!   Example: `| 1:lock(m) 1:unlock(m) 2:lock(m) 2:unlock(m)`. The only child overtakes
//!   `1:lock(m)`; the unlock is undisputed.
//! * **Inversion** (`is_excluded_by_inversion`). Let y be an event of the schedule that wakes an
//!   event s which the policy prefers to y and which stays possible, let z be a position before s
//!   fell asleep, and let nothing between z and y be independent of y and less preferred. Lemma: y
//!   is in A for every child that differs first at z. For if the policy had taken y later, it would
//!   have taken s first. So if y depends on z, no child differs first at z (unless y can be x', the
//!   event that is made behind z to wake the others).
//!   Example: `1:w(p) 2:r(p) 2:w(x) | 1:w(x)`, and z is `1:w(p)`. The event `2:w(x)` wakes the
//!   preferred `1:w(x)` and depends on z by `2:r(p)`. The trace that begins with `2:r(p)` is a
//!   child of the root instead, in which `1:w(x)` comes first.
//! * **Unraced** (`is_raced`). Lemma: x is of another thread and conflicts with z, or is another
//!   successor of the operation of z, and x or an event of A wakes every event that is asleep at z.
//!   Where the thread of x can go on to x whatever other threads do, and only events dependent on z
//!   could wake x, A contains only events of lower rank than x.
//!   Example: `| 1:w(x) 1:end 2:join(1) 2:r(x)`. The read conflicts with the write, but the join
//!   before it is behind the write, so nothing overtakes the write.
//! * **Barred** (`is_excluded_by_sleeper`). Let y be in A for every child at z, as in *Inversion*,
//!   and let y be independent of z. Let s be an event that the policy takes before y if z is left
//!   out, that H does not take there, and that no event independent of z wakes. Lemma: if no
//!   operation is fragile, no child differs first at z. For s falls asleep in such a child, and
//!   only x can wake it. Behind s, x still wakes z, so reinserting s is good, and the parent
//!   reinserts s or an event that fell asleep later.
//!   Example: `1:w(p) 3:w(x) 1:w(x) 1:w(q) | 2:w(pq)`, where `pq` covers p and q, and z is
//!   `1:w(p)`. The event `3:w(x)` is in A, and the policy takes `2:w(pq)` before it. Only `1:w(q)`
//!   could wake `2:w(pq)`, but it depends on z.
//! * **Last thread** (`trace_index`). Lemma: what a thread does when it is alone, and behind
//!   everything that other threads did, has no other order. It is not even indexed.
//!   Example: `| 0:join(1) 0:lock(m) 0:unlock(m) 0:end`, if thread 1 was the last one.
//!
//! Two more rules end a simulation early (`child`): events that *Inversion* requires must be in A
//! (`has_required`), and an event s that falls asleep behind z is not followed if only events that
//! depend on z wake it, for the same reason as in *Barred* (`is_always_reinserted`).

use raddle_model::object::{AtomicAction, AtomicOp};
use raddle_model::{Op, Operation as _};

use super::WorkItem;
use super::cursor::class_of;
use super::expand::{Expander, SleepEntry};
use super::overtake::is_unconditional;
use super::trace_index::EventSummary;

/// Decisions about longer executions are not compared with a simulation.
const MOST_CHECKED_EVENTS: usize = 16;

/// A rule by which a position is dismissed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Undisputed,
    Inversion,
    Unraced,
    Barred,
}

/// How many positions were dismissed by each rule. They are logged when the search ends.
#[derive(Debug, Default)]
pub(super) struct DismissalCounts {
    by_rule: [u64; 4],
    simulated: u64,
}

impl DismissalCounts {
    /// Counts a position; without a rule it was simulated.
    #[inline]
    pub fn add(&mut self, rule: Option<Rule>) {
        match rule {
            Some(rule) => self.by_rule[rule as usize] += 1,
            None => self.simulated += 1,
        }
    }
}

impl Drop for DismissalCounts {
    fn drop(&mut self) {
        let [undisputed, inversion, unraced, barred] = self.by_rule;
        if undisputed + inversion + unraced + barred + self.simulated > 0 {
            tracing::debug!(undisputed, inversion, unraced, barred, simulated = self.simulated, "positions dismissed");
        }
    }
}

impl Expander {
    /// The rule by which no child differs first at `position`, if there is one.
    pub(super) fn dismissal(&self, position: usize) -> Option<Rule> {
        if !self.may_be_raced(position) {
            Some(Rule::Undisputed)
        } else if self.is_excluded_by_inversion(position) {
            Some(Rule::Inversion)
        } else if !self.is_raced(position) {
            Some(Rule::Unraced)
        } else {
            self.is_excluded_by_sleeper(position).then_some(Rule::Barred)
        }
    }

    /// Whether these are the children that a simulation without any rule finds at `position`. Not
    /// asked for long executions.
    pub(super) fn is_complete(&mut self, position: usize, found: &[WorkItem]) -> bool {
        if self.thorough || self.trace.events.len() > MOST_CHECKED_EVENTS {
            return true;
        }
        let mut all = Vec::new();
        self.thorough = true;
        self.children_at(position, &mut all);
        self.thorough = false;
        all == found
    }

    /// A cheap test whether an operation of another thread might overtake the event.
    fn may_be_raced(&self, position: usize) -> bool {
        let trace = &self.trace;
        !trace.stopped.is_empty()
            || self.has_alternative(position)
            || (0..trace.touches(position).len()).any(|index| !trace.is_undisputed(position, index))
    }

    /// Whether no child differs first at `position` because of an inversion: it would have to make
    /// an event that depends on the one at `position`.
    fn is_excluded_by_inversion(&self, position: usize) -> bool {
        self.required(position).any(|required| {
            let EventSummary { thread, seq, .. } = self.trace.summaries[required];
            let is_direct = || {
                let previous = seq.checked_sub(1).map(|seq| self.trace.positions[usize::from(thread)][seq as usize]);
                previous.is_none_or(|previous| !self.trace.is_before(position, previous as usize))
            };
            // What depends on it directly could be what is made behind it to wake the others.
            self.trace.is_before(position, required) && (self.wakes_sleep_set(position) || !is_direct())
        })
    }

    /// Whether the event wakes its whole sleep set. The sleep set behind it must be known.
    fn wakes_sleep_set(&self, position: usize) -> bool {
        let next = self.sleep_set(position + 1);
        // Events that sleep on come first, then those that fall asleep there.
        next.first().is_none_or(|&number| self.slept[number as usize].since as usize > position)
            && (self.sleep_set(position).is_empty() || !self.trace.events[position].op.is_arrival())
    }

    /// Whether no child differs first at `position` because of a sleeping event: the policy would
    /// make this event before one that the child has to make, and nothing would wake it.
    fn is_excluded_by_sleeper(&self, position: usize) -> bool {
        self.fragile.is_empty()
            && self.required(position).any(|required| {
                !self.trace.is_before(position, required)
                    && self.sleepers(required).any(|sleeper| self.is_made_before(sleeper, position, required))
            })
    }

    /// Whether the sleeping event would be made before the event at `later` in every child that
    /// differs first at `position`.
    fn is_made_before(&self, sleeper: &SleepEntry, position: usize, later: usize) -> bool {
        let (trace, chosen) = (&self.trace, &sleeper.chosen);
        let is_possible = match chosen.event.op {
            op if op.can_block() => false,
            Op::Atomic(AtomicOp { action: AtomicAction::Store { .. }, .. }) => true,
            op => op.is_load() && is_unconditional(&chosen.event, trace),
        };
        is_possible
            && sleeper.since as usize > position
            && (0, sleeper.rank) < trace.summaries[later].key
            && self.is_reached(chosen.event.thread, position, later)
            && !self.is_delicate(chosen, &self.own_event(position))
            && !self.may_be_woken(position, chosen, |_| false)
    }

    /// Whether the thread still reaches its state before the event at `later` if the one at
    /// `position` is left out: the policy makes all that the thread has made by then, and all that
    /// this depends on, before that event.
    fn is_reached(&self, thread: u16, position: usize, later: usize) -> bool {
        let trace = &self.trace;
        let own = &trace.positions[usize::from(thread)];
        let before = own.partition_point(|&other| (other as usize) < later);
        let Some(&last) = before.checked_sub(1).map(|index| &own[index]) else { return false };
        let sleeps =
            |thread: usize| self.sleepers(position).any(|other| usize::from(other.chosen.event.thread) == thread);
        let past = trace.clock(last as usize).iter().zip(&self.base).enumerate();
        !sleeps(usize::from(thread))
            && !trace.is_before(position, last as usize)
            && past.into_iter().filter(|(_, (clock, base))| clock > base).all(|(other, (&clock, &base))| {
                (0, trace.ranks[other]) < trace.summaries[later].key
                    && !sleeps(other)
                    && trace.positions[other][base as usize..clock as usize].iter().all(|&at| {
                        let made = &trace.events[at as usize];
                        made.op.has_one_successor() && class_of(made) == 0
                    })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::fixture::{done, event, execution};
    use raddle_model::{Choice, Event, Execution};
    use raddle_vocab::{MemOrder, OpKind, Words};

    const M: u64 = 0x100;
    const X: u64 = 0x200;
    const P: u64 = 0x1000;
    const Q: u64 = P + 4;

    fn access(thread: u16, kind: OpKind, addr: u64, size: u32) -> Event {
        event(thread, Words { order: MemOrder::SeqCst, size, ..Words::new(kind).on(addr, 0) })
    }

    fn write(thread: u16, addr: u64) -> Event {
        access(thread, OpKind::AtomicStore, addr, 4)
    }

    fn read(thread: u16, addr: u64) -> Event {
        access(thread, OpKind::AtomicLoad, addr, 4)
    }

    fn start(thread: u16) -> Event {
        done(thread, OpKind::ThreadStart, 0, 0)
    }

    fn end(thread: u16) -> Event {
        done(thread, OpKind::ThreadEnd, 0, 0)
    }

    /// An execution in which main first creates all other threads.
    fn run(others: u16, events: &[Event]) -> Execution {
        let mut all = vec![start(0)];
        all.extend((1..=others).map(|child| done(0, OpKind::Create, 0, u64::from(child))));
        all.extend_from_slice(events);
        execution(others + 1, all)
    }

    /// The rule for each position, and the children as threads; `forced` events were scheduled.
    fn expand(execution: &Execution, forced: usize) -> (Vec<Option<Rule>>, Vec<Vec<u16>>) {
        let choices: Vec<Choice> = execution.events[..forced].iter().map(|event| Choice::of(event.thread)).collect();
        let item = WorkItem { schedule: choices.into() };
        let mut expander = Expander::new(0);
        let mut children = Vec::new();
        expander.append_children(&item, execution, &mut children);
        assert_eq!(expander.irregular, 0, "the events are no normal form");
        expander.base.fill(0);
        let mut rules = Vec::new();
        for position in 0..expander.trace.events.len() {
            rules.push(expander.dismissal(position));
            expander.base[usize::from(expander.trace.summaries[position].thread)] += 1;
        }
        let threads = |item: &WorkItem| item.schedule.iter().map(|choice| choice.thread).collect();
        (rules, children.iter().map(threads).collect())
    }

    #[test]
    fn an_unlock_is_undisputed() {
        let lock = |thread| done(thread, OpKind::Lock, M, 0);
        let unlock = |thread| done(thread, OpKind::Unlock, M, 0);
        let events = [start(1), lock(1), unlock(1), end(1), start(2), lock(2), unlock(2), end(2)];
        let (rules, children) = expand(&run(2, &events), 0);
        assert_eq!((rules[4], rules[5]), (None, Some(Rule::Undisputed)));
        assert_eq!(children, [[0, 0, 0, 1, 2, 2]]);
    }

    #[test]
    fn what_an_inversion_requires_may_exclude_a_position() {
        let events = [start(1), write(1, P), start(2), read(2, P), write(2, X), write(1, X)];
        let (rules, _) = expand(&run(2, &events), 8);
        assert_eq!(rules[4], Some(Rule::Inversion));
    }

    #[test]
    fn an_event_behind_a_join_overtakes_nothing() {
        let join = done(2, OpKind::Join, 0, 1);
        let events = [start(1), write(1, X), end(1), start(2), join, read(2, X), start(3), write(3, P)];
        let (rules, children) = expand(&run(3, &events), 0);
        assert_eq!(rules[5], Some(Rule::Unraced));
        assert!(children.is_empty());
    }

    #[test]
    fn a_sleeping_event_may_bar_a_position() {
        let both = access(2, OpKind::AtomicStore, P, 8);
        let events = [start(1), write(1, P), start(2), start(3), write(3, X), write(1, X), write(1, Q), both];
        let (rules, _) = expand(&run(3, &events), 11);
        assert_eq!(rules[5], Some(Rule::Barred));
    }

    #[test]
    fn what_the_last_thread_does_alone_is_not_indexed() {
        let tail = [done(0, OpKind::Lock, M, 0), done(0, OpKind::Unlock, M, 0), end(0)];
        let events = [&[start(1), end(1), done(0, OpKind::Join, 0, 1)][..], &tail].concat();
        let (rules, children) = expand(&run(1, &events), 0);
        assert!(rules.len() < 2 + events.len() && children.is_empty());
    }
}
