//! Search trees as they are recorded.

use std::path::Path;

use raddle_exec::NativeTarget;
use raddle_explore::optimal::{Expander, WorkItem, items};
use raddle_explore::strategy::scheduled;
use raddle_model::{Execution, Target};

use crate::tools::{self, BenchError};

/// Runs that are under way at a time.
const WINDOW: usize = 64;
/// Work items whose sizes are looked at together.
const BUNDLE: usize = 64;

/// A search tree: its work items, each with its children and its weight.
#[derive(Default)]
pub struct RecordedTree {
    children: Vec<Vec<u32>>,
    /// Transitions of the run, which take the time.
    weights: Vec<f64>,
    pub total: f64,
    /// Bytes of a work item, by itself and among others.
    pub bytes_alone: f64,
    pub bytes_together: f64,
}

impl RecordedTree {
    /// Searches a program as `optimal` does.
    pub fn record(program: &Path) -> Result<Self, BenchError> {
        let mut target = NativeTarget::start(tools::options(program)?)?;
        let mut expander = Expander::new(0);
        let mut execution = Execution::empty();
        let mut tree = RecordedTree { children: vec![Vec::new()], weights: vec![0.0], ..RecordedTree::default() };
        let mut stack = vec![(0u32, WorkItem::default())];
        let mut under_way = std::collections::VecDeque::new();
        let (mut alone, mut together, mut seen) = (0, 0, 0);
        loop {
            while under_way.len() < WINDOW
                && let Some((number, item)) = stack.pop()
            {
                target.submit(scheduled(item.schedule.iter().collect()));
                under_way.push_back((number, item));
            }
            let Some((number, item)) = under_way.pop_front() else { break };
            target.finish(&mut execution)?;
            tree.weights[number as usize] = execution.events.len() as f64;
            let children = expander.expand(&item, &execution).children;
            if children.len() > 1 && seen < 100_000 {
                let some = &children[..children.len().min(BUNDLE)];
                let size = |items: &[WorkItem]| items::encode(items).map_or(0, |bytes| bytes.len());
                alone += some.iter().map(|item| size(std::slice::from_ref(item))).sum::<usize>();
                together += size(some);
                seen += some.len();
            }
            for child in children {
                let name = tree.weights.len() as u32;
                tree.children[number as usize].push(name);
                tree.children.push(Vec::new());
                tree.weights.push(0.0);
                stack.push((name, child));
            }
        }
        tree.total = tree.weights.iter().sum();
        let each = |bytes: usize| bytes as f64 / seen.max(1) as f64;
        (tree.bytes_alone, tree.bytes_together) = (each(alone), each(together));
        Ok(tree)
    }

    /// How many work items.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// The children of a work item.
    pub fn children(&self, item: u32) -> &[u32] {
        &self.children[item as usize]
    }

    /// What part of the search its run is.
    pub fn share(&self, item: u32) -> f64 {
        self.weights[item as usize] / self.total
    }
}
