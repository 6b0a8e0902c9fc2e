//! How a run continues behind its schedule.
//!
//! Threads are ordered by *rank*: the position of their spawn path in lexicographic order among the
//! threads that exist. Ranks therefore do not depend on the order in which independent events
//! happened.

/// Threads that exist at the same time, at most.
pub const MAX_THREADS: usize = 256;

/// The rule that chooses the next thread behind the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The least rank that can step without a time-out; if there is none, the least that can time
    /// out. A function of the state alone, which the search depends on.
    LeastRank,
    /// The thread that made the last step for as long as it can step without a time-out, then as
    /// `LeastRank`: no preemption.
    Stay,
    /// As `LeastRank`, but threads whose operation only gives come first
    /// ([`OpKind::gives`](crate::OpKind::gives)). For searches that recognise states: the fewer
    /// states differ only in what was given, the more are alike. Runs get the keys of their states.
    GiveFirst {
        /// Threads whose next operations come last, a bit for each run-local number: the search
        /// knows what would follow.
        last: u64,
    },
    /// Uniformly among all that can step (time-outs included).
    Random {
        /// Start of the pseudo-random sequence.
        seed: u64,
    },
    /// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random thread
    /// priorities, lowered at `depth - 1` random steps out of the first `horizon`.
    Pct {
        /// Start of the pseudo-random sequence.
        seed: u64,
        /// Bug depth aimed at.
        depth: u32,
        /// Steps expected in a run.
        horizon: u32,
    },
    /// Partial order sampling (Yuan et al., CAV 2018): every pending operation has a random
    /// priority of its own; those that conflict with the operation performed draw a new one.
    Pos {
        /// Start of the pseudo-random sequence.
        seed: u64,
    },
}

/// Numbers of the policies on the wire.
pub mod number {
    /// [`Policy::LeastRank`](super::Policy::LeastRank)
    pub const LEAST_RANK: u32 = 0;
    /// [`Policy::Random`](super::Policy::Random)
    pub const RANDOM: u32 = 1;
    /// [`Policy::Pct`](super::Policy::Pct)
    pub const PCT: u32 = 2;
    /// [`Policy::Pos`](super::Policy::Pos)
    pub const POS: u32 = 3;
    /// [`Policy::Stay`](super::Policy::Stay)
    pub const STAY: u32 = 4;
    /// [`Policy::GiveFirst`](super::Policy::GiveFirst)
    pub const GIVE_FIRST: u32 = 5;
}

/// What the policy needs to know of a thread that can step.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its rank now.
    pub rank: usize,
    /// A number that identifies the thread and does not depend on other threads (a hash of its
    /// spawn path).
    pub key: u64,
    /// How many transitions it has made.
    pub steps: u32,
    /// How often its pending operation met a conflicting step since it became pending (for `Pos`).
    pub conflicts: u32,
}

impl Policy {
    /// Chooses among the candidates (in increasing order of rank) as [`Chooser::choose`] does at
    /// the start of a run: PCT has lowered no priority yet.
    #[must_use]
    pub fn choose(self, step: u32, candidates: impl Iterator<Item = Candidate> + Clone) -> Option<usize> {
        Chooser::new(self).choose(step, candidates)
    }

    /// Which of its successors a step shall have. `LeastRank`, `Stay` and
    /// `GiveFirst` take the first.
    #[must_use]
    pub const fn successor(self, step: u32, successors: u16) -> u16 {
        match self {
            Policy::LeastRank | Policy::Stay | Policy::GiveFirst { .. } => 0,
            Policy::Random { seed } | Policy::Pct { seed, .. } | Policy::Pos { seed } => {
                let random = mix(seed ^ (step as u64).wrapping_mul(31));
                (random % if successors == 0 { 1 } else { successors as u64 }) as u16
            }
        }
    }
}

/// Change points that PCT can have, at most.
pub const MAX_CHANGES: usize = 15;

/// Choices for which `GiveFirst` lets threads wait.
const LONG: u16 = 512;

/// A policy with what it remembers of the run under way.
#[derive(Clone, Copy, Debug)]
pub struct Chooser {
    policy: Policy,
    /// PCT: for each change point that has passed, key of the thread that ran there and number of
    /// the step.
    lowered: [Option<(u64, u32)>; MAX_CHANGES],
    /// `GiveFirst`: the threads that come last and have not stepped.
    last: u64,
    /// `GiveFirst`: choices so far.
    choices: u16,
}

impl Chooser {
    /// The policy that it follows.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// The policy at the start of a run.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        let last = if let Policy::GiveFirst { last } = policy { last } else { 0 };
        Chooser { policy, lowered: [None; MAX_CHANGES], last, choices: 0 }
    }

    /// Whether the thread with this run-local number comes behind those that can step and do not.
    #[must_use]
    pub const fn comes_last(&self, thread: usize) -> bool {
        thread < 64 && self.last >> thread & 1 != 0
    }

    /// The thread with this run-local number was chosen: from now on it is as good as others. So
    /// are all after many choices: the threads that are chosen may wait for them.
    pub const fn note_choice(&mut self, thread: usize) {
        self.choices = self.choices.saturating_add(1);
        if self.choices >= LONG {
            self.last = 0;
        } else if thread < 64 {
            self.last &= !(1 << thread);
        }
    }

    /// Chooses among the candidates (in increasing order of rank); `step` counts the run's
    /// transitions. To be called once for each of them, in order.
    pub fn choose(&mut self, step: u32, candidates: impl Iterator<Item = Candidate> + Clone) -> Option<usize> {
        match self.policy {
            // The caller knows which thread ran last, and what each is about to do.
            Policy::LeastRank | Policy::Stay | Policy::GiveFirst { .. } => candidates.map(|c| c.rank).next(),
            Policy::Random { seed } => {
                let count = candidates.clone().count() as u64;
                if count == 0 {
                    return None;
                }
                let index = mix(seed ^ mix(u64::from(step))) % count;
                candidates.map(|c| c.rank).nth(index as usize)
            }
            Policy::Pct { seed, depth, horizon } => {
                let chosen = highest(candidates, |c| self.pct_priority(seed, c.key))?;
                self.lower(seed, depth, horizon, step, chosen.key);
                Some(chosen.rank)
            }
            Policy::Pos { seed } => {
                let priority = |c: &Candidate| {
                    mix(mix(seed ^ c.key).wrapping_add((u64::from(c.steps) << 32) | u64::from(c.conflicts)))
                };
                highest(candidates, priority).map(|c| c.rank)
            }
        }
    }

    /// A random high number; or, below all of those, the number of the last change point at which
    /// the thread ran.
    fn pct_priority(&self, seed: u64, key: u64) -> u64 {
        let met = self.lowered.iter().enumerate().filter_map(|(change, &met)| Some((change, met?)));
        match met.filter(|&(_, (met, _))| met == key).max_by_key(|&(_, (_, step))| step) {
            Some((change, _)) => change as u64,
            None => mix(seed ^ key) | (1 << 63),
        }
    }

    /// If a change point lies at this step, the priority of the thread that makes it changes
    /// afterwards.
    fn lower(&mut self, seed: u64, depth: u32, horizon: u32, step: u32, key: u64) {
        for change in 0..MAX_CHANGES.min(depth.saturating_sub(1) as usize) {
            let random = mix(mix(seed ^ 0x7063_7431).wrapping_add(change as u64));
            if random % u64::from(horizon.max(1)) == u64::from(step) {
                self.lowered[change] = Some((key, step));
            }
        }
    }
}

/// The candidate with the highest priority; the first of equals.
fn highest(candidates: impl Iterator<Item = Candidate>, priority: impl Fn(&Candidate) -> u64) -> Option<Candidate> {
    let mut best: Option<(u64, Candidate)> = None;
    for candidate in candidates {
        let value = priority(&candidate);
        if best.is_none_or(|(top, _)| value > top) {
            best = Some((value, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// SplitMix64's finaliser: a good, cheap mixing of 64 bits.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(keys: &[u64]) -> impl Iterator<Item = Candidate> + Clone + '_ {
        keys.iter().enumerate().map(|(rank, &key)| Candidate { rank, key, steps: 0, conflicts: 0 })
    }

    #[test]
    fn least_rank_is_the_first() {
        assert_eq!(Policy::LeastRank.choose(7, threads(&[5, 6])), Some(0));
        assert_eq!(Policy::LeastRank.choose(7, threads(&[])), None);
    }

    #[test]
    fn random_is_fair() {
        let chosen = |seed| Policy::Random { seed }.choose(3, threads(&[1, 2, 3])).unwrap();
        for rank in 0..3 {
            let share = (0..3000).filter(|&seed| chosen(seed) == rank).count();
            assert!((900..1100).contains(&share), "{share}");
        }
    }

    /// Without change points the same thread goes on for ever; at each change point another may.
    #[test]
    fn pct_changes_at_most_depth_minus_one_times() {
        for depth in 1..=4 {
            let mut most = 0;
            for seed in 0..200 {
                let mut chooser = Chooser::new(Policy::Pct { seed, depth, horizon: 50 });
                let mut run = [0; 50];
                for (step, chosen) in run.iter_mut().enumerate() {
                    *chosen = chooser.choose(step as u32, threads(&[11, 22, 33])).unwrap();
                }
                most = most.max(run.windows(2).filter(|pair| pair[0] != pair[1]).count());
            }
            assert_eq!(most, depth as usize - 1);
        }
    }

    /// The thread that is lowered last is not always the lowest: the change points carry their
    /// priorities.
    #[test]
    fn pct_orders_lowered_threads_both_ways() {
        let (mut early_first, mut late_first) = (0, 0);
        for seed in 0..500 {
            let mut chooser = Chooser::new(Policy::Pct { seed, depth: 3, horizon: 10 });
            let mut order = [0; 10];
            for (step, slot) in order.iter_mut().enumerate() {
                *slot = chooser.choose(step as u32, threads(&[11, 22])).unwrap();
            }
            let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
            // Both are lowered; then the one that was lowered first goes on, or the other.
            match changes {
                1 => late_first += 1,
                2 => early_first += 1,
                _ => {}
            }
        }
        assert!(early_first > 50 && late_first > 50, "{early_first} {late_first}");
    }

    #[test]
    fn pos_draws_anew_after_a_conflict() {
        let chosen = |seed, conflicts| {
            let pair = [(0, 0), (1, conflicts)];
            let candidates =
                pair.into_iter().map(|(rank, conflicts)| Candidate { rank, key: rank as u64, steps: 1, conflicts });
            Policy::Pos { seed }.choose(0, candidates).unwrap()
        };
        let changed = (0..1000).filter(|&seed| chosen(seed, 0) != chosen(seed, 1)).count();
        assert!((200..500).contains(&changed), "{changed}");
    }

    #[test]
    fn successors_are_within_bounds() {
        for seed in 0..100 {
            assert!(Policy::Pos { seed }.successor(5, 3) < 3);
            assert_eq!(Policy::Random { seed }.successor(5, 0), 0);
        }
        assert_eq!(Policy::LeastRank.successor(5, 3), 0);
    }
}
