//! Causal order of one execution: vector clocks, and the events that touched each cell.

use raddle_model::clock::join;
use raddle_model::depend::{Cell, footprint};
use raddle_model::{ClockTable, Event, Execution, Footprint, Mode, Touch, VectorClock};
use rustc_hash::FxHashMap;

/// An event in the list of a cell.
#[derive(Clone, Copy, Debug)]
struct Entry {
    position: u32,
    bytes: u8,
    mode: Mode,
}

/// The order of an execution's events; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Thread of each event.
    thread: Vec<u16>,
    /// Number of each event within its thread.
    seq: Vec<u32>,
    touches: Vec<Footprint>,
    /// How many events of each thread happen before each event or are the event: a row each.
    clocks: ClockTable,
    /// Positions of each thread's events.
    positions: Vec<Vec<u32>>,
    cells: FxHashMap<Cell, Vec<Entry>>,
    zero_clock: VectorClock,
}

impl Order {
    /// Moves to another execution.
    pub fn load(&mut self, execution: &Execution) {
        let threads = execution.threads.len();
        self.thread.clear();
        self.seq.clear();
        self.touches.clear();
        self.clocks.reset(threads);
        self.positions.iter_mut().for_each(Vec::clear);
        self.positions.resize(threads, Vec::new());
        self.cells.values_mut().for_each(Vec::clear);
        self.zero_clock = VectorClock::zero(threads);
        for event in &execution.events {
            self.push(event);
        }
    }

    fn push(&mut self, event: &Event) {
        let (position, number) = (self.thread.len(), usize::from(event.thread));
        match self.positions[number].last() {
            Some(&last) => self.clocks.push_copy(last as usize),
            None => self.clocks.push_zeros(1),
        }
        let touches = footprint(event);
        for touch in &touches {
            self.join(position, touch);
        }
        self.clocks.row_mut(position)[number] += 1;
        for touch in &touches {
            let entry = Entry { position: position as u32, bytes: touch.bytes, mode: touch.mode };
            self.cells.entry(touch.cell).or_default().push(entry);
        }
        self.seq.push(self.positions[number].len() as u32);
        self.positions[number].push(position as u32);
        self.thread.push(event.thread);
        self.touches.push(touches);
    }

    /// Joins the clocks of all events that conflict by this touch into the clock of the new event.
    fn join(&mut self, position: usize, touch: &Touch) {
        let Some(entries) = self.cells.get(&touch.cell) else { return };
        for entry in entries.iter().rev().filter(|entry| entry.bytes & touch.bytes != 0) {
            if !entry.mode.commutes(touch.mode) {
                self.clocks.join(position, entry.position as usize);
            }
            if entry.mode == Mode::Write && entry.bytes & touch.bytes == touch.bytes {
                return;
            }
        }
    }

    /// Joins the clocks of the events before `end` that conflict with these touches.
    pub fn join_conflicting(&self, touches: &[Touch], end: u32, clock: &mut [u32]) {
        for touch in touches {
            let Some(entries) = self.cells.get(&touch.cell) else { continue };
            for entry in entries.iter().rev().filter(|entry| entry.position < end && entry.bytes & touch.bytes != 0) {
                if !entry.mode.commutes(touch.mode) {
                    join(clock, self.clock(entry.position));
                }
                if entry.mode == Mode::Write && entry.bytes & touch.bytes == touch.bytes {
                    break;
                }
            }
        }
    }

    /// Positions of a thread's events.
    pub fn events_of(&self, thread: u16) -> &[u32] {
        &self.positions[usize::from(thread)]
    }

    /// Thread of the event at a position.
    pub fn thread(&self, position: u32) -> u16 {
        self.thread[position as usize]
    }

    /// Number of the event within its thread.
    pub fn seq(&self, position: u32) -> u32 {
        self.seq[position as usize]
    }

    /// What the event touches.
    pub fn touches(&self, position: u32) -> &Footprint {
        &self.touches[position as usize]
    }

    /// How many events of each thread happen before the event or are the event.
    pub fn clock(&self, position: u32) -> &[u32] {
        self.clocks.row(position as usize)
    }

    /// The clock of a thread where it stands before its event number `seq`.
    pub fn clock_before(&self, thread: u16, seq: usize) -> &[u32] {
        match seq.checked_sub(1) {
            Some(last) => self.clock(self.positions[usize::from(thread)][last]),
            None => &self.zero_clock,
        }
    }

    /// Whether the first event happens before the second or is it.
    pub fn is_before(&self, first: u32, second: u32) -> bool {
        self.clock(second)[usize::from(self.thread(first))] > self.seq(first)
    }

    /// Collects the positions before `end` of events of other threads that conflict with these
    /// touches and do not happen before a thread with this clock, the latest first.
    pub fn rivals(&self, thread: u16, touches: &[Touch], clock: &[u32], end: u32, out: &mut Vec<u32>) {
        out.clear();
        for touch in touches {
            let Some(entries) = self.cells.get(&touch.cell) else { continue };
            for entry in entries.iter().rev().filter(|entry| entry.position < end && entry.bytes & touch.bytes != 0) {
                let is_past = clock[usize::from(self.thread(entry.position))] > self.seq(entry.position);
                if !is_past && self.thread(entry.position) != thread && !entry.mode.commutes(touch.mode) {
                    out.push(entry.position);
                }
                // All that conflicts with it and comes earlier happens before it.
                if is_past && entry.mode == Mode::Write && entry.bytes & touch.bytes == touch.bytes {
                    break;
                }
            }
        }
        out.sort_unstable_by(|a, b| b.cmp(a));
        out.dedup();
    }
}
