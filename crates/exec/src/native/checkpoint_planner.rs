//! Plans which checkpoints the target is asked to keep, and which runs start from them.
//!
//! Schedules with a common prefix need to run it only once. What is planned here are suggestions:
//! the target keeps a checkpoint only if it can and if that pays (`rt::restore::checkpoint`). A run
//! whose checkpoint does not exist starts from the root, with the same result. Checkpoints affect
//! only speed, never results. For programs whose runs are short nothing is suggested: it would not
//! pay.

use raddle_model::{Choice, common_choices};
use raddle_vocab::policy::Policy;
use raddle_wire::{Job, MAX_CHECKPOINTS, MAX_SEGMENTS, Segment};

use super::plan::RunPlan;
use crate::options::{Checkpoints, Options, Output, RestoreMode};

/// The most checkpoints that one run is asked to keep.
const MAX_KEEPS: usize = 8;
/// How many of the following plans are compared with a plan.
const AHEAD: usize = 32;
/// Checkpoints are suggested once a run from the root takes this many nanoseconds on average.
const LONG_RUN: u64 = 60_000;
/// The average is a moving one: about this many of the last runs count.
const AVERAGED_RUNS: u64 = 16;

/// A checkpoint that the target was asked to keep.
#[derive(Debug)]
struct PlannedCheckpoint {
    /// The schedule that leads there.
    prefix: Vec<Choice>,
    /// Bound on events of the run. Events are counted from the root, so that a run with another
    /// bound cannot use the checkpoint.
    max_events: u64,
    /// Number of the plan that used it last, and of the plan that it was asked for with.
    used: u64,
    asked: u64,
}

/// Where a run was told to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartPoint {
    /// Number of the checkpoint, 0 for the root.
    id: u32,
    /// When the checkpoint was asked for: the number may be given to another one later.
    asked: u64,
    /// Transitions before it.
    steps: u32,
}

/// What is known about the checkpoints of one process.
#[derive(Debug)]
pub(super) struct CheckpointPlanner {
    when: Checkpoints,
    /// The checkpoint with number `n` is entry `n - 1`.
    planned: Vec<Option<PlannedCheckpoint>>,
    /// Plans seen so far.
    plans: u64,
    /// The schedule of the plan before.
    previous: Vec<Choice>,
    /// Nanoseconds of a run from the root, on average.
    average: u64,
    /// Whether [`CheckpointPlanner::are_wanted`] was true for the last batch, for the log.
    were_wanted: bool,
}

impl CheckpointPlanner {
    pub(super) fn new(options: &Options) -> Self {
        // A run that starts from a checkpoint does not repeat what was written to a real file or
        // terminal before it.
        let writes = options.share_files || options.output != Output::Discard;
        // Nor does a checkpoint have the stores of atomic locations.
        let is_whole = !writes && !options.keep_stores && options.mode != RestoreMode::Fork;
        let when = if is_whole { options.checkpoints } else { Checkpoints::Never };
        CheckpointPlanner { when, planned: Vec::new(), plans: 0, previous: Vec::new(), average: 0, were_wanted: false }
    }

    /// Whether there is anything to suggest.
    fn are_wanted(&self) -> bool {
        match self.when {
            Checkpoints::WherePaying => self.average >= LONG_RUN,
            Checkpoints::Never => false,
            Checkpoints::Always => true,
        }
    }

    /// As [`CheckpointPlanner::are_wanted`], for a new batch; says in the log when the answer
    /// changes.
    pub(super) fn are_wanted_now(&mut self) -> bool {
        let are_wanted = self.are_wanted();
        if are_wanted != self.were_wanted {
            self.were_wanted = are_wanted;
            tracing::debug!(are_wanted, average_ns = self.average, "planning of checkpoints changes");
        }
        are_wanted
    }

    /// Adds to the job where to start. Adds to `segments`, after those of the job, where
    /// checkpoints shall be kept for the plans that follow.
    pub(super) fn suggest<'a>(
        &mut self,
        plan: &RunPlan,
        following: impl Iterator<Item = &'a RunPlan>,
        job: &mut Job,
        segments: &mut Vec<Segment>,
    ) -> StartPoint {
        if !is_plain(plan) || segments.len() + MAX_KEEPS > MAX_SEGMENTS {
            return StartPoint::default();
        }
        self.plans += 1;
        let (schedule, max_events) = (&plan.request.schedule, plan.request.max_events);
        let start = self.longest(schedule, max_events);
        let mut common = self.common_prefixes(plan, following);
        common.retain(|&steps| steps > start.steps);
        common.sort_unstable_by(|a, b| b.cmp(a));
        self.previous.clone_from(schedule);
        job.base = start.id;
        for (at, uses) in places(&common) {
            let prefix = schedule[..at as usize].to_vec();
            let id = self.add(PlannedCheckpoint { prefix, max_events, used: self.plans, asked: self.plans }, start.id);
            tracing::debug!(id, steps = at, uses, "checkpoint planned");
            segments.push(Segment::checkpoint(id, at, uses));
            job.checkpoints += 1;
        }
        start
    }

    /// How many transitions the plan has in common with each of those that follow.
    fn common_prefixes<'a>(&self, plan: &RunPlan, following: impl Iterator<Item = &'a RunPlan>) -> Vec<u32> {
        let (schedule, max_events) = (&plan.request.schedule, plan.request.max_events);
        let similar = following.take(AHEAD).filter(|other| is_plain(other) && other.request.max_events == max_events);
        let common: Vec<u32> = similar.map(|other| common_steps(schedule, &other.request.schedule)).collect();
        if common.is_empty() {
            // No plan follows yet. The next one is taken to have as much in common with this one as
            // this one has with the one before.
            return vec![common_steps(schedule, &self.previous)];
        }
        common
    }

    /// The last checkpoint on the way of the schedule, or the root.
    fn longest(&mut self, schedule: &[Choice], max_events: u64) -> StartPoint {
        let leads = |checkpoint: &PlannedCheckpoint| {
            checkpoint.max_events == max_events
                && common_choices(schedule, &checkpoint.prefix) == checkpoint.prefix.len()
        };
        let best = self.planned.iter_mut().enumerate();
        let best = best.filter_map(|(index, checkpoint)| {
            Some((index, checkpoint.as_mut().filter(|checkpoint| leads(checkpoint))?))
        });
        let Some((index, checkpoint)) = best.max_by_key(|(_, checkpoint)| checkpoint.prefix.len()) else {
            return StartPoint::default();
        };
        checkpoint.used = self.plans;
        StartPoint { id: index as u32 + 1, asked: checkpoint.asked, steps: checkpoint.prefix.len() as u32 }
    }

    /// Gives the checkpoint a number: a free one, or that of the least recently used one, but not
    /// `base`.
    fn add(&mut self, new: PlannedCheckpoint, base: u32) -> u16 {
        let free = self.planned.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            if self.planned.len() + 1 < MAX_CHECKPOINTS as usize {
                self.planned.push(None);
                return self.planned.len() - 1;
            }
            let others = self.planned.iter().enumerate().filter(|&(index, _)| index as u32 + 1 != base);
            others
                .min_by_key(|(_, checkpoint)| checkpoint.as_ref().map(|checkpoint| checkpoint.used))
                .map_or(0, |(index, _)| index)
        });
        self.planned[index] = Some(new);
        index as u16 + 1
    }

    /// Learns from a run that came back: how long it took, what it left out, and where it started.
    pub(super) fn learn(&mut self, given: Option<&StartPoint>, job: &Job) {
        let whole = job.nanoseconds.saturating_add(job.skipped);
        self.average = (self.average.saturating_mul(AVERAGED_RUNS - 1).saturating_add(whole)) / AVERAGED_RUNS;
        let Some(start) = given.filter(|start| job.started_at < start.steps) else { return };
        // The target does not have the checkpoint: it may be asked for again.
        if let Some(slot) = self.planned.get_mut(start.id as usize - 1)
            && slot.as_ref().is_some_and(|checkpoint| checkpoint.asked == start.asked)
        {
            tracing::debug!(id = start.id, steps = start.steps, "checkpoint dropped by the target");
            *slot = None;
        }
    }
}

/// Whether the run follows only its schedule, and then a policy that depends on the state alone.
fn is_plain(plan: &RunPlan) -> bool {
    plan.request.policy == Policy::LeastRank && plan.stops.is_empty() && !plan.detail && !plan.all_accesses
}

fn common_steps(one: &[Choice], other: &[Choice]) -> u32 {
    common_choices(one, other) as u32
}

/// The places for checkpoints in a run, in order: after how many transitions, and how many of the
/// following runs pass there. `common` has the common transitions of each following run, largest
/// first.
fn places(common: &[u32]) -> Vec<(u32, u32)> {
    let last_of_each = |&index: &usize| common.get(index + 1) != Some(&common[index]);
    let all = (0..common.len()).filter(last_of_each).map(|index| (common[index], index as u32 + 1));
    let mut places: Vec<(u32, u32)> = all.collect();
    places.reverse();
    places.truncate(MAX_KEEPS);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Request;

    fn plan(threads: &[u16]) -> RunPlan {
        let schedule = threads.iter().map(|&thread| Choice { thread, choice: 0 }).collect();
        RunPlan::from(Request { schedule, policy: Policy::LeastRank, max_events: 100 })
    }

    fn planner() -> CheckpointPlanner {
        CheckpointPlanner::new(&Options { checkpoints: Checkpoints::Always, ..Options::new("a.out") })
    }

    /// Base and places of checkpoints (number, transitions, uses) for the first of the plans.
    fn suggest(planner: &mut CheckpointPlanner, plans: &[RunPlan]) -> (u32, Vec<(u16, u32, u32)>, StartPoint) {
        let (mut job, mut segments) = (Job::default(), Vec::new());
        let start = planner.suggest(&plans[0], plans[1..].iter(), &mut job, &mut segments);
        assert_eq!(job.checkpoints as usize, segments.len());
        (job.base, segments.iter().map(|keep| (keep.tid, keep.steps, keep.accesses)).collect(), start)
    }

    #[test]
    fn checkpoints_are_wanted_where_others_part_from_a_run() {
        let mut planner = planner();
        let plans = [plan(&[0, 0, 1, 1]), plan(&[0, 0, 1, 2]), plan(&[0, 0, 2]), plan(&[0, 0, 3]), plan(&[3])];
        let (base, keeps, _) = suggest(&mut planner, &plans);
        assert_eq!((base, keeps), (0, vec![(1, 2, 3), (2, 3, 1)]));
        let (base, keeps, _) = suggest(&mut planner, &plans[1..]);
        assert_eq!((base, keeps), (2, vec![]), "the others have their base already");
        assert_eq!(suggest(&mut planner, &plans[2..]).0, 1);
        assert_eq!(suggest(&mut planner, &plans[4..]).0, 0);
    }

    #[test]
    fn a_plan_without_successor_is_compared_with_the_one_before() {
        let mut planner = planner();
        assert_eq!(suggest(&mut planner, &[plan(&[0, 0, 1])]).1, []);
        assert_eq!(suggest(&mut planner, &[plan(&[0, 0, 2])]).1, [(1, 2, 1)]);
        assert_eq!(suggest(&mut planner, &[plan(&[0, 0, 3])]).0, 1);
    }

    #[test]
    fn what_the_target_does_not_have_is_asked_for_again() {
        let mut planner = planner();
        let plans = [plan(&[0, 1]), plan(&[0, 2])];
        assert_eq!(suggest(&mut planner, &plans).1, [(1, 1, 1)]);
        let (base, _, start) = suggest(&mut planner, &plans[1..]);
        assert_eq!(base, 1);
        planner.learn(Some(&start), &Job { started_at: 1, ..Job::default() });
        assert_eq!(suggest(&mut planner, &plans[1..]).0, 1);
        planner.learn(Some(&start), &Job::default());
        assert_eq!(suggest(&mut planner, &plans), (0, vec![(1, 1, 1)], StartPoint::default()));
    }

    #[test]
    fn a_number_that_was_given_to_another_is_not_taken_from_it() {
        let mut planner = planner();
        let plans = [plan(&[0, 1]), plan(&[0, 2])];
        suggest(&mut planner, &plans);
        let (_, _, old) = suggest(&mut planner, &plans[1..]);
        planner.planned.clear();
        suggest(&mut planner, &plans);
        planner.learn(Some(&old), &Job::default());
        assert_eq!(suggest(&mut planner, &plans[1..]).0, 1);
    }

    #[test]
    fn the_least_recently_used_checkpoint_is_replaced() {
        let mut planner = planner();
        for number in 0..MAX_CHECKPOINTS as u16 + 5 {
            suggest(&mut planner, &[plan(&[number, 0]), plan(&[number, 1])]);
            // The first is used all the time.
            assert_eq!(suggest(&mut planner, &[plan(&[0, 2])]).0, 1, "{number}");
        }
        assert_eq!(planner.planned.len(), MAX_CHECKPOINTS as usize - 1);
        assert_eq!(suggest(&mut planner, &[plan(&[1, 2])]).0, 0);
    }

    #[test]
    fn runs_that_are_not_plain_use_no_checkpoints() {
        let mut planner = planner();
        let plans = [plan(&[0, 1]), plan(&[0, 2])];
        suggest(&mut planner, &plans);
        let changes: [fn(&mut RunPlan); 4] = [
            |plan| plan.request.policy = Policy::Random { seed: 1 },
            |plan| plan.detail = true,
            |plan| plan.all_accesses = true,
            |plan| plan.stops.push(crate::Stop { after: 0, access: 1 }),
        ];
        for change in changes {
            let mut other = plans[1].clone();
            change(&mut other);
            assert_eq!(suggest(&mut planner, &[other.clone(), plans[0].clone()]), (0, vec![], StartPoint::default()));
            // The first has a base already, and what it has in common with the second does not
            // count.
            assert_eq!(suggest(&mut planner, &[plans[0].clone(), other, plans[1].clone()]).1, []);
        }
        let mut longer = plans[1].clone();
        longer.request.max_events += 1;
        assert_eq!(suggest(&mut planner, &[longer]).0, 0);
    }

    #[test]
    fn short_runs_are_left_alone_and_long_ones_are_not() {
        let mut planner = CheckpointPlanner::new(&Options::new("a.out"));
        planner.learn(None, &Job { nanoseconds: 20_000, ..Job::default() });
        assert!(!planner.are_wanted());
        // One run that took long is enough.
        planner.learn(None, &Job { nanoseconds: 50_000_000, ..Job::default() });
        assert!(planner.are_wanted());
        for _ in 0..100 {
            planner.learn(None, &Job { nanoseconds: 20_000, skipped: 80_000, ..Job::default() });
        }
        assert!(planner.are_wanted(), "they are short because they start after the long part");
        let real_files = Options { share_files: true, checkpoints: Checkpoints::Always, ..Options::new("a.out") };
        assert!(!CheckpointPlanner::new(&real_files).are_wanted());
    }
}
