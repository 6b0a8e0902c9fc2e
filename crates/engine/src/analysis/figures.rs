//! Figures about facts: how much a branch leaves open.

use std::collections::BTreeSet;

use raddle_model::facts::{Act, Facts, NodeId};

/// Objects that a successor of a branch may access, on average over the branches that depend on
/// other threads.
#[must_use]
pub fn objects_per_edge(facts: &Facts) -> Option<f64> {
    let mut edges = 0u64;
    let mut objects = 0u64;
    for node in facts.nodes.iter().filter(|node| node.tainted && node.next.len() > 1) {
        for &next in &node.next {
            edges += 1;
            objects += objects_from(facts, next);
        }
    }
    (edges > 0).then(|| objects as f64 / edges as f64)
}

/// Objects accessed from a node to the end of its function, calls included.
fn objects_from(facts: &Facts, start: NodeId) -> u64 {
    let mut seen = vec![false; facts.nodes.len()];
    let mut objects = BTreeSet::new();
    let mut work = vec![start];
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        let node = &facts.nodes[at as usize];
        work.extend(&node.next);
        match &node.act {
            Act::Access { at, .. } => objects.extend(at.list.iter().map(|span| span.object)),
            Act::Call { targets } => {
                work.extend(targets.iter().map(|&target| facts.functions[target as usize].entry));
            }
            _ => {}
        }
    }
    objects.len() as u64
}
