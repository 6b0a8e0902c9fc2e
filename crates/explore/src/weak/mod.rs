//! Weak memory models on complete runs.
//!
//! After TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, POPL 2022): each consistent
//! execution graph is made exactly once, without memory of those that were made, because each has
//! one parent.
//!
//! Deviations:
//! * TruSt interprets a program event by event. Here a run is made to its end: loads read the last
//!   store and stores are placed last, which is always consistent, and the threads go on by the
//!   policy. The children are derived from the complete graph, event by event (`children`). So a
//!   work item is a *unit*, a graph whose events a run makes first; it reads nothing that another
//!   unit wrote.
//! * The program keeps the stores of atomic locations, and is told in its schedule which one to
//!   read and where to put a store. It knows no memory model.
//! * A read and the write of a read-modify-write are one transition of the program. A graph in
//!   which two of them read the same store is not run; only the revisits by the write are made.
//! * A lock that is held is a read whose thread waits. The thread is held back for the rest of the
//!   run, and goes on in that unit where an unlock revisits the read. Such a run is redundant
//!   unless the thread waits for the last store: then it waits for ever.
//! * So is the read of a loop that waits. With which values the loop only goes round again is a
//!   function of the thread's state ([`HeldRead`](raddle_model::HeldRead)), and the target tells
//!   those that it has met. Others are learnt by a run in which the loop goes round with one: the
//!   unit of that run is made once more, with the thread held back.
//!
//! Invariants: a unit is consistent, and closed under program order, reads-from, and what begins
//! and ends threads. The policy behind the schedule is a function of the graph.
//!
//! What is not modelled ends the search, which is then incomplete
//! ([`Unmodelled`]).

mod children;
mod schedule;

use std::collections::VecDeque;

use raddle_model::weak::{Consistency, Graph, GraphEventId, MemoryModel, Recorder, RunGraph, Unmodelled, of_model};
use raddle_model::{Estimate, Execution, Request};
use raddle_vocab::RunStatus;

use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, scheduled};
use children::children;
use schedule::schedule;

/// The search.
#[derive(Debug)]
pub struct Weak {
    model: Box<dyn Consistency>,
    recorder: Recorder,
    stack: Vec<Graph>,
    /// Oldest first.
    under_way: VecDeque<Graph>,
    incomplete: Option<IncompleteReason>,
    last: Option<Graph>,
}

impl Weak {
    /// A search of all executions of a memory model.
    #[must_use]
    pub fn new(model: MemoryModel) -> Self {
        Weak {
            model: of_model(model),
            recorder: Recorder::default(),
            stack: vec![Graph::default()],
            under_way: VecDeque::new(),
            incomplete: None,
            last: None,
        }
    }

    /// The graph of the run that was learnt last, if it has one.
    #[must_use]
    pub fn last_graph(&self) -> Option<&Graph> {
        self.last.as_ref()
    }

    /// Nothing is explored any more.
    fn give_up(&mut self, reason: IncompleteReason) {
        self.incomplete = Some(reason);
        self.stack.clear();
    }

    /// A read of the unit only lets its loop go round again, as the run has shown. So its thread
    /// waits there, which leads somewhere if it reads the last store.
    fn wait_at(&mut self, read: GraphEventId, unit: &Graph) {
        let Some(number) = unit.find(read) else {
            return self.give_up(IncompleteReason::MemoryModel(Unmodelled::BusyWaiting));
        };
        let mut unit = unit.clone();
        let node = &mut unit.nodes[number];
        node.waits = true;
        let (location, reads) = (node.location(), node.reads);
        if location.is_some_and(|location| unit.last_store(location) == reads) {
            self.stack.push(unit);
        }
    }

    fn expand(&mut self, execution: &Execution, unit: &Graph) -> Classification {
        let graph = match self.recorder.record(execution, unit) {
            RunGraph::Graph(graph) => graph,
            RunGraph::Unmodelled(what) => {
                self.give_up(IncompleteReason::MemoryModel(what));
                return Classification::Counted;
            }
            RunGraph::FailedRound(read) => {
                self.wait_at(read, unit);
                return Classification::Redundant;
            }
            RunGraph::Diverged => {
                self.incomplete = Some(IncompleteReason::Diverged);
                return Classification::Redundant;
            }
        };
        self.stack.extend(children(&graph, unit.nodes.len(), &*self.model, self.recorder.failing()));
        let waits_for_older = (0..graph.nodes.len()).any(|number| {
            let node = &graph.nodes[number];
            node.waits && node.location().is_some_and(|location| node.reads != graph.last_store(location))
        });
        self.last = Some(graph);
        if waits_for_older || execution.is_stale() { Classification::Redundant } else { Classification::Counted }
    }
}

impl Strategy for Weak {
    fn next(&mut self) -> Option<Request> {
        while let Some(unit) = self.stack.pop() {
            if let Some(schedule) = schedule(&unit) {
                self.under_way.push_back(unit);
                return Some(scheduled(schedule));
            }
            self.incomplete = Some(IncompleteReason::Events);
        }
        None
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        let unit = self.under_way.pop_front().unwrap_or_default();
        self.last = None;
        match execution.status {
            RunStatus::Rest => self.expand(execution, &unit),
            // Threads were stopped that would have gone on.
            RunStatus::Assumed => {
                self.give_up(IncompleteReason::MemoryModel(Unmodelled::Assumptions));
                Classification::Counted
            }
            status => {
                self.incomplete = self.incomplete.or(incomplete_reason_of(status));
                Classification::Counted
            }
        }
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(&self.recorder, &self.stack, &self.under_way, self.incomplete));
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.recorder, self.stack, self.under_way, self.incomplete) = from.take()?;
        Ok(())
    }
}
