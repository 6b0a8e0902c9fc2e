//! Which checkpoints the target was asked to keep, and which runs start from them.
//!
//! Schedules that begin alike need the common part made only once. What stands here are suggestions: the target keeps a checkpoint only if it
//! can and if that pays (`rt::restore::checkpoint`), and a run whose base it does not have starts from the root, with the same result. So nothing
//! depends on them but time. For programs whose runs are short nothing is suggested: it would not pay.

use raddle_model::Choice;
use raddle_vocab::policy::Policy;
use raddle_wire::{Job, MAX_CHECKPOINTS, MAX_SEGMENTS, Segment};

use super::plan::RunPlan;
use crate::options::{Checkpoints, Mode, Options, Output};

/// Checkpoints that one run is asked for, at most.
const MAX_KEEPS: usize = 8;
/// Plans that are looked at to see what they have in common with the one before them.
const AHEAD: usize = 32;
/// Nanoseconds of a run from the root, on average, from which on checkpoints are suggested.
const LONG_RUN: u64 = 60_000;
/// The average counts the last runs most, about so many.
const MEMORY: u64 = 16;

/// A checkpoint that was asked for.
#[derive(Debug)]
struct PlannedCheckpoint {
    /// The schedule that leads there.
    prefix: Vec<Choice>,
    /// Events are counted from the root, so that runs with another bound are other runs.
    max_events: u64,
    /// When it was used last, and when it was asked for: by the number of plans.
    used: u64,
    asked: u64,
}

/// The base that a run was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartPoint {
    id: u32,
    asked: u64,
    steps: u32,
}

/// What is known about the checkpoints of one process.
#[derive(Debug)]
pub(super) struct CheckpointPlanner {
    when: Checkpoints,
    /// The checkpoint with number `n` is entry `n - 1`.
    known: Vec<Option<PlannedCheckpoint>>,
    plans: u64,
    /// The schedule before.
    previous: Vec<Choice>,
    /// Nanoseconds of a run from the root.
    average: u64,
}

impl CheckpointPlanner {
    pub(super) fn new(options: &Options) -> Self {
        // What was written to a real file or terminal is not written again by a run that starts behind it.
        let writes = options.share_files || options.output != Output::Discard;
        let when = if writes || options.mode == Mode::Fork { Checkpoints::Never } else { options.checkpoints };
        CheckpointPlanner { when, known: Vec::new(), plans: 0, previous: Vec::new(), average: 0 }
    }

    /// Whether there is anything to suggest.
    pub(super) fn are_wanted(&self) -> bool {
        match self.when {
            Checkpoints::WherePaying => self.average >= LONG_RUN,
            Checkpoints::Never => false,
            Checkpoints::Always => true,
        }
    }

    /// Adds to the job where to start from, and to the segments behind its own where checkpoints shall be kept for those that follow.
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
        let similar = following.take(AHEAD).filter(|other| is_plain(other) && other.request.max_events == max_events);
        let mut common: Vec<u32> = similar.map(|other| common_steps(schedule, &other.request.schedule)).collect();
        if common.is_empty() {
            // Nobody follows yet. Perhaps the next one will be as much like this one as this one is like the last.
            common.push(common_steps(schedule, &self.previous));
        }
        common.retain(|&steps| steps > start.steps);
        common.sort_unstable_by(|a, b| b.cmp(a));
        self.previous.clone_from(schedule);
        job.base = start.id;
        for (at, uses) in places(&common) {
            let prefix = schedule[..at as usize].to_vec();
            let id = self.add(PlannedCheckpoint { prefix, max_events, used: self.plans, asked: self.plans }, start.id);
            segments.push(Segment::keep(id, at, uses));
            job.keeps += 1;
        }
        start
    }

    /// The known checkpoint that the schedule leads to last, or the root.
    fn longest(&mut self, schedule: &[Choice], max_events: u64) -> StartPoint {
        let leads = |known: &PlannedCheckpoint| known.max_events == max_events && schedule.starts_with(&known.prefix);
        let best = self.known.iter_mut().enumerate();
        let best = best.filter_map(|(index, known)| Some((index, known.as_mut().filter(|known| leads(known))?)));
        let Some((index, known)) = best.max_by_key(|(_, known)| known.prefix.len()) else {
            return StartPoint::default();
        };
        known.used = self.plans;
        StartPoint { id: index as u32 + 1, asked: known.asked, steps: known.prefix.len() as u32 }
    }

    /// Gives the checkpoint a number: a free one, or that of the one not used for the longest time, but not `base`.
    fn add(&mut self, new: PlannedCheckpoint, base: u32) -> u16 {
        let free = self.known.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            if self.known.len() + 1 < MAX_CHECKPOINTS as usize {
                self.known.push(None);
                return self.known.len() - 1;
            }
            let others = self.known.iter().enumerate().filter(|&(index, _)| index as u32 + 1 != base);
            others.min_by_key(|(_, known)| known.as_ref().map(|known| known.used)).map_or(0, |(index, _)| index)
        });
        self.known[index] = Some(new);
        index as u16 + 1
    }

    /// Learns from a run that came back: how long it took, what it left out, and behind how many transitions it started.
    pub(super) fn learn(&mut self, given: Option<&StartPoint>, job: &Job) {
        let whole = job.nanoseconds.saturating_add(job.skipped);
        self.average = (self.average.saturating_mul(MEMORY - 1).saturating_add(whole)) / MEMORY;
        let Some(start) = given.filter(|start| job.started_at < start.steps) else { return };
        // The target does not have it, so that it is worth asking again.
        if let Some(slot) = self.known.get_mut(start.id as usize - 1)
            && slot.as_ref().is_some_and(|known| known.asked == start.asked)
        {
            *slot = None;
        }
    }
}

/// Whether the run follows nothing but its schedule, and then a rule that depends on the state alone.
fn is_plain(plan: &RunPlan) -> bool {
    plan.request.policy == Policy::LeastRank && plan.stops.is_empty() && !plan.detail && !plan.all_accesses
}

fn common_steps(one: &[Choice], other: &[Choice]) -> u32 {
    one.iter().zip(other).take_while(|(a, b)| a == b).count() as u32
}

/// Numbers of common transitions, largest first, as places in a run, in their order, with how many of the others come by there.
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
        assert_eq!(job.keeps as usize, segments.len());
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
    fn a_plan_that_nobody_follows_is_compared_with_the_one_before() {
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
        planner.known.clear();
        suggest(&mut planner, &plans);
        planner.learn(Some(&old), &Job::default());
        assert_eq!(suggest(&mut planner, &plans[1..]).0, 1);
    }

    #[test]
    fn the_one_not_used_for_the_longest_time_makes_way() {
        let mut planner = planner();
        for number in 0..MAX_CHECKPOINTS as u16 + 5 {
            suggest(&mut planner, &[plan(&[number, 0]), plan(&[number, 1])]);
            // The first is used all the time.
            assert_eq!(suggest(&mut planner, &[plan(&[0, 2])]).0, 1, "{number}");
        }
        assert_eq!(planner.known.len(), MAX_CHECKPOINTS as usize - 1);
        assert_eq!(suggest(&mut planner, &[plan(&[1, 2])]).0, 0);
    }

    #[test]
    fn other_runs_have_nothing_to_do_with_it() {
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
            // The first has a base already, and what it has in common with the second does not count.
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
        assert!(planner.are_wanted(), "they are short because they start behind the long part");
        let real_files = Options { share_files: true, checkpoints: Checkpoints::Always, ..Options::new("a.out") };
        assert!(!CheckpointPlanner::new(&real_files).are_wanted());
    }
}
