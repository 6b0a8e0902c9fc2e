//! The schedule that makes a run execute a unit.
//!
//! It is a linear extension of program order and reads-from. A choice of an atomic operation says
//! how many stores stand, at that time, behind the store that it reads or behind the place of its
//! own. If the unit is sequentially consistent, that is none for all of them: what such a run shows
//! needs no weak memory.

use raddle_model::Choice;
use raddle_model::weak::{Graph, GraphEventId, GraphNode, INIT, Label, NO_CAUSE};
use raddle_vocab::HOLD;

/// The schedule of a unit; `None` if a location has more stores than can be told apart.
pub fn schedule(unit: &Graph) -> Option<Vec<Choice>> {
    let mut run = match follow(unit, |run, number| run.is_ready(number) && run.is_last(number)) {
        Some(run) => run,
        // Only memory that is weak allows the unit. It has no cycle of program order and
        // reads-from.
        None => follow(unit, Simulation::is_ready)?,
    };
    let waiting = unit.nodes.iter().filter(|node| node.waits);
    let held: Option<Vec<Choice>> =
        waiting.map(|node| Some(Choice { thread: run.number(node.id.thread)?, choice: HOLD })).collect();
    run.choices.extend(held?);
    Some(run.choices)
}

/// The events of a unit in an order in which each can be next when it is made; `None` if there is
/// none.
fn follow<'a>(unit: &'a Graph, can_be_next: impl Fn(&Simulation<'a>, usize) -> bool) -> Option<Simulation<'a>> {
    let mut run = Simulation::new(unit);
    let mut left: Vec<usize> = (0..unit.nodes.len()).filter(|&number| !unit.nodes[number].waits).collect();
    while !left.is_empty() {
        let at = left.iter().position(|&number| can_be_next(&run, number))?;
        run.make(left.remove(at))?;
        left.retain(|&number| !run.made[number]);
    }
    Some(run)
}

struct Simulation<'a> {
    unit: &'a Graph,
    made: Vec<bool>,
    /// For each event the one of its thread before it.
    previous: Vec<Option<usize>>,
    /// Threads in the order of their creation.
    threads: Vec<u16>,
    /// The stores of each location. A write of a read-modify-write that the unit does not have is
    /// its read's number plus the number of all events.
    stores: Vec<Vec<u32>>,
    choices: Vec<Choice>,
}

impl<'a> Simulation<'a> {
    fn new(unit: &'a Graph) -> Self {
        let previous = unit
            .nodes
            .iter()
            .enumerate()
            .map(|(number, node)| unit.nodes[..number].iter().rposition(|other| other.id.thread == node.id.thread));
        Simulation {
            unit,
            made: vec![false; unit.nodes.len()],
            previous: previous.collect(),
            // The first thread that is ever met is main.
            threads: vec![0],
            stores: vec![Vec::new(); unit.locations.len()],
            choices: Vec::with_capacity(unit.nodes.len()),
        }
    }

    fn number(&self, thread: u16) -> Option<u16> {
        self.threads.iter().position(|&known| known == thread).map(|number| number as u16)
    }

    fn is_ready(&self, number: usize) -> bool {
        let node = &self.unit.nodes[number];
        let is_made = |other: u32| other == INIT || self.made[other as usize];
        const { assert!(INIT == NO_CAUSE) };
        self.previous[number].is_none_or(|other| self.made[other])
            && is_made(node.cause)
            && (node.read().is_none() || is_made(node.reads))
    }

    /// Whether it would read the last store, or make it, and no read that is left reads what it
    /// overwrites.
    fn is_last(&self, number: usize) -> bool {
        let node = &self.unit.nodes[number];
        let Some(location) = node.location() else { return true };
        let last = self.stores[location as usize].last().copied().unwrap_or(INIT);
        let writes = node.write().is_some() || self.unit.write_of(number).is_some();
        let is_place_last = match node.label {
            Label::Read(_) => node.reads == last,
            _ => self.place(location, number as u32) == 0 && !self.overwrites_pending(number, location),
        };
        let is_left = |other: usize| !self.made[other] && other != number && !self.unit.nodes[other].waits;
        let reads_last = |other: &GraphNode| other.location() == Some(location) && other.read().is_some();
        let mut others = self.unit.nodes.iter().enumerate();
        is_place_last
            && !(writes
                && others.any(|(at, other)| is_left(at) && reads_last(other) && self.is_made(location, other.reads)))
    }

    /// Whether a store of a location has been made, or is the initial value.
    fn is_made(&self, location: u32, store: u32) -> bool {
        store == INIT || self.stores[location as usize].contains(&store)
    }

    /// Whether a store that comes before this one in modification order is still to be made.
    fn overwrites_pending(&self, number: usize, location: u32) -> bool {
        let order = &self.unit.locations[location as usize].stores;
        order.iter().take_while(|&&store| store as usize != number).any(|&store| !self.made[store as usize])
    }

    fn make(&mut self, number: usize) -> Option<()> {
        let node = self.unit.nodes[number];
        self.made[number] = true;
        let behind = match node.label {
            Label::Read(read) => {
                let behind = self.stores_behind(read.location, node.reads);
                if self.unit.write_of(number).is_some() {
                    let write = self.unit.find(GraphEventId { is_exclusive_write: true, ..node.id });
                    if let Some(write) = write {
                        self.made[write] = true;
                    }
                    let name = write.unwrap_or(self.unit.nodes.len() + number) as u32;
                    self.insert(read.location, behind, name);
                }
                behind
            }
            Label::Write(write) => {
                let behind = self.place(write.location, number as u32);
                self.insert(write.location, behind, number as u32);
                behind
            }
            Label::Create(child) => {
                self.threads.push(child);
                0
            }
            Label::Fence(_) | Label::Thread | Label::Local => 0,
        };
        let choice = u16::try_from(behind).ok().filter(|&choice| choice < HOLD)?;
        self.choices.push(Choice { thread: self.number(node.id.thread)?, choice });
        Some(())
    }

    /// How many stores stand behind a store now.
    fn stores_behind(&self, location: u32, store: u32) -> usize {
        let stores = &self.stores[location as usize];
        stores.iter().position(|&other| other == store).map_or(stores.len(), |at| stores.len() - at - 1)
    }

    /// How many stores stand behind the place of a write now.
    fn place(&self, location: u32, store: u32) -> usize {
        let order = &self.unit.locations[location as usize].stores;
        let earlier = order.iter().take_while(|&&other| other != store);
        let before = earlier.copied().filter(|&other| self.made[other as usize]).last().unwrap_or(INIT);
        let behind = self.stores_behind(location, before);
        let stores = &self.stores[location as usize];
        // Writes that the unit does not have stand right behind what their reads read.
        let skipped = stores[stores.len() - behind..].iter().take_while(|&&other| other as usize >= self.made.len());
        behind - skipped.count()
    }

    fn insert(&mut self, location: u32, behind: usize, name: u32) {
        let stores = &mut self.stores[location as usize];
        stores.insert(stores.len() - behind, name);
    }
}
