//! How far the search is, as bytes.
//!
//! What is read is checked: nodes descend from each other, and each counts as many open ends as
//! there are. Otherwise a state would be finished too early or never.

use raddle_model::depend::footprint;
use raddle_model::{Choice, Event, Footprint};
use serde::{Deserialize, Serialize};

use super::tree::{Attempt, ChosenEvent, EnabledThread, Node, Tree};
use super::{Dpor, Task};
use crate::saved::{Loader, Saver, Unusable};
use crate::stateful::saved::{MatchingRow, SharedLoader, SharedSaver};

/// An event with the number of its successor; its footprint follows from it.
type ChosenRow = (Event, u16);

/// A node as it is saved. One that is free has the serial number 0.
#[derive(Serialize, Deserialize)]
struct NodeRow {
    parent: Option<u32>,
    via: Option<Choice>,
    serial: u64,
    depth: u32,
    enabled: Vec<EnabledThread>,
    sleep: Vec<ChosenRow>,
    done: Vec<ChosenRow>,
    asked: Vec<Choice>,
    untried: Vec<Attempt>,
    tries: u32,
    grown: u32,
    runs: u64,
    is_attempt: bool,
    open: u32,
    matching: Option<MatchingRow>,
    next: Vec<(u16, Footprint)>,
}

fn chosen_rows(events: &[ChosenEvent]) -> Vec<ChosenRow> {
    events.iter().map(|event| (event.step, event.choice)).collect()
}

fn chosen_events(rows: Vec<ChosenRow>) -> Vec<ChosenEvent> {
    rows.into_iter().map(|(step, choice)| ChosenEvent { step, choice, touches: footprint(&step) }).collect()
}

impl NodeRow {
    fn of(node: &Node, shared: &mut SharedSaver) -> Self {
        NodeRow {
            parent: node.parent,
            via: node.via,
            serial: node.serial,
            depth: node.depth,
            enabled: node.enabled.clone(),
            sleep: chosen_rows(&node.sleep),
            done: chosen_rows(&node.done),
            asked: node.asked.clone(),
            untried: node.untried.clone(),
            tries: node.tries,
            grown: node.grown,
            runs: node.runs,
            is_attempt: node.is_attempt,
            open: node.open,
            matching: node.matching.as_ref().map(|matching| shared.matching(matching)),
            next: node.next.clone(),
        }
    }

    fn node(self, shared: &SharedLoader) -> Result<Node, Unusable> {
        Ok(Node {
            parent: self.parent,
            via: self.via,
            serial: self.serial,
            depth: self.depth,
            enabled: self.enabled,
            sleep: chosen_events(self.sleep),
            done: chosen_events(self.done),
            asked: self.asked,
            untried: self.untried,
            tries: self.tries,
            grown: self.grown,
            runs: self.runs,
            is_attempt: self.is_attempt,
            open: self.open,
            matching: self.matching.map(|row| shared.matching(row).map(Box::new)).transpose()?,
            next: self.next,
        })
    }
}

impl Tree {
    fn load(nodes: Vec<Node>, from: &mut Loader<'_>) -> Result<Self, Unusable> {
        let mut tree = Tree { nodes, ..Tree::default() };
        (tree.free, tree.made, tree.sizes) = from.take()?;
        for (id, node) in tree.nodes.iter().enumerate() {
            if !node.untried.is_empty() && node.serial > 0 {
                tree.waiting.insert((node.serial, id as u32));
            }
        }
        Ok(tree)
    }

    fn is_live(&self, id: u32) -> bool {
        self.nodes.get(id as usize).is_some_and(|node| node.serial > 0)
    }

    /// Whether nodes descend from each other, and each has the open ends that it counts: its
    /// children, and `held` ones.
    fn is_sound(&self, held: impl Iterator<Item = u32>) -> bool {
        let mut open = vec![0u32; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.serial > 0) {
            let fits = match node.parent {
                None => node.depth == 0 && node.via.is_none(),
                Some(parent) => {
                    let above = self.nodes.get(parent as usize).filter(|_| self.is_live(parent));
                    node.via.is_some() && above.is_some_and(|above| above.depth.checked_add(1) == Some(node.depth))
                }
            };
            if !fits || node.serial > self.made {
                return false;
            }
            if let Some(parent) = node.parent {
                open[parent as usize] += 1;
            }
        }
        for id in held {
            if !self.is_live(id) {
                return false;
            }
            open[id as usize] += 1;
        }
        let counts = |(node, &open): (&Node, &u32)| node.serial == 0 || node.open == open;
        let mut free = self.free.clone();
        free.sort_unstable();
        free.dedup();
        self.nodes.iter().zip(&open).all(counts)
            && free.len() == self.free.len()
            && free.iter().all(|&id| (id as usize) < self.nodes.len() && !self.is_live(id))
    }
}

impl Dpor {
    pub(super) fn save_search(&self, into: &mut Saver) {
        let mut shared = SharedSaver::default();
        let nodes: Vec<NodeRow> = self.tree.nodes.iter().map(|node| NodeRow::of(node, &mut shared)).collect();
        let matcher = self.matcher.as_ref().map(|matcher| shared.matcher(matcher));
        shared.save(self.matcher.as_deref(), into);
        into.put(&nodes);
        into.put(&(&self.tree.free, self.tree.made, &self.tree.sizes));
        into.put(&(&self.batch, &self.under_way, &self.questions));
        into.put(&(self.started, self.runs, self.incomplete, self.world.learnt()));
        into.put(&matcher);
    }

    pub(super) fn restore_search(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        let shared = SharedLoader::load(from)?;
        let rows: Vec<NodeRow> = from.take()?;
        let nodes = rows.into_iter().map(|row| row.node(&shared)).collect::<Result<_, _>>()?;
        self.tree = Tree::load(nodes, from)?;
        (self.batch, self.under_way, self.questions) = from.take()?;
        let learnt;
        (self.started, self.runs, self.incomplete, learnt) = from.take()?;
        self.world.learn_again(learnt);
        match (&mut self.matcher, from.take()?) {
            (Some(matcher), Some(row)) => shared.restore(matcher, row)?,
            (None, None) => {}
            _ => return Err(Unusable::because("states are recognised, or they are not")),
        }
        let recognises = self.matcher.is_some();
        if self.tree.nodes.iter().any(|node| node.serial > 0 && node.matching.is_some() != recognises) {
            return Err(Unusable::because("a state can be recognised, or it cannot"));
        }
        let tasks = self.batch.iter().chain(&self.under_way);
        let of_task = |task: &Task| {
            let question = task.question.as_ref().map(|question| question.node);
            task.from.map(|(node, _)| node).into_iter().chain(question)
        };
        let held = tasks.flat_map(of_task).chain(self.questions.iter().map(|question| question.node));
        if !self.tree.is_sound(held) {
            return Err(Unusable::because("its states do not descend from each other"));
        }
        Ok(())
    }
}
