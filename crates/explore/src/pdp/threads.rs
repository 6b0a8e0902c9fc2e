//! Names for threads that exist in an execution and for those that might.
//!
//! A thread is named by its creator and the node that creates it, if that node creates only one
//! thread. Otherwise each thread that exists has a name of its own, and one more name stands for
//! all others that may be created there.

use raddle_model::Operation as _;
use raddle_model::facts::places::{LockId, LockSet, VIRTUAL};
use raddle_model::facts::suffix::Flow;
use raddle_model::facts::{Act, FunctionId, Hold, NodeId};
use rustc_hash::FxHashMap;

use super::Sites;
use super::trace::Trace;

/// Number of a name.
pub(super) type Key = u32;

/// Virtual locks of names lie above those of nodes.
const NAMES: LockId = VIRTUAL | 1 << 40;
/// Threads that create threads that create threads: more than that is not followed.
const DEEPEST: u32 = 8;

#[derive(Clone, Debug)]
struct Name {
    creator: Option<Key>,
    /// The thread of the execution.
    thread: Option<u16>,
    /// Whether it stands for several threads.
    many: bool,
    /// The name for all threads of the same creator and node, if it is not this one.
    group: Option<Key>,
    depth: u32,
}

/// The names of one execution.
#[derive(Debug)]
pub(super) struct Threads {
    names: Vec<Name>,
    known: FxHashMap<(Key, NodeId), Key>,
    /// Of the threads of the execution.
    pub keys: Vec<Key>,
    /// What each of them began in, if that is known.
    pub entries: Vec<Option<FunctionId>>,
    /// What each of them may have begun in.
    pub bodies: Vec<Vec<FunctionId>>,
    /// The nodes that may have created each; none if that is not known.
    pub nodes: Vec<Vec<NodeId>>,
}

impl Threads {
    /// Names the threads of an execution.
    pub fn of(trace: &Trace, flow: &Flow, sites: &dyn Sites) -> Self {
        let main = flow.facts().main;
        let root = Name { creator: None, thread: Some(0), many: false, group: None, depth: 0 };
        let mut threads = Threads {
            names: vec![root],
            known: FxHashMap::default(),
            keys: vec![0],
            entries: vec![Some(main)],
            bodies: vec![vec![main]],
            nodes: vec![Vec::new()],
        };
        for thread in 1..trace.threads() as u16 {
            threads.name_thread(thread, trace, flow, sites);
        }
        threads
    }

    fn name_thread(&mut self, thread: u16, trace: &Trace, flow: &Flow, sites: &dyn Sites) {
        let creation = trace.birth[usize::from(thread)].map(|birth| &trace.events[birth].event);
        let creator = creation.map_or(0, |event| self.keys[usize::from(event.thread)]);
        let nodes = creation.and_then(|event| sites.site(event.pc)).map_or(&[][..], |site| flow.nodes_at(site));
        let create = |node: &NodeId| match &flow.facts().nodes[*node as usize].act {
            Act::Create { bodies, .. } => Some((*node, bodies.clone())),
            _ => None,
        };
        let mut creates: Vec<_> = nodes.iter().filter_map(create).collect();
        // The run knows what the thread begins with.
        let entry =
            creation.map(|event| event.op.object()).filter(|&entry| entry != 0).and_then(|entry| sites.function(entry));
        if let Some(entry) = entry {
            creates.retain(|(_, bodies)| bodies.contains(&entry));
            creates.iter_mut().for_each(|(_, bodies)| *bodies = vec![entry]);
        }
        let nodes = creates.iter().map(|&(node, _)| node).collect();
        let (key, bodies) = match creates.as_slice() {
            [(node, bodies)] => {
                let group = self.child(creator, *node, flow);
                let key = if self.names[group as usize].many {
                    self.add(Name { creator: Some(creator), thread: None, many: false, group: Some(group), depth: 0 })
                } else {
                    group
                };
                (key, bodies.clone())
            }
            _ => {
                let name = Name { creator: Some(creator), thread: None, many: false, group: None, depth: 0 };
                (self.add(name), entry.filter(|_| !creates.is_empty()).into_iter().collect())
            }
        };
        self.names[key as usize].thread = Some(thread);
        self.keys.push(key);
        self.entries.push(match bodies.as_slice() {
            [body] => Some(*body),
            _ => None,
        });
        self.bodies.push(bodies);
        self.nodes.push(nodes);
    }

    fn add(&mut self, name: Name) -> Key {
        self.names.push(name);
        self.names.len() as Key - 1
    }

    /// The name of what the thread creates at the node.
    pub fn child(&mut self, creator: Key, node: NodeId, flow: &Flow) -> Key {
        if let Some(&key) = self.known.get(&(creator, node)) {
            return key;
        }
        let once = matches!(flow.facts().nodes[node as usize].act, Act::Create { once: true, .. });
        let parent = &self.names[creator as usize];
        let (many, depth) = (!once || parent.many, parent.depth + 1);
        let key = self.add(Name { creator: Some(creator), thread: None, many, group: None, depth });
        self.known.insert((creator, node), key);
        key
    }

    /// Whether the chain of creators is longer than will be followed.
    pub fn is_too_deep(&self, key: Key) -> bool {
        self.names[key as usize].depth > DEEPEST
    }

    /// Whether two records may belong to different threads.
    pub fn differ(&self, a: Key, b: Key) -> bool {
        a != b || self.names[a as usize].many
    }

    /// The thread of the execution that has this name.
    pub fn thread(&self, key: Key) -> Option<u16> {
        self.names[key as usize].thread
    }

    /// The thread with this name if it exists in state `at`, else its nearest ancestor that does.
    pub fn present(&self, key: Key, trace: &Trace, at: usize) -> u16 {
        let mut key = key;
        loop {
            match (self.names[key as usize].thread, self.names[key as usize].creator) {
                (Some(thread), _) if trace.exists(thread, at) => return thread,
                (_, Some(creator)) => key = creator,
                (_, None) => return 0,
            }
        }
    }

    /// The nearest ancestor (or itself) that is a thread of the execution.
    pub fn real(&self, key: Key) -> u16 {
        let mut key = key;
        loop {
            match (self.names[key as usize].thread, self.names[key as usize].creator) {
                (Some(thread), _) => return thread,
                (None, Some(creator)) => key = creator,
                (None, None) => return 0,
            }
        }
    }

    /// The virtual lock of a name.
    pub fn lock(key: Key) -> LockId {
        NAMES | LockId::from(key)
    }

    /// The locks of a thread, with those of nodes replaced by those of the threads that it creates
    /// there, and its own.
    pub fn absolute(&mut self, key: Key, held: &LockSet, flow: &Flow) -> LockSet {
        let mut list: Vec<(LockId, Hold)> = Vec::with_capacity(held.0.len() + 2);
        for &(lock, hold) in &held.0 {
            let lock = if lock & VIRTUAL != 0 && lock & NAMES != NAMES {
                Self::lock(self.child(key, (lock & !VIRTUAL) as NodeId, flow))
            } else {
                lock
            };
            list.push((lock, hold));
        }
        let own = [Some(key), self.names[key as usize].group];
        list.extend(own.into_iter().flatten().filter(|&key| key != 0).map(|key| (Self::lock(key), Hold::Shared)));
        list.sort_unstable();
        list.dedup_by_key(|&mut (lock, _)| lock);
        LockSet(list)
    }
}
