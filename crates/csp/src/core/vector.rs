//! Component states stored as shared trees.
//!
//! Source: recursive indexing of state vectors (Laarman, van de Pol, Weber: *Parallel recursive
//! state compression for free*, SPIN 2011). A vector is a tree of fixed-size nodes and every node
//! is kept once, so two states that differ in one component share all but one path, and a step
//! costs the logarithm of the number of components. Deviation: nodes of eight entries instead of
//! two, which keeps small systems in a single node.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

const FAN: usize = 8;
type Node = [u32; FAN];

/// Fills the unused entries of the last nodes.
const PADDING: u32 = u32::MAX;

/// Vectors of one fixed length. A vector is identified by the index of its root node.
pub(crate) struct Vectors {
    nodes: IndexSet<Node, FxBuildHasher>,
    length: usize,
    /// How many vector entries one entry of a root node represents.
    root_span: usize,
}

impl Vectors {
    pub(crate) fn new(length: usize) -> Vectors {
        let mut root_span = 1;
        while root_span * FAN < length {
            root_span *= FAN;
        }
        Vectors { nodes: IndexSet::default(), length, root_span }
    }

    /// The number of the vector with these entries.
    pub(crate) fn insert(&mut self, entries: &[u32]) -> u32 {
        debug_assert_eq!(entries.len(), self.length);
        let mut level: Vec<u32> = entries.to_vec();
        let mut span = 1;
        loop {
            level = level.chunks(FAN).map(|chunk| self.node(chunk)).collect();
            if span == self.root_span {
                // An empty vector has no chunk; it still needs a number.
                return level.first().copied().unwrap_or_else(|| self.node(&[]));
            }
            span *= FAN;
        }
    }

    /// Writes the entries of `root` to `entries`.
    pub(crate) fn unpack(&self, root: u32, entries: &mut Vec<u32>) {
        entries.clear();
        self.unpack_below(root, self.root_span, entries);
    }

    /// The entry of `root` at `position`.
    pub(crate) fn get(&self, root: u32, position: usize) -> u32 {
        let (mut node, mut span, mut rest) = (root, self.root_span, position);
        loop {
            node = self.nodes[node as usize][rest / span];
            rest %= span;
            if span == 1 {
                return node;
            }
            span /= FAN;
        }
    }

    /// The vector that is `root` except for `changes`, which are sorted by position.
    pub(crate) fn replace(&mut self, root: u32, changes: &[(usize, u32)]) -> u32 {
        self.replace_below(root, self.root_span, 0, changes)
    }

    /// How many nodes are kept.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn node(&mut self, entries: &[u32]) -> u32 {
        let mut node = [PADDING; FAN];
        node[..entries.len()].copy_from_slice(entries);
        self.insert_node(node)
    }

    fn insert_node(&mut self, node: Node) -> u32 {
        let index = self.nodes.insert_full(node).0;
        u32::try_from(index).expect("fewer than 2^32 nodes fit the memory")
    }

    fn unpack_below(&self, node: u32, span: usize, entries: &mut Vec<u32>) {
        for &entry in &self.nodes[node as usize] {
            if entries.len() == self.length {
                return;
            }
            match span {
                1 => entries.push(entry),
                _ => self.unpack_below(entry, span / FAN, entries),
            }
        }
    }

    fn replace_below(&mut self, node: u32, span: usize, base: usize, changes: &[(usize, u32)]) -> u32 {
        let mut entries = self.nodes[node as usize];
        let mut rest = changes;
        while let Some(&(position, value)) = rest.first() {
            let slot = (position - base) / span;
            if span == 1 {
                entries[slot] = value;
                rest = &rest[1..];
            } else {
                let start = base + slot * span;
                let here = rest.partition_point(|change| change.0 < start + span);
                entries[slot] = self.replace_below(entries[slot], span / FAN, start, &rest[..here]);
                rest = &rest[here..];
            }
        }
        self.insert_node(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_every_size_come_back_and_change() {
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 1000] {
            let mut store = Vectors::new(length);
            let mut entries: Vec<u32> = (0..length as u32).map(|index| index * 3).collect();
            let root = store.insert(&entries);
            let mut copy = Vec::new();
            store.unpack(root, &mut copy);
            assert_eq!(copy, entries);
            if length == 0 {
                continue;
            }
            let changes: Vec<(usize, u32)> =
                [0, length / 2, length - 1].into_iter().map(|at| (at, 7_000_000 + at as u32)).collect();
            let mut changes = changes;
            changes.dedup();
            let changed = store.replace(root, &changes);
            for &(at, value) in &changes {
                entries[at] = value;
            }
            store.unpack(changed, &mut copy);
            assert_eq!(copy, entries);
            assert!(entries.iter().enumerate().all(|(at, &entry)| store.get(changed, at) == entry));
            assert_eq!(store.insert(&entries), changed, "equal vectors have one name");
        }
    }

    #[test]
    fn a_step_of_one_component_adds_one_path() {
        let mut store = Vectors::new(8 * 8 * 8);
        let root = store.insert(&vec![1; 512]);
        let before = store.nodes();
        store.replace(root, &[(100, 2)]);
        assert_eq!(store.nodes() - before, 3);
    }
}
