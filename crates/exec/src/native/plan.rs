//! A run to make, and its form in the shared file.

use raddle_model::{Choice, Request};
use raddle_vocab::HOLD;
use raddle_vocab::policy::{Policy, number};
use raddle_wire::{Job, MAX_SEGMENTS, NO_ACCESS_STOP, NO_CHOICE, Segment, job_flag};
use serde::{Deserialize, Serialize};

/// A point between two transitions of a thread where the thread stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// After this transition of the schedule (from 0) its thread continues …
    pub after: usize,
    /// … until it is about to make its data access with this number (from 0) since that transition.
    pub access: u32,
}

/// A [`Request`] and what only a target in a process of its own can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Schedule, policy, bound.
    pub request: Request,
    /// Where threads stop between two transitions, in increasing order of `after`.
    pub stops: Vec<Stop>,
    /// Record stacks.
    pub detail: bool,
    /// Record accesses that repeat an earlier one since the thread's last transition.
    pub all_accesses: bool,
    /// End the run where the schedule ends, with every thread before its next operation.
    pub stop_after_schedule: bool,
}

impl From<Request> for RunPlan {
    fn from(request: Request) -> Self {
        RunPlan { request, stops: Vec::new(), detail: false, all_accesses: false, stop_after_schedule: false }
    }
}

/// Status of a job before the target has run it; no run ends with it.
pub(super) const NOT_RUN: u32 = u32::MAX;

impl RunPlan {
    /// The job for this plan, with its segments appended to `segments`; `None` if there is no room
    /// for them.
    pub(super) fn encode(&self, segments: &mut Vec<Segment>) -> Option<Job> {
        let first = segments.len();
        self.encode_schedule(segments);
        if segments.len() > MAX_SEGMENTS {
            segments.truncate(first);
            return None;
        }
        let (policy, policy_seed, policy_depth, policy_horizon) = match self.request.policy {
            Policy::LeastRank => (number::LEAST_RANK, 0, 0, 0),
            Policy::Random { seed } => (number::RANDOM, seed, 0, 0),
            Policy::Pct { seed, depth, horizon } => (number::PCT, seed, depth, horizon),
            Policy::Pos { seed } => (number::POS, seed, 0, 0),
            Policy::Stay => (number::STAY, 0, 0, 0),
            Policy::GiveFirst { last } => (number::GIVE_FIRST, last, 0, 0),
        };
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        Some(Job {
            flags: flag(self.detail, job_flag::DETAIL)
                | flag(self.all_accesses, job_flag::ALL_ACCESSES)
                | flag(self.stop_after_schedule, job_flag::STOP_AFTER_SCHEDULE)
                | flag(matches!(self.request.policy, Policy::GiveFirst { .. }), job_flag::KEYS),
            first_segment: first as u32,
            segments: (segments.len() - first) as u32,
            policy,
            policy_depth,
            policy_seed,
            policy_horizon,
            // A bound of 0 would mark the end of the batch.
            max_events: self.request.max_events.max(1),
            status: NOT_RUN,
            ..Job::default()
        })
    }

    /// The schedule in run-length form. A choice belongs to the first transition of a segment.
    fn encode_schedule(&self, segments: &mut Vec<Segment>) {
        // A random policy would also draw choices inside the schedule, so each transition states
        // its own.
        let explicit = !matches!(self.request.policy, Policy::LeastRank | Policy::Stay | Policy::GiveFirst { .. });
        let mut stops = self.stops.iter().peekable();
        let mut open = false;
        for (index, &Choice { thread, choice }) in self.request.schedule.iter().enumerate() {
            if choice == HOLD {
                segments.push(Segment::hold(thread));
                open = false;
                continue;
            }
            let plain = choice == 0 && !explicit;
            match segments.last_mut() {
                Some(last) if open && plain && last.tid == thread && last.steps < u32::MAX => last.steps += 1,
                _ => segments.push(Segment {
                    tid: thread,
                    choice: if plain { NO_CHOICE } else { choice },
                    steps: 1,
                    accesses: NO_ACCESS_STOP,
                    reserved: 0,
                }),
            }
            let stop = stops.next_if(|stop| stop.after == index);
            if let (Some(stop), Some(last)) = (stop, segments.last_mut()) {
                last.accesses = stop.access;
            }
            open = stop.is_none();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(schedule: &[(u16, u16)], policy: Policy) -> RunPlan {
        let schedule = schedule.iter().map(|&(thread, choice)| Choice { thread, choice }).collect();
        RunPlan::from(Request { schedule, policy, max_events: 100 })
    }

    fn segments(plan: &RunPlan) -> Vec<(u16, u16, u32, u32)> {
        let mut segments = Vec::new();
        let job = plan.encode(&mut segments).unwrap();
        assert_eq!((job.first_segment, job.segments as usize), (0, segments.len()));
        segments.iter().map(|s| (s.tid, s.choice, s.steps, s.accesses)).collect()
    }

    const NO: u16 = NO_CHOICE;
    const GO: u32 = NO_ACCESS_STOP;

    #[test]
    fn runs_of_one_thread_become_one_segment() {
        let plan = plan(&[(0, 0), (0, 0), (1, 0), (0, 0)], Policy::LeastRank);
        assert_eq!(segments(&plan), [(0, NO, 2, GO), (1, NO, 1, GO), (0, NO, 1, GO)]);
    }

    #[test]
    fn a_choice_opens_a_segment_and_later_steps_follow_it() {
        let plan = plan(&[(0, 0), (0, 2), (0, 0)], Policy::LeastRank);
        assert_eq!(segments(&plan), [(0, NO, 1, GO), (0, 2, 2, GO)]);
    }

    #[test]
    fn a_thread_that_is_held_back_makes_no_step() {
        let plan = plan(&[(0, 0), (1, HOLD), (0, 0)], Policy::LeastRank);
        assert_eq!(segments(&plan), [(0, NO, 1, GO), (1, HOLD, 0, 0), (0, NO, 1, GO)]);
    }

    #[test]
    fn a_stop_closes_its_segment() {
        let mut plan = plan(&[(1, 0), (1, 0), (1, 0)], Policy::LeastRank);
        plan.stops = vec![Stop { after: 1, access: 5 }];
        assert_eq!(segments(&plan), [(1, NO, 2, 5), (1, NO, 1, GO)]);
    }

    #[test]
    fn under_a_random_policy_every_choice_is_explicit() {
        let plan = plan(&[(0, 0), (0, 0)], Policy::Random { seed: 1 });
        assert_eq!(segments(&plan), [(0, 0, 1, GO), (0, 0, 1, GO)]);
    }

    #[test]
    fn a_schedule_with_too_many_switches_is_refused() {
        let schedule: Vec<(u16, u16)> = (0..=MAX_SEGMENTS).map(|n| ((n % 2) as u16, 0)).collect();
        assert!(plan(&schedule, Policy::LeastRank).encode(&mut Vec::new()).is_none());
    }
}
