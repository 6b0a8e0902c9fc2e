//! Relations on the events of a graph, as matrices of bits.

/// A relation on the numbers below a bound.
#[derive(Clone, Debug)]
pub struct Relation {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

/// A set of numbers below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    /// The empty set.
    pub fn new(size: usize) -> Self {
        Set(vec![0; size.div_ceil(64)])
    }

    /// The numbers with a property.
    pub fn of(size: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut set = Set::new(size);
        (0..size).filter(|&n| is_in(n)).for_each(|n| set.insert(n));
        set
    }

    /// Adds a number.
    pub fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    /// Whether a number is in it.
    pub fn contains(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

/// The numbers of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        std::iter::successors((word != 0).then_some(word), |word| {
            let rest = word & (word - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |word| at * 64 + word.trailing_zeros() as usize)
    })
}

impl Relation {
    /// The empty relation.
    pub fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Relation { size, words, bits: vec![0; size * words] }
    }

    fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..(from + 1) * self.words]
    }

    fn row_mut(&mut self, from: usize) -> &mut [u64] {
        &mut self.bits[from * self.words..(from + 1) * self.words]
    }

    /// Adds a pair.
    pub fn insert(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    /// Whether it has the pair.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds all pairs of another one.
    pub fn add(&mut self, other: &Relation) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word |= other);
    }

    /// With all pairs of another one.
    #[must_use]
    pub fn or(mut self, other: &Relation) -> Self {
        self.add(other);
        self
    }

    /// Only the pairs that are also in another one.
    #[must_use]
    pub fn and(mut self, other: &Relation) -> Self {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word &= other);
        self
    }

    /// Without the pairs of another one.
    #[must_use]
    pub fn without(mut self, other: &Relation) -> Self {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word &= !other);
        self
    }

    /// With each number related to itself.
    #[must_use]
    pub fn reflexive(mut self) -> Self {
        (0..self.size).for_each(|n| self.insert(n, n));
        self
    }

    /// Only the pairs that begin within a set.
    #[must_use]
    pub fn starting_in(mut self, set: &Set) -> Self {
        (0..self.size).filter(|&n| !set.contains(n)).for_each(|n| self.row_mut(n).fill(0));
        self
    }

    /// Only the pairs that end within a set.
    #[must_use]
    pub fn ending_in(mut self, set: &Set) -> Self {
        for n in 0..self.size {
            self.row_mut(n).iter_mut().zip(&set.0).for_each(|(word, set)| *word &= set);
        }
        self
    }

    /// Composition: first this, then the other one.
    #[must_use]
    pub fn then(&self, next: &Relation) -> Self {
        let mut all = Relation::new(self.size);
        for from in 0..self.size {
            for by in ones(self.row(from)) {
                let (start, words) = (from * self.words, self.words);
                all.bits[start..start + words].iter_mut().zip(next.row(by)).for_each(|(word, other)| *word |= other);
            }
        }
        all
    }

    /// Its transitive closure.
    #[must_use]
    pub fn closure(mut self) -> Self {
        let mut through = vec![0; self.words];
        for by in 0..self.size {
            through.copy_from_slice(self.row(by));
            for from in 0..self.size {
                if self.contains(from, by) {
                    self.row_mut(from).iter_mut().zip(&through).for_each(|(word, other)| *word |= other);
                }
            }
        }
        self
    }

    /// Whether no number is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|n| !self.contains(n, n))
    }

    /// Whether it has no cycle.
    pub fn is_acyclic(&self) -> bool {
        self.clone().closure().is_irreflexive()
    }
}
