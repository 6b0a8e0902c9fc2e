//! What an execution says about the order of its steps: footprints, clocks, who touched which cell.
//!
//! Executions of one search share long prefixes, so a [`Record`] is moved from one execution to the next: steps behind the
//! common prefix are taken back, then the new ones added. Everything here is a function of the execution alone; what is
//! kept is only work already done.

use raddle_model::depend::{conflict, footprint};
use raddle_model::{Cell, Execution, Footprint, Mode, PendingState, Step, ThreadPath, Touch};
use raddle_vocab::{OpKind, Outcome};
use rustc_hash::FxHashMap;

/// "No position", where a position in the execution could stand.
pub(super) const NONE: u32 = u32::MAX;

/// A step in the list of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Position of the step.
    pub position: u32,
    /// Which bytes of the cell.
    pub bytes: u8,
    /// How it touched the cell; `None` if it did not, but might have in another state.
    pub mode: Option<Mode>,
    /// Whether it would order itself against readers in some state.
    pub may_write: bool,
    /// Index in the list of the last `Write` before it.
    last_write: u32,
    /// Index in the list of the last `Share` before it.
    last_share: u32,
}

/// Who touched a cell, in order.
#[derive(Debug)]
struct CellList {
    entries: Vec<Entry>,
    last_write: u32,
    last_share: u32,
}

/// The facts of one execution.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Number of each step within its thread.
    pub seq: Vec<u32>,
    /// Positions of each thread's steps.
    pub positions: Vec<Vec<u32>>,
    /// Ranks of the threads.
    pub ranks: Vec<u16>,
    /// Threads by rank.
    pub by_rank: Vec<u16>,
    /// What each thread stands before at the end, if it could ever go on: the operation and its footprint.
    pub pending: Vec<Option<(Step, Footprint)>>,
    /// Whether that is busy waiting.
    pub awaiting: Vec<bool>,
    /// Cells that each step touches, as [`Record::mask`] says it.
    masks: Vec<u64>,
    /// The same for what is pending.
    pending_masks: Vec<u64>,
    paths: Vec<ThreadPath>,
    touches: Vec<Touch>,
    first_touch: Vec<u32>,
    clocks: Vec<u32>,
    cells: FxHashMap<Cell, u32>,
    lists: Vec<CellList>,
    /// Lists that each step is in, to take it out again.
    member: Vec<u32>,
    first_member: Vec<u32>,
}

impl Record {
    /// Moves to another execution and returns how many steps it shares with the last one.
    pub fn load(&mut self, execution: &Execution) -> usize {
        let same_threads = self.paths.len() == execution.threads.len()
            && self.paths.iter().zip(&execution.threads).all(|(path, thread)| *path == thread.path);
        let common = if same_threads {
            self.steps.iter().zip(&execution.steps).take_while(|(old, new)| old == new).count()
        } else {
            0
        };
        self.truncate(common);
        if !same_threads {
            self.set_threads(execution);
        }
        self.load_pending(execution);
        for step in &execution.steps[common..] {
            self.push(step);
        }
        common
    }

    fn set_threads(&mut self, execution: &Execution) {
        let count = execution.threads.len();
        self.paths.clear();
        self.paths.extend(execution.threads.iter().map(|thread| thread.path.clone()));
        self.positions.resize(count, Vec::new());
        self.by_rank.clear();
        self.by_rank.extend(0..count as u16);
        let paths = &self.paths;
        self.by_rank.sort_by(|&a, &b| paths[usize::from(a)].cmp(&paths[usize::from(b)]));
        self.ranks.resize(count, 0);
        for (rank, &thread) in self.by_rank.iter().enumerate() {
            self.ranks[usize::from(thread)] = rank as u16;
        }
    }

    fn load_pending(&mut self, execution: &Execution) {
        self.pending.clear();
        self.awaiting.clear();
        for pending in &execution.pending {
            let goes_on = !matches!(pending.state, PendingState::Failed | PendingState::Ended | PendingState::Exited);
            self.pending.push(goes_on.then(|| (pending.step, footprint(&pending.step))));
            self.awaiting.push(pending.state == PendingState::Awaiting);
        }
        self.pending.resize(self.positions.len(), None);
        self.pending_masks.clear();
        let mask = |pending: &Option<(Step, Footprint)>| pending.as_ref().map_or(0, |(_, touches)| mask(touches));
        self.pending_masks.extend(self.pending.iter().map(mask));
        self.awaiting.resize(self.positions.len(), false);
    }

    /// Takes steps back until `len` are left.
    fn truncate(&mut self, len: usize) {
        for position in (len..self.steps.len()).rev() {
            self.positions[usize::from(self.steps[position].thread)].pop();
            let first = self.first_member[position] as usize;
            for index in (first..self.member.len()).rev() {
                let list = &mut self.lists[self.member[index] as usize];
                if let Some(entry) = list.entries.pop() {
                    (list.last_write, list.last_share) = (entry.last_write, entry.last_share);
                }
            }
            self.member.truncate(first);
            self.touches.truncate(self.first_touch[position] as usize);
        }
        self.steps.truncate(len);
        self.masks.truncate(len);
        self.seq.truncate(len);
        self.first_touch.truncate(len);
        self.first_member.truncate(len);
        self.clocks.truncate(len * self.positions.len());
    }

    fn push(&mut self, step: &Step) {
        let (position, thread) = (self.steps.len() as u32, usize::from(step.thread));
        let threads = self.positions.len();
        let row = self.clocks.len();
        match self.positions[thread].last() {
            Some(&last) => self.clocks.extend_from_within(last as usize * threads..(last as usize + 1) * threads),
            None => self.clocks.resize(row + threads, 0),
        }
        let touches = footprint(step);
        self.first_touch.push(self.touches.len() as u32);
        self.first_member.push(self.member.len() as u32);
        for touch in &touches {
            let list = self.list_of(touch.cell);
            self.join_list(row, list, *touch);
        }
        self.clocks[row + thread] += 1;
        self.seq.push(self.positions[thread].len() as u32);
        self.positions[thread].push(position);
        self.steps.push(*step);
        self.masks.push(mask(&touches));
        let may_write = may_write(step);
        for touch in &touches {
            self.enter(position, touch.cell, touch.bytes, Some(touch.mode), may_write || touch.mode != Mode::Observe);
        }
        self.enter_potential(position, step);
        self.touches.extend_from_slice(&touches);
    }

    fn list_of(&mut self, cell: Cell) -> u32 {
        *self.cells.entry(cell).or_insert_with(|| {
            self.lists.push(CellList { entries: Vec::new(), last_write: NONE, last_share: NONE });
            self.lists.len() as u32 - 1
        })
    }

    fn enter(&mut self, position: u32, cell: Cell, bytes: u8, mode: Option<Mode>, may_write: bool) {
        let number = self.list_of(cell);
        self.member.push(number);
        let list = &mut self.lists[number as usize];
        let (last_write, last_share) = (list.last_write, list.last_share);
        match mode {
            Some(Mode::Write) => list.last_write = list.entries.len() as u32,
            Some(Mode::Share) => list.last_share = list.entries.len() as u32,
            _ => {}
        }
        list.entries.push(Entry { position, bytes, mode, may_write, last_write, last_share });
    }

    /// Cells that the operation touches in other states only.
    fn enter_potential(&mut self, position: u32, step: &Step) {
        let other = |outcome: Outcome| footprint(&Step { outcome, ..*step });
        let more = match step.kind {
            OpKind::FutexWait | OpKind::FutexTimedWait if step.outcome != Outcome::Done => other(Outcome::Done),
            OpKind::CondReacquire | OpKind::FutexResume if step.outcome == Outcome::Done => other(Outcome::TimedOut),
            // In another state it belongs to another round.
            OpKind::BarrierArrive => {
                Footprint::from_slice(&[Touch { cell: step.obj >> 3, bytes: 0xff, mode: Mode::Write }])
            }
            _ => return,
        };
        for touch in more {
            self.enter(position, touch.cell, touch.bytes, None, true);
        }
    }

    /// Puts the step whose clock is under way behind all in the list that it depends on.
    fn join_list(&mut self, row: usize, list: u32, touch: Touch) {
        let list = &self.lists[list as usize];
        // A write that covers the bytes is behind everything before it.
        let mut at = list.last_write;
        let mut barrier = 0;
        while at != NONE {
            let entry = list.entries[at as usize];
            if entry.bytes & touch.bytes != 0 {
                join(&mut self.clocks, row, entry.position, &self.steps, &self.seq, self.positions.len());
                if entry.bytes & touch.bytes == touch.bytes {
                    barrier = at + 1;
                    break;
                }
            }
            at = entry.last_write;
        }
        match touch.mode {
            Mode::Observe => {
                let mut at = list.last_share;
                while at != NONE && at >= barrier {
                    let entry = list.entries[at as usize];
                    if entry.bytes & touch.bytes != 0 {
                        join(&mut self.clocks, row, entry.position, &self.steps, &self.seq, self.positions.len());
                    }
                    at = entry.last_share;
                }
            }
            Mode::Share | Mode::Write => {
                for entry in &list.entries[barrier as usize..] {
                    if entry.bytes & touch.bytes != 0 && entry.mode.is_some_and(|mode| !mode.commutes(touch.mode)) {
                        join(&mut self.clocks, row, entry.position, &self.steps, &self.seq, self.positions.len());
                    }
                }
            }
        }
    }

    /// What the step touches.
    pub fn touches(&self, position: usize) -> &[Touch] {
        let end = self.first_touch.get(position + 1).map_or(self.touches.len(), |&end| end as usize);
        &self.touches[self.first_touch[position] as usize..end]
    }

    /// How many steps of each thread happen before the step or are the step.
    pub fn clock(&self, position: usize) -> &[u32] {
        let threads = self.positions.len();
        &self.clocks[position * threads..(position + 1) * threads]
    }

    /// Whether the first step happens before the second or is it.
    pub fn is_before(&self, first: usize, second: usize) -> bool {
        self.clock(second)[usize::from(self.steps[first].thread)] > self.seq[first]
    }

    /// The list of a cell.
    pub fn entries(&self, cell: Cell) -> &[Entry] {
        self.cells.get(&cell).map_or(&[], |&list| &self.lists[list as usize].entries)
    }

    /// The list of the cell that is the step's touch number `index`.
    pub fn entries_of(&self, position: usize, index: usize) -> &[Entry] {
        // A step enters the lists of what it touches before all others.
        let list = self.member[self.first_member[position] as usize + index];
        &self.lists[list as usize].entries
    }

    /// Whether the step depends on something with these touches.
    pub fn conflicts(&self, position: usize, touches: &[Touch]) -> bool {
        conflict(self.touches(position), touches)
    }

    /// The operation that the thread stands before after `count` of its steps.
    pub fn operation(&self, thread: u16, count: u32) -> Option<&Step> {
        let thread = usize::from(thread);
        match self.positions[thread].get(count as usize) {
            Some(&position) => Some(&self.steps[position as usize]),
            None => self.pending[thread].as_ref().map(|(step, _)| step),
        }
    }

    /// The cells that the step touches, each as one of 64 bits: what touches a common cell has a common bit.
    pub fn mask(&self, position: usize) -> u64 {
        self.masks[position]
    }

    /// The same for the operation that the thread stands before after `count` of its steps.
    pub fn mask_of(&self, thread: u16, count: u32) -> u64 {
        let number = usize::from(thread);
        match self.positions[number].get(count as usize) {
            Some(&position) => self.masks[position as usize],
            None => self.pending_masks[number],
        }
    }
}

/// The cells, each as one of 64 bits.
pub(super) fn mask(touches: &[Touch]) -> u64 {
    touches.iter().fold(0, |mask, touch| mask | 1 << (touch.cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58))
}

/// Joins the clock of the step at `position` into the last row.
fn join(clocks: &mut [u32], row: usize, position: u32, steps: &[Step], seq: &[u32], threads: usize) {
    let position = position as usize;
    if clocks[row + usize::from(steps[position].thread)] > seq[position] {
        return;
    }
    let (before, mine) = clocks.split_at_mut(row);
    let other = &before[position * threads..(position + 1) * threads];
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}

/// Whether the operation changes its object in some state, though it did not here.
fn may_write(step: &Step) -> bool {
    matches!(
        step.kind,
        OpKind::AtomicCas
            | OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::Lock
            | OpKind::Unlock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
            | OpKind::ReadLock
            | OpKind::WriteLock
            | OpKind::SemTryWait
            | OpKind::SemTimedWait
            | OpKind::OnceBegin
            | OpKind::Signal
            | OpKind::Broadcast
            | OpKind::FutexWake
            | OpKind::Join
            | OpKind::Detach
    )
}
