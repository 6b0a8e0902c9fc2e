//! The analysis of one trace: it filters the candidates and looks for a reordering that witnesses
//! each of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::candidates::{Filtered, RaceCandidate, filter};
use crate::closure::ValuePreserving;
use crate::cycles::{Cycle, Cycles, cycles};
use crate::order::MustHappenBefore;
use crate::pins::{Pins, ReadsFrom};
use crate::search::{Reachability, ReorderedEvent, Searcher};
use crate::trace::{ObservedTrace, Tid};

/// How much one candidate may cost, and how the trace is cut.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// States per search.
    pub states: usize,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Events of one window; `None` for the whole trace.
    pub window: Option<u32>,
    /// Number of threads that decide candidates.
    pub jobs: usize,
    /// Whether accesses of the same two places to different variables are different candidates.
    pub by_variable: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { states: 200_000, deadline: None, window: None, jobs: 1, by_variable: false }
    }
}

impl Budget {
    /// Whether the time is up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// A reordering of the trace that brings threads to certain positions: the witness of a candidate.
#[derive(Clone, Debug)]
pub struct Reordering {
    /// Threads and their positions at its end.
    pub goal: Vec<(Tid, u32)>,
    /// The pair of accesses, for a race.
    pub accesses: Option<(u32, u32)>,
    /// The events in their new order.
    pub events: Vec<ReorderedEvent>,
    /// Whether every read keeps its writer.
    pub keeps_values: bool,
}

/// Whether a candidate has a witness.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It has.
    Possible(Reordering),
    /// No reordering reaches it.
    Impossible,
    /// Not known, for this reason.
    Open(&'static str),
}

impl Decision {
    /// The decision without the witness's events, which are long.
    #[must_use]
    pub fn without_events(&self) -> Decision {
        match self {
            Decision::Possible(witness) => Decision::Possible(Reordering {
                goal: witness.goal.clone(),
                accesses: witness.accesses,
                events: Vec::new(),
                keeps_values: witness.keeps_values,
            }),
            other => other.clone(),
        }
    }
}

/// Threads with the positions to reach, and the pair of accesses there.
type GoalAndPair = (Vec<(Tid, u32)>, Option<(u32, u32)>);

/// A reason for [`Decision::Open`].
pub const STATES: &str = "the budget of states ended (--max-states)";
/// A reason for [`Decision::Open`].
pub const INSTANCES: &str = "it has more pairs of accesses than were tried";
/// A reason for [`Decision::Open`].
pub const TIME: &str = "the time limit was reached (--time-limit)";

/// A trace with everything that prediction computes once for it.
#[derive(Debug)]
pub struct TraceAnalysis<'a> {
    /// The trace.
    pub trace: &'a ObservedTrace,
    /// The order that every reordering keeps.
    pub order: MustHappenBefore,
    /// The reads-from relation.
    pub flow: ReadsFrom,
    /// The candidates that the filter left, by window.
    pub windows: Vec<Window>,
    budget: Budget,
}

/// A part of the trace.
#[derive(Debug)]
pub struct Window {
    /// Its events.
    pub events: Range<u32>,
    /// Pairs of accesses.
    pub races: Filtered,
    /// Cycles of locks.
    pub deadlocks: Cycles,
}

impl<'a> TraceAnalysis<'a> {
    /// Filters the trace.
    #[must_use]
    pub fn new(trace: &'a ObservedTrace, budget: Budget) -> Self {
        let order = MustHappenBefore::of(trace);
        let flow = ReadsFrom::of(trace);
        let total = trace.events.len() as u32 + 1;
        let automatic = (total > LONGEST).then_some(AUTOMATIC);
        let budget = Budget { window: budget.window.or(automatic), ..budget };
        let size = budget.window.unwrap_or(total).max(1);
        let windows = (0..total.div_ceil(size)).map(|number| {
            let events = number * size..(number + 1).saturating_mul(size).min(total);
            Window {
                races: filter(trace, &order, budget.by_variable, events.clone()),
                deadlocks: cycles(trace, &order, events.clone()),
                events,
            }
        });
        let windows = windows.collect();
        TraceAnalysis { trace, order, flow, windows, budget }
    }

    /// Events of a window, if the trace is cut.
    #[must_use]
    pub fn window(&self) -> Option<u32> {
        self.budget.window
    }

    /// All pairs of places, window by window.
    #[must_use]
    pub fn candidates(&self) -> Vec<(&RaceCandidate, &Window)> {
        self.windows.iter().flat_map(|window| window.races.candidates.iter().map(move |one| (one, window))).collect()
    }

    /// All cycles of locks, window by window.
    #[must_use]
    pub fn cycles(&self) -> Vec<(&Cycle, &Window)> {
        self.windows.iter().flat_map(|window| window.deadlocks.cycles.iter().map(move |one| (one, window))).collect()
    }

    /// The first search for witnesses: reorderings in which every read keeps its writer.
    #[must_use]
    pub fn keeper(&self) -> ValuePreserving<'_> {
        ValuePreserving::new(self.trace, &self.flow)
    }

    /// Decides some candidates in parallel and passes each decision to `tell`. The results are in
    /// the order of the candidates.
    pub fn races<T: Send>(
        &self,
        keeper: &ValuePreserving<'_>,
        candidates: &[(&RaceCandidate, &Window)],
        tell: impl Fn(usize, Decision) -> T + Sync,
    ) -> Vec<T> {
        self.in_parallel(candidates.len(), |number| {
            let (candidate, window) = candidates[number];
            tell(number, self.race(candidate, window, &Pins::default(), Some(keeper), 0))
        })
    }

    /// Decides some lock cycles, like [`TraceAnalysis::races`].
    pub fn deadlocks<T: Send>(
        &self,
        keeper: &ValuePreserving<'_>,
        cycles: &[(&Cycle, &Window)],
        tell: impl Fn(usize, Decision) -> T + Sync,
    ) -> Vec<T> {
        self.in_parallel(cycles.len(), |number| {
            let (cycle, window) = cycles[number];
            tell(number, self.deadlock(cycle, window, &Pins::default(), Some(keeper), 0))
        })
    }

    /// A witness of a race among the instances from number `first` on. With a keeper, a witness in
    /// which every read keeps its writer is preferred.
    #[must_use]
    pub fn race(
        &self,
        candidate: &RaceCandidate,
        window: &Window,
        pins: &Pins,
        keeper: Option<&ValuePreserving<'_>>,
        first: usize,
    ) -> Decision {
        let goal = |&(a, b): &(u32, u32)| {
            let side = |index: u32| {
                let access = &self.trace.accesses[index as usize];
                (access.thread, access.position)
            };
            (vec![side(a), side(b)], Some((a, b)))
        };
        let goals = candidate.instances.iter().skip(first).map(goal).collect::<Vec<_>>();
        self.any(goals, window, pins, keeper, candidate.more)
    }

    /// A witness of a deadlock among the instances from number `first` on.
    #[must_use]
    pub fn deadlock(
        &self,
        cycle: &Cycle,
        window: &Window,
        pins: &Pins,
        keeper: Option<&ValuePreserving<'_>>,
        first: usize,
    ) -> Decision {
        let goals = cycle.instances.iter().skip(first).map(|goal| (goal.clone(), None)).collect();
        self.any(goals, window, pins, keeper, cycle.more)
    }

    fn any(
        &self,
        goals: Vec<GoalAndPair>,
        window: &Window,
        pins: &Pins,
        keeper: Option<&ValuePreserving<'_>>,
        more: bool,
    ) -> Decision {
        // The closure could reorder events before the window, which must stay as they were.
        let keeper = keeper.filter(|_| window.events.start == 0);
        for (goal, accesses) in goals.iter().take(KEPT_TRIES) {
            if let Some(events) = keeper.and_then(|keeper| keeper.witness(goal)) {
                let (goal, accesses) = (goal.clone(), *accesses);
                return Decision::Possible(Reordering { goal, accesses, events, keeps_values: true });
            }
        }
        let searcher = Searcher::new(self.trace, &self.order, self.budget.states).behind(window.events.start);
        let mut open = more.then_some(INSTANCES);
        let mut tried = BTreeSet::new();
        for (goal, accesses) in goals {
            if !tried.insert(goal.clone()) {
                continue;
            }
            if self.budget.is_over() {
                return Decision::Open(TIME);
            }
            match searcher.reach(&goal, pins) {
                Reachability::Reachable(events) => {
                    return Decision::Possible(Reordering { goal, accesses, events, keeps_values: false });
                }
                Reachability::Unreachable => {}
                Reachability::Unknown => open = Some(STATES),
            }
        }
        open.map_or(Decision::Impossible, Decision::Open)
    }

    /// Calls `decide` for each number below `count` on several threads. The results are in the
    /// order of the numbers.
    pub fn in_parallel<T: Send>(&self, count: usize, decide: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let jobs = self.budget.jobs.clamp(1, count.max(1));
        if jobs == 1 {
            return (0..count).map(decide).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return done;
                }
                done.push((number, decide(number)));
            }
        };
        let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, one)| one).collect()
    }
}

/// Longer traces are cut into windows.
const LONGEST: u32 = 1_000_000;
/// Events of such a window.
const AUTOMATIC: u32 = 200_000;
/// Instances for which a reordering that keeps every value is looked for.
const KEPT_TRIES: usize = 4;
