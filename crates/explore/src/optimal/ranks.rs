//! Sets of threads, by rank.

use smallvec::{SmallVec, smallvec};

/// A set of ranks below a limit, which is set when it is made, filled or cleared.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    words: SmallVec<[u64; 1]>,
}

impl Ranks {
    /// The empty set, for ranks below `limit`.
    pub fn none(limit: usize) -> Self {
        Ranks { words: smallvec![0; limit.div_ceil(64)] }
    }

    /// Makes it the empty set, for ranks below `limit`.
    pub fn clear(&mut self, limit: usize) {
        self.words.clear();
        self.words.resize(limit.div_ceil(64), 0);
    }

    /// Makes it the set of all ranks below `limit`.
    pub fn fill(&mut self, limit: usize) {
        self.words.clear();
        self.words.resize(limit.div_ceil(64), u64::MAX);
        if let Some(last) = self.words.last_mut() {
            *last >>= (64 - limit % 64) % 64;
        }
    }

    pub fn copy_from(&mut self, other: &Ranks) {
        self.words.clone_from(&other.words);
    }

    pub fn has(&self, rank: usize) -> bool {
        self.words[rank / 64] >> (rank % 64) & 1 != 0
    }

    pub fn insert(&mut self, rank: usize) {
        self.words[rank / 64] |= 1 << (rank % 64);
    }

    pub fn remove(&mut self, rank: usize) {
        self.words[rank / 64] &= !(1 << (rank % 64));
    }

    /// How many words of 64 ranks there are.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Ranks `64 * word` and the 63 behind it, lowest bit first.
    pub fn word(&self, word: usize) -> u64 {
        self.words[word]
    }

    /// The same, to be changed.
    pub fn word_mut(&mut self, word: usize) -> &mut u64 {
        &mut self.words[word]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_ends_at_its_limit() {
        for limit in [0, 1, 63, 64, 65, 128, 200] {
            let mut ranks = Ranks::default();
            ranks.fill(limit);
            let count: u32 = (0..ranks.words()).map(|word| ranks.word(word).count_ones()).sum();
            assert_eq!(count as usize, limit);
        }
    }

    #[test]
    fn members_come_and_go() {
        let mut ranks = Ranks::default();
        ranks.clear(130);
        ranks.insert(129);
        assert!(ranks.has(129) && !ranks.has(65));
        ranks.remove(129);
        assert!(!ranks.has(129));
    }
}
