//! Searches that start again when a spin loop is discovered.
//!
//! A target leaves failed rounds of a spin loop out of traces as soon as it knows the loop. So the
//! discovery of a loop changes what earlier traces look like, and the search restarts:
//! [`RestartOnSpinloop`] is the only place that decides this. Findings are kept. A round of a
//! known loop may also be recognised only after it was part of a run. Then the beginning of that
//! run cannot be repeated; the search notices when it goes on from there, and restarts, too.
//!
//! Moreover, [`Optimal`] predicts what a thread would do in states that it has not met, which
//! some programs do not allow (see [`crate::unpredictability`]). There
//! [`optimal_with_dpor_fallback`] goes on with [`Dpor`], which asks the target instead of
//! predicting. It also counts every trace once, at the price of redundant runs.

use std::collections::VecDeque;
use std::fmt;

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_model::finding::Prune;
use serde::{Deserialize, Serialize};

use crate::dpor::Dpor;
use crate::optimal::Optimal;
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};
use crate::unpredictability::Cause;

/// The optimal search, until the program shows something that cannot be predicted; then DPOR.
/// Each thread may wake up spuriously `spurious` times.
#[must_use]
pub fn optimal_with_dpor_fallback(spurious: u32) -> RestartOnSpinloop {
    RestartOnSpinloop::new(move |loops| {
        if loops == 0 {
            return Box::new(Optimal::new(spurious));
        }
        tracing::debug!("search falls back to DPOR");
        Box::new(Dpor::new(spurious))
    })
}

/// Makes a search for a program in which so many spin loops are known.
type Begin = Box<dyn Fn(u32) -> Box<dyn Strategy>>;

/// What makes the search under way start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Trigger {
    /// More spin loops than were known when it began.
    NewLoop,
    /// Anything that cannot be predicted. The search that follows begins without knowledge, and
    /// with [`Trigger::NewLoop`].
    Unpredictable,
    /// Anything that changes the runs of a target. The search that follows never starts again.
    ChangedTarget,
    /// Nothing.
    Never,
}

/// A search that starts again when it meets a spin loop that was not known before.
pub struct RestartOnSpinloop {
    begin: Begin,
    search: Box<dyn Strategy>,
    trigger: Trigger,
    /// Loops known when the search began.
    loops: u32,
    /// Which attempt asked for each run, oldest first.
    under_way: VecDeque<u32>,
    attempt: u32,
    /// The attempt that took over from the first search, or 0. Runs of earlier attempts say
    /// nothing: the target may have been replaced since.
    takeover: u32,
    /// How often the beginning of a run could not be repeated.
    unrepeatable: u32,
    /// What pruning did in the first search.
    prune: Prune,
}

/// Attempts that are given up because the beginning of a run could not be repeated, before the
/// program itself is taken to be nondeterministic.
const MAX_UNREPEATABLE: u32 = 20;

impl RestartOnSpinloop {
    /// `begin` makes a search for a program in which so many loops are known.
    #[must_use]
    pub fn new(begin: impl Fn(u32) -> Box<dyn Strategy> + 'static) -> Self {
        RestartOnSpinloop {
            search: begin(0),
            begin: Box::new(begin),
            trigger: Trigger::NewLoop,
            loops: 0,
            under_way: VecDeque::new(),
            attempt: 0,
            takeover: 0,
            unrepeatable: 0,
            prune: Prune::default(),
        }
    }

    /// Begins with another search. The first sign of something that cannot be predicted ends it.
    #[must_use]
    pub fn preceded_by(self, first: impl Strategy + 'static) -> Self {
        RestartOnSpinloop { search: Box::new(first), trigger: Trigger::Unpredictable, ..self }
    }

    /// For a search that several targets share and that predicts nothing, such as a sample: what
    /// one target learns of spin loops the others do not know. So it starts once more, with one
    /// target, when a run shows that a target has learnt something.
    #[must_use]
    pub fn of_shared_samples(begin: impl Fn() -> Box<dyn Strategy> + 'static) -> Self {
        RestartOnSpinloop { trigger: Trigger::ChangedTarget, ..RestartOnSpinloop::new(move |_| begin()) }
    }

    fn start_again(&mut self) {
        self.search = (self.begin)(self.loops);
        self.attempt += 1;
        tracing::debug!(attempt = self.attempt, loops = self.loops, "search restarts");
    }

    /// Starts again if the cause is one that the search cannot go on with.
    fn react(&mut self, cause: Cause) {
        match self.trigger {
            Trigger::NewLoop if cause.loops() > self.loops => {
                tracing::debug!(?cause, "spin loop discovered");
                self.loops = cause.loops();
                self.start_again();
            }
            Trigger::Unpredictable => self.take_over(Trigger::NewLoop),
            Trigger::ChangedTarget if cause.changes_target() => self.take_over(Trigger::Never),
            Trigger::NewLoop | Trigger::ChangedTarget | Trigger::Never => {}
        }
    }

    /// Replaces the first search.
    fn take_over(&mut self, trigger: Trigger) {
        tracing::debug!("first search given up: the program cannot be predicted");
        self.prune = self.search.prune();
        self.trigger = trigger;
        self.start_again();
        self.takeover = self.attempt;
    }
}

impl fmt::Debug for RestartOnSpinloop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartOnSpinloop")
            .field("loops", &self.loops)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl Strategy for RestartOnSpinloop {
    fn next(&mut self) -> Option<Request> {
        let request = self.search.next()?;
        self.under_way.push_back(self.attempt);
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let asked_by = self.under_way.pop_front();
        if asked_by.is_some_and(|attempt| attempt < self.takeover) {
            return Classification::Restarted;
        }
        if self.trigger != Trigger::Never
            && let Some(cause) = observation.unpredictability()
        {
            self.react(cause);
        }
        if asked_by != Some(self.attempt) {
            return Classification::Restarted;
        }
        let class = self.search.learn(observation);
        if self.loops > 0
            && self.unrepeatable < MAX_UNREPEATABLE
            && self.search.incomplete_reason() == Some(IncompleteReason::Diverged)
        {
            self.unrepeatable += 1;
            tracing::debug!(times = self.unrepeatable, "beginning of a run could not be repeated");
            self.start_again();
            return Classification::Restarted;
        }
        class
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.search.incomplete_reason()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.search.estimate()
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(self.trigger, self.loops, &self.under_way, self.attempt));
        into.put(&(self.takeover, self.unrepeatable, self.prune));
        self.search.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.trigger, self.loops, self.under_way, self.attempt) = from.take()?;
        (self.takeover, self.unrepeatable, self.prune) = from.take()?;
        if self.attempt > 0 {
            self.search = (self.begin)(self.loops);
        }
        self.search.restore(from)
    }

    fn prune(&self) -> Prune {
        if self.takeover > 0 { self.prune } else { self.search.prune() }
    }

    fn states(&self) -> u64 {
        self.search.states()
    }
}
