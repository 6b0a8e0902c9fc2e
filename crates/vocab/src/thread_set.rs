//! Sets of threads.

use crate::policy::MAX_THREADS;

/// A set of threads of one run. Its members are numbers or ranks, as the user of the set decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct ThreadSet {
    words: [u64; ThreadSet::WORDS],
}

impl ThreadSet {
    /// How many words of 64 members a set has.
    pub const WORDS: usize = MAX_THREADS / 64;

    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        ThreadSet { words: [0; ThreadSet::WORDS] }
    }

    /// The set of all members below `limit`.
    #[must_use]
    pub const fn below(limit: usize) -> Self {
        let mut set = ThreadSet::new();
        let mut word = 0;
        while word < ThreadSet::WORDS && word * 64 < limit {
            let members = limit - word * 64;
            set.words[word] = if members < 64 { (1 << members) - 1 } else { u64::MAX };
            word += 1;
        }
        set
    }

    /// Adds a thread. Members beyond [`MAX_THREADS`] are ignored: no run has so many.
    #[inline]
    pub const fn insert(&mut self, member: usize) {
        if member < MAX_THREADS {
            self.words[member / 64] |= 1 << (member % 64);
        }
    }

    /// Removes a thread.
    #[inline]
    pub const fn remove(&mut self, member: usize) {
        if member < MAX_THREADS {
            self.words[member / 64] &= !(1 << (member % 64));
        }
    }

    /// Whether the thread is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(&self, member: usize) -> bool {
        member < MAX_THREADS && self.words[member / 64] & (1 << (member % 64)) != 0
    }

    /// The least member.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> Option<usize> {
        let mut word = 0;
        while word < ThreadSet::WORDS {
            if self.words[word] != 0 {
                return Some(word * 64 + self.words[word].trailing_zeros() as usize);
            }
            word += 1;
        }
        None
    }

    /// The threads that are in at least one of the two.
    #[must_use]
    #[inline]
    pub const fn union(&self, other: &ThreadSet) -> ThreadSet {
        let mut both = *self;
        let mut word = 0;
        while word < ThreadSet::WORDS {
            both.words[word] |= other.words[word];
            word += 1;
        }
        both
    }

    /// How many threads are in the set.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        let mut all = 0;
        let mut word = 0;
        while word < ThreadSet::WORDS {
            all |= self.words[word];
            word += 1;
        }
        all == 0
    }

    /// The members as bits, 64 to a word, the least member first.
    #[must_use]
    #[inline]
    pub const fn words(&self) -> &[u64; ThreadSet::WORDS] {
        &self.words
    }

    /// The same, to be changed.
    #[inline]
    pub const fn words_mut(&mut self) -> &mut [u64; ThreadSet::WORDS] {
        &mut self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let mut set = ThreadSet::new();
        assert!(set.is_empty());
        for member in [255, 3, 64, 3, MAX_THREADS] {
            set.insert(member);
        }
        assert_eq!((set.len(), set.first()), (3, Some(3)));
        assert_eq!(set.words(), &[1 << 3, 1, 0, 1 << 63]);
        set.remove(3);
        assert!(!set.contains(3) && set.contains(64) && !set.contains(MAX_THREADS));
        assert_eq!((set.len(), set.first()), (2, Some(64)));
    }

    #[test]
    fn a_set_of_all_members_ends_at_its_limit() {
        for limit in [0, 1, 63, 64, 65, 128, 200, 256, 300] {
            let set = ThreadSet::below(limit);
            assert_eq!(set.len() as usize, limit.min(MAX_THREADS));
            assert!(!set.contains(limit) && (limit == 0 || limit > MAX_THREADS || set.contains(limit - 1)));
        }
    }

    #[test]
    fn a_union_has_the_members_of_both() {
        let (mut one, mut other) = (ThreadSet::new(), ThreadSet::new());
        one.insert(7);
        other.insert(200);
        let both = one.union(&other);
        assert!(both.contains(7) && both.contains(200) && both.len() == 2);
    }
}
