//! Every Mazurkiewicz trace exactly once, by reverse search over normal forms.
//!
//! # Papers
//! Optimal in the sense of Abdulla, Aronis, Jonsson and Sagonas ("Optimal dynamic partial order
//! reduction", POPL 2014), but without wakeup trees. Like Parsimonious Optimal DPOR (Abdulla et
//! al., CAV 2024) and TruSt (Kokologiannakis et al., POPL 2022) it needs memory for a few paths of
//! the search only: an execution alone tells which reversals of its races are explored from it.
//! The frame is reverse search (Avis and Fukuda, 1996): every trace but one has a parent, and the
//! search goes from parents to children. A [`WorkItem`] is a value, exploring it is one run of the
//! target, and no work item reads what another one wrote.
//!
//! # Definitions
//! An *event* is a transition with its outcome. Which events are dependent is said by
//! `raddle_model::depend`. The *policy* prefers, among all events that are possible in a state,
//! those without a time-out, then the least rank of the thread, then the least choice. The
//! target's `LeastRank` is the same rule.
//!
//! * *Normal form* of a complete trace T: the linearisation that takes at each state the event of
//!   T that the policy prefers most. An event that the policy prefers to the one taken, but which
//!   is not T's next, enters the *sleep set*. It wakes when a dependent event is taken. As T is
//!   complete, the sleep set is empty in the end.
//! * Let x be the last event of the normal form that wakes an event, and w the normal form up to
//!   x. The sleep set is empty from there on, so T is the run that follows w and then the policy:
//!   **w is the work item of T**. The run with empty w is the root.
//! * *Parent*. Let z_1 … z_m be the events that x wakes, in the order in which they entered the
//!   sleep set. Let w = u_i A_i x, where z_i entered the sleep set behind u_i. No event of A_i
//!   depends on z_i, so u_i z_i A_i can be run: z_i is *reinserted*. Let x' be the next event of
//!   x's thread behind u_i z_i A_i. Because z_i came first, x' may differ from x or be disabled.
//!   The reinsertion is *good* if each of z_1 … z_{i-1} depends on z_i or on x'. Reinserting z_1
//!   is always good. Let i be the greatest number for which it is good. The run makes u_i z_i A_i,
//!   then x' if x' was needed, and then follows the policy. Its trace is the parent of T.
//!
//! # Why each trace is found once
//! The parent H is complete, because its sleep set is empty in the end. An event that enters the
//! sleep set along u_i in T does so in H too. Something wakes it there: what wakes it in T, if that
//! is in u_i A_i; otherwise it is one of z_1 … z_{i-1}, and z_i or x' wakes it. So the normal form
//! of H begins with u_i z_i. That of T begins with u_i and an event that the policy prefers less.
//! Parents are therefore smaller, chains of parents end at the root, and every trace has exactly
//! one parent.
//!
//! Given H and the position of z = z_i in it, a simulation finds the children (`child`). It starts
//! behind u, with z asleep, and follows the policy. Let f be the event that the policy prefers.
//!
//! * f is also H's next event here: f is in A. If f fell asleep instead, an event of A would have
//!   to wake it. But H makes all of A, and f is still next in H.
//! * f is not H's next event: f is not in A, because H contains A. If f wakes z, it is x. If not,
//!   it enters the sleep set.
//!
//! In the end x has to wake the whole sleep set. Reinserting z has to be good, and reinserting an
//! event that entered later must not be. H also has to be what the policy makes of u z A (x'),
//! which a second simulation checks. What an event would be in such a state is asked of
//! `raddle_model::SyncState`.
//!
//! The simulation has one path, with one exception. If reinserting a later event is not good, f may
//! be put to sleep although H makes it. That needs an x that independent events can disable or
//! change, as readers do with a writer's lock. `expand` calls such operations fragile. There an
//! execution can have as many children as there are sets of readers.
//!
//! # Invariants
//! * The children of a work item are a function of its schedule and its execution.
//! * The schedule of a child is the normal form of the child's trace up to x.
//! * Whatever is kept between two executions (`trace_index`) is a function of the common prefix.
//!
//! # Dismissal rules
//! Nearly all positions are dismissed without a simulation. The rules, with their lemmas and
//! examples, are in `dismissal`. `Expander::thorough` applies none of them; a test compares its
//! children with those of `Expander::new` on random programs. `RADDLE_LOG=debug` shows how often
//! each rule applied.
//!
//! # Deviations and what it misses
//! * Arrivals at a barrier commute, but the arrival that fills a round decides which threads are
//!   left for the next. So the last arrival of a round also wakes a sleeping arrival of it.
//! * Spin loops: a read that ended a folded loop counts as disabled where the location holds
//!   another value than it ended with. A thread that still waits counts as disabled where the
//!   location holds a value that did not end the loop. An execution that diverges from its
//!   schedule (the loop went on) is redundant and has no children. With loops that several values
//!   can end, or that a run passed without waiting, traces may be missed or met twice. So
//!   [`crate::restart`] falls back to DPOR.
//! * Programs whose threads behave differently under equivalent schedules (data races at sync
//!   granularity) have no well-defined traces. Nothing is promised but that the search ends.
//! * It reports nothing false: every execution is a real run.

mod child;
mod cursor;
mod dismissal;
mod expand;
mod frontier;
mod host_cache;
mod inversions;
pub mod items;
mod long_lists;
mod overtake;
mod part;
mod sample;
mod schedule;
mod sweep;
mod trace_index;

use std::collections::VecDeque;

use raddle_model::Estimate;
use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;

use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, is_endless};
use crate::unpredictability::{Cause, unpredictability};
use frontier::Frontier;
use schedule::{ScheduleLoader, ScheduleSaver};
use sweep::TreeSampler;

pub use expand::Expander;
pub use part::{PartWatcher, SearchPart};
pub use sample::SizeSampler;
pub use schedule::Schedule;

/// A part of the search that can be explored by itself: one trace and all its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkItem {
    /// Transitions to make before the policy takes over.
    pub schedule: Schedule,
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
    sampler: TreeSampler,
    /// Whether its size is estimated.
    takes_samples: bool,
    /// Why each run under way was asked for; oldest first.
    purposes: VecDeque<Purpose>,
    children: Vec<WorkItem>,
    expander: Expander,
    /// Expands samples, which have little in common with the runs before and behind them.
    sample_expander: Expander,
    incomplete: Option<IncompleteReason>,
    counted: u64,
    redundant: u64,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To explore a work item.
    Explore,
    /// To estimate the size of the search.
    Sample,
}

/// A search may make so many redundant runs, and so many more for each execution. If it makes more
/// than that, it cannot tell which spin loops would end where, and gives up.
const REDUNDANT_ALLOWED: u64 = 5_000;
const REDUNDANT_EACH: u64 = 4;

impl Optimal {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Optimal {
            frontier: Frontier::new(),
            sampler: TreeSampler::default(),
            takes_samples: true,
            purposes: VecDeque::new(),
            children: Vec::new(),
            expander: Expander::new(spurious),
            sample_expander: Expander::new(spurious),
            incomplete: None,
            counted: 0,
            redundant: 0,
        }
    }

    /// A search of these work items and their descendants, whose size is not estimated.
    #[must_use]
    pub fn of_items(items: Vec<WorkItem>, spurious: u32) -> Self {
        Optimal { frontier: Frontier::of_items(items), takes_samples: false, ..Optimal::new(spurious) }
    }

    /// The work item whose run comes back next.
    fn oldest(&self) -> Option<&WorkItem> {
        self.frontier.oldest()
    }

    /// The work items that were not explored, the oldest first. None may be under way.
    #[must_use]
    pub fn into_rest(self) -> Vec<WorkItem> {
        self.frontier.into_items()
    }

    /// The run of the oldest work item did not follow its schedule.
    fn diverged(&mut self) -> Classification {
        self.redundant += 1;
        self.frontier.explored(std::iter::empty());
        if self.redundant > REDUNDANT_ALLOWED + REDUNDANT_EACH.saturating_mul(self.counted) {
            self.frontier.close();
            self.incomplete = Some(IncompleteReason::BusyWaiting);
        }
        Classification::Redundant
    }

    fn runs(&self) -> u64 {
        self.counted + self.redundant
    }

    /// Learns from a run that was made to estimate the size of the search.
    fn sampled(&mut self, observation: Observation<'_>) -> Classification {
        let Some(item) = self.sampler.oldest() else { return Classification::Sample };
        match observation {
            Observation::Execution(execution) => {
                if execution.status != RunStatus::Diverged && !is_endless(execution) {
                    self.sample_expander.append_children(item, execution, &mut self.children);
                }
                self.sampler.explored(self.children.drain(..));
            }
            Observation::Expansion(expansion) => self.sampler.explored(expansion.children.into_iter()),
        }
        Classification::Sample
    }

    /// Learns from the run of a work item.
    fn explored(&mut self, observation: Observation<'_>) -> Classification {
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
}

impl Strategy for Optimal {
    fn next(&mut self) -> Option<Request> {
        if self.takes_samples
            && self.frontier.has_next()
            && let Some(request) = self.sampler.next(self.runs())
        {
            self.purposes.push_back(Purpose::Sample);
            return Some(request);
        }
        let request = self.frontier.next()?;
        self.purposes.push_back(Purpose::Explore);
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        match self.purposes.pop_front() {
            Some(Purpose::Sample) => self.sampled(observation),
            _ => self.explored(observation),
        }
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn save(&self, into: &mut Saver) {
        let mut schedules = ScheduleSaver::default();
        let (frontier, sampler) = (self.frontier.rows(&mut schedules), self.sampler.row(&mut schedules));
        schedules.save(into);
        Frontier::save(&frontier, into);
        sampler.save(into);
        let samples: Vec<bool> = self.purposes.iter().map(|&purpose| purpose == Purpose::Sample).collect();
        into.put(&(samples, self.incomplete, self.counted, self.redundant));
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        let schedules = ScheduleLoader::load(from)?;
        self.frontier = Frontier::load(from, &schedules)?;
        self.sampler = TreeSampler::load(from, &schedules)?;
        let samples: Vec<bool>;
        (samples, self.incomplete, self.counted, self.redundant) = from.take()?;
        let purpose = |is_sample| if is_sample { Purpose::Sample } else { Purpose::Explore };
        self.purposes = samples.into_iter().map(purpose).collect();
        Ok(())
    }

    fn estimate(&self) -> Option<Estimate> {
        let known = self.runs() as f64 + self.frontier.len() as f64;
        let guess = match self.frontier.len() {
            0 => Estimate { least: known, most: Some(known) },
            _ => self.sampler.estimate(),
        };
        Some(guess.with_known(known))
    }
}
