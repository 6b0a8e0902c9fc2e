//! The part of the tree of schedules that is still needed: states with choices that are untried or
//! under way, and the states above them.

use raddle_model::depend::conflict;
use raddle_model::{Choice, Estimate, Event, Footprint};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::sizes::{OpenState, SubtreeSizes};
use crate::stateful::NodeMatching;

/// A transition out of a state, as some run made it.
#[derive(Clone, Debug)]
pub(super) struct ChosenEvent {
    pub step: Event,
    pub choice: u16,
    pub touches: Footprint,
}

impl ChosenEvent {
    /// Whether making this event changes what the other one is or would do.
    pub fn is_dependent_with(&self, other: &ChosenEvent) -> bool {
        self.step.thread == other.step.thread
            || conflict(&self.touches, &other.touches)
            || self.step.op.closes_round_of(&other.step.op)
    }

    fn is(&self, choice: Choice) -> bool {
        (self.step.thread, self.choice) == (choice.thread, choice.choice)
    }
}

/// A thread that can step in a state, and how many successors its operation has.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct EnabledThread {
    pub thread: u16,
    pub successors: u16,
}

/// A choice that is known to be possible behind another one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct HintedChoice {
    pub choice: Choice,
    /// The thread that it creates.
    pub creates: Option<u16>,
}

/// Something to be tried: a choice, and further ones that are known to be possible behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub choice: Choice,
    /// The thread that the choice creates, if something follows.
    pub creates: Option<u16>,
    pub then: Vec<HintedChoice>,
}

/// A state.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) parent: Option<u32>,
    /// How it was reached from its parent.
    pub(super) via: Option<Choice>,
    pub(super) serial: u64,
    /// Number of events that lead to it.
    pub depth: u32,
    /// Threads that are enabled.
    pub enabled: Vec<EnabledThread>,
    /// Events that need not be tried: other parts of the tree begin with them.
    pub sleep: Vec<ChosenEvent>,
    /// Events that were tried, in order.
    pub done: Vec<ChosenEvent>,
    /// Choices that were handed out, or that turned out to be impossible.
    pub asked: Vec<Choice>,
    pub(super) untried: Vec<Attempt>,
    /// Attempts that were handed out.
    pub(super) tries: u32,
    /// Finished attempts that led to a state below.
    pub(super) grown: u32,
    /// Runs that attempts here and below have led to.
    pub(super) runs: u64,
    /// Whether an attempt in the parent led here, and not the run that found the parent.
    pub(super) is_attempt: bool,
    /// Runs under way and children that are still of interest.
    pub(super) open: u32,
    /// In a search that recognises states.
    pub matching: Option<Box<NodeMatching>>,
    /// In such a search: what the next operation of each thread that is enabled touches.
    pub next: Vec<(u16, Footprint)>,
}

impl Node {
    /// Whether the event is left to another part of the tree.
    pub fn is_asleep(&self, choice: Choice) -> bool {
        self.sleep.iter().any(|event| event.is(choice))
    }

    /// Threads that will be asleep behind a choice, as far as that is known before it is tried.
    pub fn asleep_behind(&self, choice: Choice) -> impl Iterator<Item = u16> + '_ {
        let next = self.next.iter().find(|(thread, _)| *thread == choice.thread);
        let events = self.sleep.iter().chain(&self.done).filter(move |event| {
            event.step.thread != choice.thread && next.is_some_and(|(_, touches)| !conflict(touches, &event.touches))
        });
        events.map(|event| event.step.thread)
    }

    fn is_covered(&self, choice: Choice) -> bool {
        self.is_asleep(choice)
            || self.asked.contains(&choice)
            || self.done.iter().any(|event| event.is(choice))
            || self.untried.iter().any(|attempt| attempt.choice == choice)
    }

    /// Whether the thread's operation, or one of its successors, is not tried here because it is
    /// asleep.
    pub fn leaves_to_others(&self, thread: u16) -> bool {
        (0..self.successors(thread)).map(|choice| Choice { thread, choice }).any(|choice| {
            let is_tried = self.done.iter().any(|event| event.is(choice));
            self.is_asleep(choice) && !is_tried && !self.untried.iter().any(|attempt| attempt.choice == choice)
        })
    }

    /// How many successors the thread's operation has here; 0 if it cannot step.
    pub fn successors(&self, thread: u16) -> u16 {
        self.enabled.iter().find(|enabled| enabled.thread == thread).map_or(0, |enabled| enabled.successors)
    }

    /// Whether every successor of the thread's operation was, will be or need not be tried.
    pub fn covers(&self, thread: u16) -> bool {
        (0..self.successors(thread)).all(|choice| self.is_covered(Choice { thread, choice }))
    }
}

/// The nodes of interest.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) free: Vec<u32>,
    /// Nodes with something to be tried, by serial number.
    pub(super) waiting: BTreeSet<(u64, u32)>,
    pub(super) made: u64,
    pub(super) sizes: SubtreeSizes,
}

impl Tree {
    pub fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn node_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// A new state below `parent`, which it keeps of interest.
    pub fn add(&mut self, parent: Option<(u32, Choice)>, enabled: Vec<EnabledThread>, sleep: Vec<ChosenEvent>) -> u32 {
        self.made += 1;
        let depth = parent.map_or(0, |(parent, _)| self.node(parent).depth + 1);
        if let Some((parent, _)) = parent {
            self.node_mut(parent).open += 1;
        }
        let (parent, via) = (parent.map(|(parent, _)| parent), parent.map(|(_, via)| via));
        let is_attempt = parent.is_some_and(|parent| self.node(parent).tries > 0);
        let node = Node { parent, via, serial: self.made, depth, enabled, sleep, is_attempt, ..Node::default() };
        match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Nodes from the root to `id`.
    pub fn path(&self, id: u32) -> Vec<u32> {
        let mut path = vec![id];
        let mut at = id;
        while let Some(parent) = self.node(at).parent {
            path.push(parent);
            at = parent;
        }
        path.reverse();
        path
    }

    /// Choices that lead to the node.
    pub fn schedule(&self, id: u32) -> Vec<Choice> {
        self.path(id).into_iter().filter_map(|node| self.node(node).via).collect()
    }

    /// Requests every successor of the thread's operation. `then` is the hint for the successor
    /// with number `hinted`, which creates the thread `creates`.
    pub fn want(&mut self, id: u32, thread: u16, hinted: u16, creates: Option<u16>, then: Vec<HintedChoice>) {
        let mut then = Some(then);
        let node = &mut self.nodes[id as usize];
        for choice in (0..node.successors(thread)).map(|choice| Choice { thread, choice }) {
            if !node.is_covered(choice) {
                let then = if choice.choice == hinted { then.take().unwrap_or_default() } else { Vec::new() };
                node.untried.push(Attempt { choice, creates, then });
            }
        }
        if !node.untried.is_empty() {
            self.waiting.insert((node.serial, id));
        }
    }

    /// Requests the attempt, unless one of these threads, which can do the same, was or will be
    /// tried.
    pub fn want_one(&mut self, id: u32, starters: &[u16], attempt: Attempt) {
        let node = self.node(id);
        if starters.iter().any(|&thread| node.covers(thread)) {
            return;
        }
        let Attempt { choice, creates, then } = attempt;
        self.want(id, choice.thread, choice.choice, creates, then);
    }

    /// Requests every enabled thread.
    pub fn want_all(&mut self, id: u32) {
        for enabled in self.node(id).enabled.clone() {
            self.want(id, enabled.thread, 0, None, Vec::new());
        }
    }

    /// Tries a choice again, whatever came of it before.
    pub fn want_again(&mut self, id: u32, choice: Choice) {
        let node = &mut self.nodes[id as usize];
        node.asked.retain(|&asked| asked != choice);
        node.untried.insert(0, Attempt { choice, creates: None, then: Vec::new() });
        self.waiting.insert((node.serial, id));
    }

    /// Takes the next attempt: the oldest one of the youngest node. The node stays in the tree.
    pub fn take(&mut self) -> Option<(u32, Attempt)> {
        let &(serial, id) = self.waiting.last()?;
        let node = &mut self.nodes[id as usize];
        let attempt = node.untried.remove(0);
        node.asked.push(attempt.choice);
        node.tries += 1;
        node.runs += 1;
        node.open += 1;
        if node.untried.is_empty() {
            self.waiting.remove(&(serial, id));
        }
        Some((id, attempt))
    }

    /// A run from the node, or a child of it, is finished; whether the node is, too.
    pub fn release(&mut self, id: u32) -> bool {
        let node = &mut self.nodes[id as usize];
        node.open = node.open.saturating_sub(1);
        node.open == 0 && node.untried.is_empty()
    }

    /// Removes a finished node and returns its parent.
    pub fn remove(&mut self, id: u32) -> Option<u32> {
        let node = std::mem::take(&mut self.nodes[id as usize]);
        self.free.push(id);
        self.note(&node);
        node.parent
    }

    /// The parent of a node.
    pub fn parent(&self, id: u32) -> Option<u32> {
        self.node(id).parent
    }

    /// Notes the size of a finished part of the tree.
    fn note(&mut self, node: &Node) {
        let depth = node.depth as usize;
        self.sizes.state(depth, node.tries);
        // Attempts that led to no new state took one run each.
        for _ in node.grown..node.tries {
            self.sizes.attempt(depth, 1);
        }
        let Some(parent) = node.parent else { return };
        let above = &mut self.nodes[parent as usize];
        above.runs += node.runs;
        if node.is_attempt {
            above.grown += 1;
            self.sizes.attempt(depth.saturating_sub(1), node.runs + 1);
        }
    }

    /// The runs of the whole search after `made` runs; `is_matching`: if it recognises states.
    pub fn estimate(&self, made: u64, is_matching: bool) -> Estimate {
        let path = self.waiting.last().map_or(Vec::new(), |&(_, youngest)| self.path(youngest));
        let open = path.into_iter().map(|id| {
            let node = self.node(id);
            let (untried, enabled) = (node.untried.len(), node.enabled.len());
            OpenState { depth: node.depth as usize, tries: node.tries, untried, enabled }
        });
        self.sizes.estimate(made, is_matching, open)
    }

    /// Keeps a node of interest until it is released.
    pub fn hold(&mut self, id: u32) {
        self.node_mut(id).open += 1;
    }
}
