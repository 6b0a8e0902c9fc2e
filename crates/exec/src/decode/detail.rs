//! What a trace has beyond the execution if the run was asked for detail: call stacks, and the
//! accesses before which threads were stopped.

use std::collections::BTreeMap;

use raddle_model::Access;

/// A thread that was stopped before a data access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The access, as if it had been made.
    pub access: Access,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
}

/// Stacks and parked accesses of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Accesses before which threads were stopped, in order.
    pub parked: Vec<Parked>,
    /// Stacks of the incidents, one for each incident of the execution (empty if none was
    /// recorded).
    pub incidents: Vec<Vec<u64>>,
    /// Stacks at the end, by thread (empty where a thread had ended or not started).
    pub threads: Vec<Vec<u64>>,
    /// Stacks of the allocations and frees of heap blocks, by their numbers among the accesses.
    pub blocks: BTreeMap<u32, Vec<u64>>,
    /// Stacks of operations, by their numbers among the events.
    pub events: BTreeMap<u32, Vec<u64>>,
    /// The last stacks of the threads that have registers.
    pub last: Vec<Vec<u64>>,
    /// Stack and frame pointers of the innermost frames of those stacks.
    pub registers: Vec<Vec<[u64; 2]>>,
}

/// What a stack record belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StackOwner {
    /// The position of the thread at the end of the run.
    #[default]
    End,
    /// The last parked access.
    Parked,
    /// The last incident.
    Incident,
    /// The allocation or free with this number among the accesses.
    Block(u32),
    /// The operation with this number among the events.
    Event(u32),
}

impl Detail {
    pub(super) fn clear(&mut self) {
        self.parked.clear();
        self.incidents.clear();
        self.threads.clear();
        self.registers.clear();
        self.last.clear();
        self.blocks.clear();
        self.events.clear();
    }

    pub(super) fn add_thread(&mut self) {
        self.threads.push(Vec::new());
        self.registers.push(Vec::new());
        self.last.push(Vec::new());
    }

    pub(super) fn add_incident(&mut self) -> StackOwner {
        self.incidents.push(Vec::new());
        StackOwner::Incident
    }

    pub(super) fn park(&mut self, access: Access) -> StackOwner {
        self.parked.push(Parked { access, stack: Vec::new() });
        StackOwner::Parked
    }

    /// Stores the registers of the frames of a stack; `thread` exists. The last stack of a thread
    /// is the one at the end.
    pub(super) fn frames(&mut self, thread: u16, words: &[u64]) {
        if let Some(place) = self.registers.get_mut(usize::from(thread)) {
            *place = words.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        }
    }

    /// Stores a stack; `thread` exists.
    pub(super) fn stack(&mut self, owner: StackOwner, thread: u16, frames: &[u64]) {
        if !matches!(owner, StackOwner::Event(_))
            && let Some(last) = self.last.get_mut(usize::from(thread))
        {
            *last = frames.to_vec();
        }
        let place = match owner {
            StackOwner::Block(number) => Some(self.blocks.entry(number).or_default()),
            StackOwner::Event(number) => Some(self.events.entry(number).or_default()),
            StackOwner::End => self.threads.get_mut(usize::from(thread)),
            StackOwner::Parked => self.parked.last_mut().map(|parked| &mut parked.stack),
            StackOwner::Incident => self.incidents.last_mut(),
        };
        if let Some(place) = place {
            *place = frames.to_vec();
        }
    }
}
