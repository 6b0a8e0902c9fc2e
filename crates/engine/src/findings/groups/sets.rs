//! Disjoint sets of numbers.

use std::collections::BTreeMap;

/// Numbers from 0, each in one set. The root of a set is its least number, so that it does not
/// depend on the order of joining.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    /// So many numbers, each alone.
    pub fn new(count: usize) -> Self {
        Sets { parent: (0..count).collect() }
    }

    pub fn root(&self, mut number: usize) -> usize {
        while self.parent[number] != number {
            number = self.parent[number];
        }
        number
    }

    pub fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parent[one.max(other)] = one.min(other);
    }

    pub fn join_all(&mut self, members: &[usize]) {
        for pair in members.windows(2) {
            self.join(pair[0], pair[1]);
        }
    }

    pub fn is_alone(&self, number: usize) -> bool {
        (0..self.parent.len()).all(|other| other == number || self.root(other) != self.root(number))
    }

    /// How many sets there are.
    pub fn count(&self) -> usize {
        self.parent.iter().enumerate().filter(|(number, parent)| number == *parent).count()
    }

    /// The sets, each in increasing order.
    pub fn lists(&self) -> Vec<Vec<usize>> {
        let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for number in 0..self.parent.len() {
            by_root.entry(self.root(number)).or_default().push(number);
        }
        by_root.into_values().collect()
    }
}
