//! What an execution says about the order of its steps: footprints, clocks, who touched which cell.
//!
//! Executions of one search share long prefixes, so a [`Record`] is moved from one execution to the next: steps behind the
//! common prefix are taken back, then the new ones added. Everything here is a function of the execution alone; what is
//! kept is only work already done.

use raddle_model::depend::{conflict, footprint};
use raddle_model::object::{CondAction, MutexAction, Patience, ThreadOp};
use raddle_model::{Cell, Event, Execution, Footprint, Mode, Op, Operation as _, PendingState, ThreadPath, Touch};
use raddle_vocab::Outcome;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cursor::class_of;

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
    /// Whether it is one of the steps that threads and plain mutexes live by.
    is_usual: bool,
}

/// Who touched a cell, in order.
#[derive(Debug)]
struct CellList {
    entries: Vec<Entry>,
    last_write: u32,
    last_share: u32,
    /// How many entries are not usual.
    unusual: u32,
}

/// What is asked most often about a step, close together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    pub thread: u16,
    /// How the policy ranks it: class, then rank of the thread.
    pub key: (u8, u16),
    /// Number of the step within its thread.
    pub seq: u32,
    /// Cells that the step touches, as [`Record::mask`] says it.
    pub mask: u64,
    /// Whether it is the last arrival of a barrier's round.
    pub is_last: bool,
    /// Whether it is the first half of something of which others do the second half, see [`Record::is_undisputed`].
    is_first_half: bool,
    first_touch: u32,
    first_member: u32,
}

/// What follows from a step alone. Threads do the same again and again, in other orders.
#[derive(Debug)]
struct Known {
    step: Event,
    touches: Footprint,
    /// The lists that it enters, those of its touches first, then those of cells that it touches in other states only.
    lists: SmallVec<[(u32, u8); 4]>,
    mask: u64,
    may_write: bool,
}

/// The facts of one execution.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The steps, in order.
    pub steps: Vec<Event>,
    /// The same, shorter.
    pub briefs: Vec<Brief>,
    /// Positions of each thread's steps.
    pub positions: Vec<Vec<u32>>,
    /// Ranks of the threads.
    pub ranks: Vec<u16>,
    /// Threads by rank.
    pub by_rank: Vec<u16>,
    /// What each thread stands before at the end, if it could ever go on: the operation and its footprint.
    pub pending: Vec<Option<(Event, Footprint)>>,
    /// Threads that stand before something at the end.
    pub stopped: Vec<u16>,
    /// Whether that is busy waiting.
    pub awaiting: Vec<bool>,
    /// What it found there.
    pub found: Vec<u64>,
    /// The cells that what is pending touches, as [`Record::mask`] says it.
    pending_masks: Vec<u64>,
    paths: Vec<ThreadPath>,
    touches: Vec<Touch>,
    clocks: Vec<u32>,
    cells: FxHashMap<Cell, u32>,
    lists: Vec<CellList>,
    /// Lists that each step is in, to take it out again.
    member: Vec<u32>,
    /// By thread and number within it, what is known of the step that was there last.
    known: Vec<Vec<Known>>,
}

impl Record {
    /// Moves to another execution and returns how many steps it shares with the last one.
    ///
    /// Once a thread is alone and behind everything that others did, whatever it does is left out: it has no other order.
    pub fn load(&mut self, execution: &Execution) -> usize {
        let same_threads = self.paths.len() == execution.threads.len()
            && self.paths.iter().zip(&execution.threads).all(|(path, thread)| *path == thread.path);
        let common = if same_threads {
            self.steps.iter().zip(&execution.events).take_while(|(old, new)| old == new).count()
        } else {
            0
        };
        self.truncate(common);
        if !same_threads {
            self.set_threads(execution);
        }
        self.load_pending(execution);
        let alone = if self.stopped.is_empty() { start_of_the_end(&execution.events) } else { execution.events.len() };
        for step in &execution.events[common..] {
            if self.steps.len() > alone && self.is_behind_all() {
                break;
            }
            self.push(step);
        }
        common
    }

    /// Whether the last step is behind all others.
    fn is_behind_all(&self) -> bool {
        let clock = &self.clocks[self.clocks.len() - self.positions.len()..];
        clock.iter().zip(&self.positions).all(|(&clock, positions)| clock as usize == positions.len())
    }

    fn set_threads(&mut self, execution: &Execution) {
        let count = execution.threads.len();
        self.paths.clear();
        self.paths.extend(execution.threads.iter().map(|thread| thread.path.clone()));
        self.positions.resize(count, Vec::new());
        self.known.resize_with(count, Vec::new);
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
        self.found.clear();
        for pending in &execution.pending {
            let goes_on = !matches!(pending.state, PendingState::Failed | PendingState::Ended | PendingState::Exited);
            self.pending.push(goes_on.then(|| (pending.event, footprint(&pending.event))));
            self.awaiting.push(pending.state == PendingState::Awaiting);
            self.found.push(pending.found);
        }
        self.pending.resize(self.positions.len(), None);
        self.pending_masks.clear();
        let mask = |pending: &Option<(Event, Footprint)>| pending.as_ref().map_or(0, |(_, touches)| mask(touches));
        self.pending_masks.extend(self.pending.iter().map(mask));
        self.awaiting.resize(self.positions.len(), false);
        self.found.resize(self.positions.len(), 0);
        self.stopped.clear();
        self.stopped
            .extend((0..self.pending.len() as u16).filter(|&thread| self.pending[usize::from(thread)].is_some()));
    }

    /// Takes steps back until `len` are left.
    fn truncate(&mut self, len: usize) {
        for brief in self.briefs.drain(len..).rev() {
            self.positions[usize::from(brief.thread)].pop();
            for list in self.member.drain(brief.first_member as usize..).rev() {
                let list = &mut self.lists[list as usize];
                if let Some(entry) = list.entries.pop() {
                    list.unusual -= u32::from(!entry.is_usual);
                    (list.last_write, list.last_share) = (entry.last_write, entry.last_share);
                }
            }
            self.touches.truncate(brief.first_touch as usize);
        }
        self.steps.truncate(len);
        self.clocks.truncate(len * self.positions.len());
    }

    fn push(&mut self, step: &Event) {
        let (position, thread) = (self.steps.len() as u32, usize::from(step.thread));
        let seq = self.positions[thread].len();
        if self.known[thread].get(seq).is_none_or(|known| known.step != *step) {
            self.get_to_know(step, thread, seq);
        }
        let known = &self.known[thread][seq];
        let threads = self.positions.len();
        let row = self.clocks.len();
        match self.positions[thread].last() {
            Some(&last) => self.clocks.extend_from_within(last as usize * threads..(last as usize + 1) * threads),
            None => self.clocks.resize(row + threads, 0),
        }
        for (touch, (list, _)) in known.touches.iter().zip(&known.lists) {
            join_list(&mut self.clocks, row, &self.lists[*list as usize], *touch, &self.briefs);
        }
        self.clocks[row + thread] += 1;
        self.positions[thread].push(position);
        self.steps.push(*step);
        self.briefs.push(Brief {
            thread: step.thread,
            key: (class_of(step), self.ranks[thread]),
            seq: seq as u32,
            mask: known.mask,
            is_last: step.op.outcome() == Outcome::Last,
            is_first_half: is_first_half(&step.op),
            first_touch: self.touches.len() as u32,
            first_member: self.member.len() as u32,
        });
        for (index, &(number, bytes)) in known.lists.iter().enumerate() {
            self.member.push(number);
            let mode = known.touches.get(index).map(|touch| touch.mode);
            let may_write = known.may_write || mode != Some(Mode::Observe);
            let list = &mut self.lists[number as usize];
            let is_cell_of = |mutex: u64| known.touches.get(index).is_some_and(|touch| touch.cell == mutex >> 3);
            let is_usual = match step.op {
                Op::Thread(op) => !matches!(op, ThreadOp::Detach { .. } | ThreadOp::Poll { .. }),
                Op::Mutex(op) => match op.action {
                    MutexAction::Lock(patience) => patience == Patience::Block,
                    MutexAction::Init => list.entries.is_empty(),
                    MutexAction::Unlock => list.is_locked_by(step.thread, &self.steps),
                    MutexAction::Destroy => false,
                },
                Op::Cond(op) => match op.action {
                    CondAction::Reacquire { mutex, .. } => is_cell_of(mutex),
                    CondAction::Wait { mutex, .. } => is_cell_of(mutex) && list.is_locked_by(step.thread, &self.steps),
                    _ => false,
                },
                _ => false,
            };
            list.enter(position, bytes, mode, may_write, is_usual);
        }
        self.touches.extend_from_slice(&known.touches);
    }

    fn get_to_know(&mut self, step: &Event, thread: usize, seq: usize) {
        let touches = footprint(step);
        let potential = step.op.potential(step.thread);
        let both = touches.iter().chain(&potential);
        let lists = both.map(|touch| (list_of(&mut self.cells, &mut self.lists, touch.cell), touch.bytes)).collect();
        let known = Known { step: *step, mask: mask(&touches), touches, lists, may_write: step.op.may_write() };
        match self.known[thread].get_mut(seq) {
            Some(old) => *old = known,
            None => self.known[thread].push(known),
        }
    }

    /// The number of the list of a cell, for [`Record::list`].
    pub fn list_of(&mut self, cell: Cell) -> u32 {
        list_of(&mut self.cells, &mut self.lists, cell)
    }

    /// Who touched the cell whose list has this number.
    pub fn list(&self, number: u32) -> &[Entry] {
        &self.lists[number as usize].entries
    }

    /// What the step touches.
    pub fn touches(&self, position: usize) -> &[Touch] {
        let end = self.briefs.get(position + 1).map_or(self.touches.len(), |brief| brief.first_touch as usize);
        &self.touches[self.briefs[position].first_touch as usize..end]
    }

    /// How many steps of each thread happen before the step or are the step.
    pub fn clock(&self, position: usize) -> &[u32] {
        let threads = self.positions.len();
        &self.clocks[position * threads..(position + 1) * threads]
    }

    /// Whether the first step happens before the second or is it.
    pub fn is_before(&self, first: usize, second: usize) -> bool {
        let brief = &self.briefs[first];
        self.clocks[second * self.positions.len() + usize::from(brief.thread)] > brief.seq
    }

    /// The list of a cell.
    pub fn entries(&self, cell: Cell) -> &[Entry] {
        self.cells.get(&cell).map_or(&[], |&list| &self.lists[list as usize].entries)
    }

    /// The list of the cell that is the step's touch number `index`.
    pub fn entries_of(&self, position: usize, index: usize) -> &[Entry] {
        // A step enters the lists of what it touches before all others.
        let list = self.member[self.briefs[position].first_member as usize + index];
        &self.lists[list as usize].entries
    }

    /// Whether no step of the execution overtakes this one for the sake of its touch number `index`: there is none behind it, or there are
    /// only such as have to wait for it. Starting follows creating, joining follows the end, locking follows the owner's unlocking.
    pub fn is_undisputed(&self, position: usize, index: usize) -> bool {
        let brief = &self.briefs[position];
        let list = &self.lists[self.member[brief.first_member as usize + index] as usize];
        brief.is_first_half && list.unusual == 0
            || list.entries.last().is_none_or(|last| last.position as usize == position)
    }

    /// Whether the step depends on something with these touches.
    pub fn conflicts(&self, position: usize, touches: &[Touch]) -> bool {
        conflict(self.touches(position), touches)
    }

    /// The operation that the thread stands before after `count` of its steps.
    pub fn operation(&self, thread: u16, count: u32) -> Option<&Event> {
        let thread = usize::from(thread);
        match self.positions[thread].get(count as usize) {
            Some(&position) => Some(&self.steps[position as usize]),
            None => self.pending[thread].as_ref().map(|(step, _)| step),
        }
    }

    /// The cells that the step touches, each as one of 64 bits: what touches a common cell has a common bit.
    pub fn mask(&self, position: usize) -> u64 {
        self.briefs[position].mask
    }

    /// The same for the operation that the thread stands before after `count` of its steps.
    pub fn mask_of(&self, thread: u16, count: u32) -> u64 {
        let number = usize::from(thread);
        match self.positions[number].get(count as usize) {
            Some(&position) => self.briefs[position as usize].mask,
            None => self.pending_masks[number],
        }
    }
}

/// The cells, each as one of 64 bits.
pub(super) fn mask(touches: &[Touch]) -> u64 {
    touches.iter().fold(0, |mask, touch| mask | 1 << (touch.cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58))
}

/// Position of the first step behind which only one thread steps.
fn start_of_the_end(steps: &[Event]) -> usize {
    let Some(last) = steps.last() else { return 0 };
    steps.iter().rposition(|step| step.thread != last.thread).map_or(0, |other| other + 1)
}

impl CellList {
    /// Whether the last change was that the thread has locked what lies there.
    fn is_locked_by(&self, thread: u16, steps: &[Event]) -> bool {
        self.entries.get(self.last_write as usize).is_some_and(|entry| {
            let last = &steps[entry.position as usize];
            last.thread == thread && last.op.awaited_mutex().is_some()
        })
    }

    fn enter(&mut self, position: u32, bytes: u8, mode: Option<Mode>, may_write: bool, is_usual: bool) {
        self.unusual += u32::from(!is_usual);
        let (last_write, last_share) = (self.last_write, self.last_share);
        match mode {
            Some(Mode::Write) => self.last_write = self.entries.len() as u32,
            Some(Mode::Share) => self.last_share = self.entries.len() as u32,
            _ => {}
        }
        self.entries.push(Entry { position, bytes, mode, may_write, last_write, last_share, is_usual });
    }
}

fn list_of(cells: &mut FxHashMap<Cell, u32>, lists: &mut Vec<CellList>, cell: Cell) -> u32 {
    *cells.entry(cell).or_insert_with(|| {
        lists.push(CellList { entries: Vec::new(), last_write: NONE, last_share: NONE, unusual: 0 });
        lists.len() as u32 - 1
    })
}

/// Whether the operation is the first half of something of which others do the second half.
fn is_first_half(op: &Op) -> bool {
    match op {
        Op::Thread(op) => matches!(op, ThreadOp::Create { .. } | ThreadOp::Start | ThreadOp::End),
        op => op.released_mutex().is_some(),
    }
}

/// Puts the step whose clock is the last row behind all in the list that it depends on.
fn join_list(clocks: &mut [u32], row: usize, list: &CellList, touch: Touch, briefs: &[Brief]) {
    // A write that covers the bytes is behind everything before it.
    let mut at = list.last_write;
    let mut barrier = 0;
    while at != NONE {
        let entry = list.entries[at as usize];
        if entry.bytes & touch.bytes != 0 {
            join(clocks, row, entry.position, briefs);
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
                    join(clocks, row, entry.position, briefs);
                }
                at = entry.last_share;
            }
        }
        Mode::Share | Mode::Write => {
            for entry in &list.entries[barrier as usize..] {
                if entry.bytes & touch.bytes != 0 && entry.mode.is_some_and(|mode| !mode.commutes(touch.mode)) {
                    join(clocks, row, entry.position, briefs);
                }
            }
        }
    }
}

/// Joins the clock of the step at `position` into the last row.
fn join(clocks: &mut [u32], row: usize, position: u32, briefs: &[Brief]) {
    let brief = &briefs[position as usize];
    if clocks[row + usize::from(brief.thread)] > brief.seq {
        return;
    }
    let (before, mine) = clocks.split_at_mut(row);
    let other = &before[position as usize * mine.len()..(position as usize + 1) * mine.len()];
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}
