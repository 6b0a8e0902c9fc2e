//! Every Mazurkiewicz trace exactly once, by reverse search over normal forms.
//!
//! Optimal in the sense of Abdulla, Aronis, Jonsson and Sagonas (POPL 2014), without wakeup trees: like their
//! parsimonious variant (CAV 2024) and TruSt (POPL 2022) it needs memory for one path of the search, because it is told
//! by an execution alone which reversals of its races are its business. The frame is reverse search (Avis and Fukuda, 1996):
//! every trace but one has a parent, and the search goes from parents to children. A [`WorkItem`] is a value, exploring it is one run
//! of the target, and nothing is read that another unit wrote.
//!
//! # Definitions
//! An *event* is a transition with its outcome; which events depend on each other is `raddle_model::depend`. The *policy*
//! prefers, among all events that are possible in a state, what needs no time-out, then the least rank, then the least choice; the target's
//! `LeastRank` is the same rule.
//!
//! * *Normal form* of a complete trace T: the linearisation that at each state s takes the event of T most
//!   preferred by the policy. An event that the policy prefers to the one taken, but which is not T's next, *falls asleep*; it wakes
//!   when an event that depends on it (*disturbs* it) is made. As T is complete, everybody wakes in the end.
//! * Let x be the last event of the normal form that wakes somebody, and w the normal form up to x. From there on nobody
//!   sleeps, so T is the run that follows w and then the policy: **w is the unit of T**. The run with empty w is the root.
//! * *Parent*. Let z_1 … z_m be those that x wakes, in the order in which they fell asleep, and w = u_i A_i x where z_i fell
//!   asleep behind u_i. Everything in A_i is independent of z_i, so u_i z_i A_i can be run: z_i is *put back*. That is *good* if the sleepers
//!   z_1 … z_{i-1} are disturbed by z_i, or by what the thread of x does next behind u_i z_i A_i (x'; it may be disabled or another event, as
//!   z_i came before). Putting back z_1 is always good. Let i be the greatest for which it is good. The parent of T is the
//!   trace of the run that makes u_i z_i A_i (and x', if that was needed) and then follows the policy.
//!
//! # Why each trace is found once
//! The parent H is complete, as nothing is asleep in its run. Everybody who falls asleep in u_i does so in H, too: the event that wakes him in T is in
//! u_i A_i, or else he is one of z_1 … z_{i-1} and z_i or x' disturbs him. So the normal form of H begins with u_i z_i, that of
//! T with u_i and something less preferred: parents are smaller, chains end at the root, and every trace has exactly one parent.
//!
//! Given H and the position of z = z_i in it, the children are found by a simulation (`child`): behind u, with z asleep, follow
//! the policy. If the event f that it prefers is also H's next here, it is in A: were it left out, something in A would
//! have to wake it, but H runs A first and still has f next. If f is not H's next, it cannot be in A, as H contains A: it
//! is x, if it disturbs z, or falls asleep. In the end x has to wake everybody who is asleep, putting back z has to be good and putting back those
//! who fell asleep later must not be, and H has to be what the policy makes of u z A (x'), which a second simulation checks. What an event would
//! be in such a state is asked of `raddle_model::SyncState`.
//!
//! Only where a later sleeper was put back without success does the simulation branch (f may sleep though H makes it): that
//! takes an x which commuting events can disable or change, as readers do a writer's lock; `expand` calls such
//! operations fragile. There the children of one execution can be as many as sets of readers.
//!
//! # Speed
//! Executions share prefixes with the last one, and so do the facts about them (`record`). Nearly all positions are dismissed without a simulation:
//!
//! * An *inversion* is a step y of the forced part that came before a sleeper which the policy would have preferred, and which stays possible. Let
//!   z be a position before the sleeper fell asleep, and nothing between z and y independent of y and less preferred. Then y is in A: if the policy
//!   had made it, it would have made the sleeper first. So if y depends on z, no child differs first at z (unless y can be x').
//! * A child needs an x, another thread's operation that conflicts with z, and everybody asleep has to be woken by x or in A. Where the thread of
//!   x can go on to x whatever others do, and nothing but what depends on z could wake x, A has only steps of a lower rank: inversions
//!   and wakers of a higher rank come too late.
//! * What a thread does when it is alone, and behind everything that others did, has no other order.
//!
//! # Deviations and limits
//! * Arrivals at a barrier commute, but the one that fills a round decides who is left for the next; so a
//!   sleeping arrival is also disturbed by the last one of its round.
//! * Busy waiting: a read that ended a folded loop counts as disabled where the location holds another value than it ended with, a thread that still waits
//!   where the location holds a value that did not end it. An execution that does not follow its unit (the loop went on) is redundant and
//!   has no children. With loops that several values can end, or that a run passed without waiting, traces may be missed or met twice.
//! * Programs whose threads behave differently under equivalent schedules (data races at sync granularity) have no well-defined
//!   traces; nothing is promised but that the search goes on.

mod child;
mod cursor;
mod expand;
mod frontier;
mod ranks;
mod record;

use raddle_model::{Choice, Execution, Request};
use raddle_vocab::RunStatus;

use crate::strategy::{Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, is_endless};
use crate::unpredictability::{Cause, unpredictability};
use frontier::Frontier;

pub use expand::Expander;

/// A part of the search that can be explored by itself: one trace and all its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkItem {
    /// Transitions to make before the policy takes over.
    pub schedule: Vec<Choice>,
}

/// What the search has to know of the execution of a work item.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The children of the work item.
    pub children: Vec<WorkItem>,
    /// How the run ended.
    pub status: RunStatus,
    /// What the run shows that cannot be predicted.
    pub unpredictability: Option<Cause>,
}

impl Expander {
    /// Expands the execution of a work item. This needs nothing but the two, so that it can be
    /// done where the run was made.
    pub fn expand(&mut self, item: &WorkItem, execution: &Execution) -> Expansion {
        let mut children = Vec::new();
        if execution.status != RunStatus::Diverged && !is_endless(execution) {
            self.append_children(item, execution, &mut children);
        }
        Expansion { children, status: execution.status, unpredictability: unpredictability(execution) }
    }
}

/// The search. It expands executions itself, or takes expansions that were made elsewhere.
#[derive(Debug)]
pub struct Optimal {
    frontier: Frontier,
    children: Vec<WorkItem>,
    expander: Expander,
    incomplete: Option<IncompleteReason>,
    counted: u64,
    redundant: u64,
}

/// Redundant runs that are accepted without any execution, and for each execution. A search that
/// makes more of them cannot tell which spin loops would end where.
const REDUNDANT_AT_ALL: u64 = 5_000;
const REDUNDANT_EACH: u64 = 4;

impl Optimal {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Optimal {
            frontier: Frontier::new(),
            children: Vec::new(),
            expander: Expander::new(spurious),
            incomplete: None,
            counted: 0,
            redundant: 0,
        }
    }

    /// The run of the oldest work item did not follow its schedule.
    fn diverged(&mut self) -> Classification {
        self.redundant += 1;
        self.frontier.explored(std::iter::empty());
        if self.redundant > REDUNDANT_AT_ALL + REDUNDANT_EACH * self.counted {
            self.frontier.close();
            self.incomplete = Some(IncompleteReason::BusyWaiting);
        }
        Classification::Redundant
    }
}

impl Strategy for Optimal {
    fn next(&mut self) -> Option<Request> {
        self.frontier.next()
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let Some(item) = self.frontier.oldest() else { return Classification::Redundant };
        let status = match &observation {
            Observation::Execution(execution) => execution.status,
            Observation::Expansion(expansion) => expansion.status,
        };
        if status == RunStatus::Diverged {
            return self.diverged();
        }
        self.counted += 1;
        self.incomplete = self.incomplete.or(incomplete_reason_of(status));
        match observation {
            Observation::Execution(execution) => {
                if !is_endless(execution) {
                    self.expander.append_children(item, execution, &mut self.children);
                }
                self.frontier.explored(self.children.drain(..));
            }
            Observation::Expansion(expansion) => self.frontier.explored(expansion.children.into_iter()),
        }
        Classification::Counted
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn estimate(&self) -> Option<f64> {
        let done = self.frontier.done;
        (done > 0.0).then(|| (self.counted + self.redundant) as f64 / done)
    }
}
