//! How a run goes on when its schedule is used up.
//!
//! Threads are ordered by *rank*: the position of their spawn path in lexicographic order among the threads that
//! exist. Ranks therefore do not depend on the order in which independent events happened.

/// Threads that exist at a moment, at most.
pub const MAX_THREADS: usize = 256;

/// A set of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankSet {
    words: [u64; MAX_THREADS / 64],
}

impl RankSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        RankSet { words: [0; MAX_THREADS / 64] }
    }

    /// Adds a rank; ranks beyond [`MAX_THREADS`] are ignored (the runtime never creates so many threads).
    pub const fn insert(&mut self, rank: usize) {
        if rank < MAX_THREADS {
            self.words[rank / 64] |= 1 << (rank % 64);
        }
    }

    /// Removes a rank.
    pub const fn remove(&mut self, rank: usize) {
        if rank < MAX_THREADS {
            self.words[rank / 64] &= !(1 << (rank % 64));
        }
    }

    /// Whether the rank is in the set.
    #[must_use]
    pub const fn contains(&self, rank: usize) -> bool {
        rank < MAX_THREADS && self.words[rank / 64] & (1 << (rank % 64)) != 0
    }

    /// The least rank.
    #[must_use]
    pub const fn first(&self) -> Option<usize> {
        let mut word = 0;
        while word < MAX_THREADS / 64 {
            if self.words[word] != 0 {
                return Some(word * 64 + self.words[word].trailing_zeros() as usize);
            }
            word += 1;
        }
        None
    }

    /// How many ranks are in the set.
    #[must_use]
    pub const fn len(&self) -> usize {
        let mut total = 0;
        let mut word = 0;
        while word < MAX_THREADS / 64 {
            total += self.words[word].count_ones() as usize;
            word += 1;
        }
        total
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// The `n`-th rank, counting from 0 in increasing order.
    #[must_use]
    pub fn nth(&self, mut n: usize) -> Option<usize> {
        for (index, &word) in self.words.iter().enumerate() {
            let ones = word.count_ones() as usize;
            if n >= ones {
                n -= ones;
                continue;
            }
            let mut rest = word;
            for _ in 0..n {
                rest &= rest - 1;
            }
            return Some(index * 64 + rest.trailing_zeros() as usize);
        }
        None
    }
}

/// Which rule chooses the next thread once the schedule is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The least rank that can step without a time-out; if there is none, the least that can time out.
    /// A function of the state alone, which the search depends on.
    LeastRank,
    /// Uniformly among all that can step (time-outs included).
    Random {
        /// Start of the pseudo-random sequence.
        seed: u64,
    },
    /// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random thread priorities, lowered at
    /// `depth - 1` random steps out of the first `horizon`.
    Pct {
        /// Start of the pseudo-random sequence.
        seed: u64,
        /// Bug depth aimed at.
        depth: u32,
        /// Steps expected in a run.
        horizon: u32,
    },
    /// Partial order sampling (Yuan et al., CAV 2018): every pending operation has a random priority of its own; those
    /// that conflict with the operation performed draw a new one.
    Pos {
        /// Start of the pseudo-random sequence.
        seed: u64,
    },
}

/// What the policy needs to know of a thread that can step.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its rank now.
    pub rank: usize,
    /// A number that names the thread and does not depend on other threads (a hash of its spawn path).
    pub key: u64,
    /// How many transitions it has made.
    pub steps: u32,
    /// How often its pending operation met a conflicting step since it became pending (for `Pos`).
    pub conflicts: u32,
}

impl Policy {
    /// Chooses among the candidates (never empty, in increasing order of rank); `step` counts the run's transitions.
    /// `LeastRank` takes the first.
    #[must_use]
    pub fn choose(self, step: u32, candidates: impl Iterator<Item = Candidate> + Clone) -> Option<usize> {
        match self {
            Policy::LeastRank => candidates.map(|c| c.rank).next(),
            Policy::Random { seed } => {
                let count = candidates.clone().count() as u64;
                if count == 0 {
                    return None;
                }
                let index = mix(seed ^ mix(u64::from(step))) % count;
                candidates.map(|c| c.rank).nth(index as usize)
            }
            Policy::Pct { seed, depth, horizon } => {
                highest(candidates, |c| pct_priority(seed, depth, horizon, step, c.key))
            }
            Policy::Pos { seed } => highest(candidates, |c| {
                mix(mix(seed ^ c.key).wrapping_add((u64::from(c.steps) << 32) | u64::from(c.conflicts)))
            }),
        }
    }
}

/// The rank with the highest priority; the first of equals.
fn highest(candidates: impl Iterator<Item = Candidate>, priority: impl Fn(&Candidate) -> u64) -> Option<usize> {
    let mut best: Option<(u64, usize)> = None;
    for candidate in candidates {
        let value = priority(&candidate);
        if best.is_none_or(|(top, _)| value > top) {
            best = Some((value, candidate.rank));
        }
    }
    best.map(|(_, rank)| rank)
}

/// PCT without state: each of the `depth - 1` change points lies at a random step and hits one random thread key class;
/// a thread hit by change point `i` that lies in the past gets the low priority `i`.
fn pct_priority(seed: u64, depth: u32, horizon: u32, step: u32, key: u64) -> u64 {
    let mut priority = mix(seed ^ key) | (1 << 63);
    for change in 1..depth {
        let random = mix(seed.wrapping_add(u64::from(change).wrapping_mul(0x9e37_79b9)));
        let at = (random % u64::from(horizon.max(1))) as u32;
        // Which thread runs at the change point is not known without state: let the point hit about half of them.
        if step >= at && mix(random ^ key) & 1 == 0 {
            priority = u64::from(depth - change);
        }
    }
    priority
}

/// SplitMix64's finaliser: a good, cheap mixing of 64 bits.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
