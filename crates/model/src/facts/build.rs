//! Facts put together piece by piece.

use super::{Act, FACTS_VERSION, Facts, Function, FunctionId, Node, NodeId, Object, ObjectId, Site};

/// Facts under construction.
#[derive(Debug)]
pub struct Builder {
    facts: Facts,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// Facts with nothing in them.
    #[must_use]
    pub fn new() -> Self {
        Builder {
            facts: Facts {
                version: FACTS_VERSION,
                objects: Vec::new(),
                functions: Vec::new(),
                nodes: Vec::new(),
                main: 0,
                sites: Vec::new(),
                fallbacks: Vec::new(),
            },
        }
    }

    /// One more object.
    pub fn object(&mut self, object: Object) -> ObjectId {
        self.facts.objects.push(object);
        self.facts.objects.len() as ObjectId - 1
    }

    /// One more function, with a node to begin at.
    pub fn function(&mut self, name: &str) -> FunctionId {
        let number = self.facts.functions.len() as FunctionId;
        let entry = self.node(number, Act::Nothing, 0);
        self.facts.functions.push(Function { name: name.into(), entry });
        number
    }

    /// Where a function begins.
    #[must_use]
    pub fn entry(&self, function: FunctionId) -> NodeId {
        self.facts.functions[function as usize].entry
    }

    /// One more node, without successors.
    pub fn node(&mut self, function: FunctionId, act: Act, site: Site) -> NodeId {
        self.facts.nodes.push(Node { function, act, next: Vec::new(), site, tainted: false });
        self.facts.nodes.len() as NodeId - 1
    }

    /// Lets one node follow another.
    pub fn edge(&mut self, from: NodeId, to: NodeId) {
        let next = &mut self.facts.nodes[from as usize].next;
        if !next.contains(&to) {
            next.push(to);
        }
    }

    /// Notes that what follows, or what the node operates on, depends on other threads.
    pub fn taint(&mut self, node: NodeId) {
        self.facts.nodes[node as usize].tainted = true;
    }

    /// The node, to be changed.
    pub fn node_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.facts.nodes[node as usize]
    }

    /// The facts so far.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// The facts, with the threads' starts that happen at most once marked as such.
    #[must_use]
    pub fn finish(mut self, main: FunctionId) -> Facts {
        self.facts.main = main;
        self.mark_single_creates();
        self.facts
    }

    /// A thread passes a node at most once if the node lies in the thread's start function, outside
    /// of every cycle, and that function is never called.
    fn mark_single_creates(&mut self) {
        let facts = &mut self.facts;
        let mut called = vec![false; facts.functions.len()];
        for node in &facts.nodes {
            if let Act::Call { targets } = &node.act {
                targets.iter().for_each(|&target| called[target as usize] = true);
            }
        }
        let creates: Vec<NodeId> = (0..facts.nodes.len() as NodeId)
            .filter(|&node| matches!(facts.nodes[node as usize].act, Act::Create { .. }))
            .collect();
        for create in creates {
            let single = !called[facts.nodes[create as usize].function as usize] && !in_cycle(facts, create);
            if let Act::Create { once, .. } = &mut facts.nodes[create as usize].act {
                *once = single;
            }
        }
        for number in 0..facts.nodes.len() {
            if let Act::Join { created_at: Some(create) } = facts.nodes[number].act {
                let known = matches!(facts.nodes[create as usize].act, Act::Create { once: true, .. });
                if !known {
                    facts.nodes[number].act = Act::Join { created_at: None };
                }
            }
        }
    }
}

/// Whether the node can be reached from itself inside its function.
fn in_cycle(facts: &Facts, node: NodeId) -> bool {
    let mut seen = vec![false; facts.nodes.len()];
    let mut work = facts.nodes[node as usize].next.clone();
    while let Some(at) = work.pop() {
        if at == node {
            return true;
        }
        if !std::mem::replace(&mut seen[at as usize], true) {
            work.extend(&facts.nodes[at as usize].next);
        }
    }
    false
}
