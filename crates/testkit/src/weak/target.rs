//! A target that runs these programs as the runtime does: it keeps the stores of each location,
//! reads and places as the schedule says, and knows no memory model.

use std::collections::{BTreeMap, VecDeque};

use raddle_model::object::{
    AtomicAction, AtomicOp, FenceOp, MutexAction, MutexOp, Operation as _, Patience, SemaphoreAction, SemaphoreOp,
    ThreadOp,
};
use raddle_model::weak::AtomicDetail;
use raddle_model::{
    Access, AccessKind, Choice, Event, Execution, FailingValue, HeldRead, Op, Pending, PendingState, Request, Target,
    TargetError, ThreadInfo, ThreadPath,
};
use raddle_vocab::{HOLD, MutexKind, Outcome, RunStatus, update};

use super::program::{
    DATA, Ins, Lab, LabKind, MUTEXES, SEMAPHORES, Stand, WeakProgram, ends_wait, evaluate, run_thread,
};

/// Where a location is.
#[must_use]
pub fn address(loc: usize) -> u64 {
    0x1000 + 64 * loc as u64
}

/// What a run has left.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// The registers of each thread.
    pub registers: Vec<[u64; 16]>,
    /// The last value of each location, plain data included.
    pub values: Vec<u64>,
}

/// The target.
#[derive(Debug)]
pub struct WeakTarget {
    program: WeakProgram,
    requests: VecDeque<Request>,
    left: Left,
    /// Numbers of reads of loops that wait, by thread, instruction and what the thread has read
    /// before.
    held: BTreeMap<(usize, usize, Vec<u64>), u16>,
}

impl WeakTarget {
    /// A target that runs this program.
    #[must_use]
    pub fn new(program: &[Vec<Ins>]) -> Self {
        WeakTarget {
            program: program.to_vec(),
            requests: VecDeque::new(),
            left: Left::default(),
            held: BTreeMap::new(),
        }
    }

    /// What the last run has left.
    #[must_use]
    pub fn left(&self) -> &Left {
        &self.left
    }
}

impl Target for WeakTarget {
    fn submit(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        let request = self.requests.pop_front().ok_or_else(|| TargetError::Lost("nothing is under way".into()))?;
        let mut run = Run::new(&self.program, &mut self.held);
        run.follow(&request.schedule);
        self.left = run.left();
        *into = run.end();
        Ok(())
    }
}

struct Run<'a> {
    program: &'a WeakProgram,
    numbers: &'a mut BTreeMap<(usize, usize, Vec<u64>), u16>,
    /// The values of the stores of each location, the initial one first.
    stores: Vec<Vec<u64>>,
    /// Values that each thread has read.
    values: Vec<Vec<u64>>,
    /// What plain data holds.
    data: Vec<u64>,
    /// Events and plain accesses that each thread has made.
    made: Vec<usize>,
    held: Vec<bool>,
    execution: Execution,
}

/// What a thread does next.
enum Next {
    Thread(ThreadOp),
    /// Initialises a semaphore.
    Init(usize),
    Event(Lab),
    Nothing,
}

impl<'a> Run<'a> {
    fn new(program: &'a WeakProgram, numbers: &'a mut BTreeMap<(usize, usize, Vec<u64>), u16>) -> Self {
        let threads = program.len() + 1;
        let info = |number: usize| ThreadInfo {
            path: ThreadPath(if number == 0 { Vec::new() } else { vec![number as u32] }),
            parent: (number > 0).then_some(0),
            name: None,
        };
        let execution = Execution { threads: (0..threads).map(info).collect(), ..Execution::empty() };
        Run {
            program,
            numbers,
            stores: vec![vec![0]; DATA],
            data: vec![0; 2],
            values: vec![Vec::new(); threads],
            made: vec![0; threads],
            held: vec![false; threads],
            execution,
        }
    }

    fn next(&self, thread: usize) -> Next {
        let made = self.made[thread];
        if thread == 0 {
            return match made {
                0 => Next::Thread(ThreadOp::Start),
                1 | 2 => Next::Init(made - 1),
                _ if made <= self.program.len() + 2 => {
                    let child = made as u16 - 2;
                    Next::Thread(ThreadOp::Create { child, entry: 0, detached: false, failed: false })
                }
                _ if made == self.program.len() + 3 => Next::Thread(ThreadOp::End),
                _ => Next::Nothing,
            };
        }
        if made == 0 {
            return if self.made[0] > thread + 2 { Next::Thread(ThreadOp::Start) } else { Next::Nothing };
        }
        let (labels, stand, _) = run_thread(&self.program[thread - 1], &self.values[thread], true);
        match labels.get(made - 1) {
            Some(&lab) => Next::Event(lab),
            None if stand == Stand::Done && made == labels.len() + 1 => Next::Thread(ThreadOp::End),
            None => Next::Nothing,
        }
    }

    fn can_step(&self, thread: usize) -> bool {
        match self.next(thread) {
            Next::Nothing => false,
            Next::Event(lab) => {
                lab.kind != LabKind::Read
                    || ends_wait(&self.program[thread - 1][lab.at], *self.stores[lab.loc].last().unwrap())
            }
            Next::Thread(_) | Next::Init(_) => true,
        }
    }

    fn is_lock(&self, thread: usize, lab: &Lab) -> bool {
        lab.kind == LabKind::Read && matches!(self.program[thread - 1][lab.at], Ins::Lock(_) | Ins::Take(_))
    }

    fn follow(&mut self, schedule: &[Choice]) {
        for &Choice { thread, choice } in schedule {
            let thread = usize::from(thread);
            if choice == HOLD {
                self.held[thread] = true;
            } else {
                let is_loop = matches!(self.next(thread), Next::Event(lab) if !self.is_lock(thread, &lab));
                assert!(
                    is_loop || self.can_step(thread),
                    "a schedule asks for what cannot be: {schedule:?} {:?}",
                    self.program
                );
                self.step(thread, choice);
            }
        }
        while let Some(thread) = (0..self.made.len()).find(|&thread| !self.held[thread] && self.can_step(thread)) {
            self.step(thread, 0);
        }
    }

    fn step(&mut self, thread: usize, behind: u16) {
        let held = self.held_read(thread);
        let op = match self.next(thread) {
            Next::Thread(op) => {
                self.made[thread] += 1;
                Op::Thread(op)
            }
            Next::Init(semaphore) => {
                self.made[thread] += 1;
                semaphore_op(semaphore, SemaphoreAction::Init { count: 0, named: false })
            }
            Next::Event(lab) => self.event(thread, &lab, behind, held),
            Next::Nothing => unreachable!(),
        };
        self.execution.events.push(Event { held, ..Event::new(thread as u16, op) });
        self.access_data(thread);
    }

    /// Makes the plain accesses up to the thread's next event.
    fn access_data(&mut self, thread: usize) {
        for count in 0.. {
            let Next::Event(Lab { plain: true, kind, loc, val, at, .. }) = self.next(thread) else { break };
            let data = &mut self.data[loc - DATA];
            let kind = if kind == LabKind::Write {
                *data = val;
                AccessKind::Write
            } else {
                self.values[thread].push(*data);
                AccessKind::Read
            };
            self.made[thread] += 1;
            self.execution.accesses.push(Access {
                thread: thread as u16,
                kind,
                volatile: false,
                addr: address(loc),
                size: 8,
                // Each instruction has a place of its own.
                pc: 0x100 * thread as u64 + at as u64,
                after: self.execution.events.len() as u32,
                count,
            });
        }
    }

    /// The number of the thread's next event, if it is the read of a loop that waits.
    fn held_read(&mut self, thread: usize) -> HeldRead {
        let Next::Event(lab) = self.next(thread) else { return HeldRead::NONE };
        let ins = self.program[thread - 1][lab.at];
        if lab.kind != LabKind::Read || !matches!(ins, Ins::Await(..) | Ins::AwaitUpdate(..)) {
            return HeldRead::NONE;
        }
        // Rounds that failed leave no trace in the thread.
        let (made, ..) = run_thread(&self.program[thread - 1], &self.values[thread], true);
        let reads = made.iter().filter(|lab| lab.kind == LabKind::Read).zip(&self.values[thread]);
        let kept = reads.filter(|(lab, value)| ends_wait(&self.program[thread - 1][lab.at], **value));
        let state = (thread, lab.at, kept.map(|(_, &value)| value).collect());
        let next = self.numbers.len() as u16 + 1;
        HeldRead(*self.numbers.entry(state).or_insert(next))
    }

    fn event(&mut self, thread: usize, lab: &Lab, behind: u16, held: HeldRead) -> Op {
        self.made[thread] += 1;
        let ins = self.program[thread - 1][lab.at];
        if lab.kind == LabKind::Fence {
            return Op::Fence(FenceOp { order: lab.order });
        }
        let stores = &mut self.stores[lab.loc];
        let place = stores.len() - usize::from(behind);
        if lab.kind == LabKind::Write {
            let old = *stores.last().unwrap();
            stores.insert(place, lab.val);
            let Ins::Write(_, _, order) = ins else { unreachable!() };
            self.detail(behind, update::CONTINUES, 0);
            return atomic(lab.loc, order, AtomicAction::Store { value: lab.val, old });
        }
        let old = stores[place - 1];
        let (_, _, registers) = run_thread(&self.program[thread - 1], &self.values[thread], true);
        self.values[thread].push(old);
        let (after, ..) = run_thread(&self.program[thread - 1], &self.values[thread], true);
        let write = after.get(self.made[thread] - 1).filter(|next| next.kind == LabKind::Write && next.exclusive);
        let written = write.filter(|next| next.at == lab.at).map(|write| write.val);
        if !ends_wait(&ins, old) {
            self.execution.failing.push(FailingValue { read: held, value: old });
        }
        if let Some(value) = written {
            self.stores[lab.loc].insert(place, value);
            self.made[thread] += 1;
        }
        self.read_op(ins, lab.loc, (old, written), &registers, behind)
    }

    fn read_op(
        &mut self,
        ins: Ins,
        loc: usize,
        (old, written): (u64, Option<u64>),
        registers: &[u64; 16],
        behind: u16,
    ) -> Op {
        let (order, how, operand) = match ins {
            Ins::Lock(mutex) => return mutex_op(mutex, MutexAction::Lock(Patience::Block)),
            Ins::TryLock(_, mutex) => {
                let outcome = if old == 0 { Outcome::Done } else { Outcome::Failed };
                return mutex_op(mutex, MutexAction::Lock(Patience::Try)).with_outcome(outcome);
            }
            Ins::Unlock(mutex) => return mutex_op(mutex, MutexAction::Unlock),
            Ins::Take(semaphore) => return semaphore_op(semaphore, TAKING),
            Ins::Post(semaphore) => return semaphore_op(semaphore, SemaphoreAction::Post),
            Ins::Read(_, _, order) | Ins::Await(_, _, _, order) => (order, 0, 0),
            Ins::AwaitUpdate(_, _, _, order) => (order, update::ADD, 0),
            Ins::Add(_, _, more, order) => (order, update::ADD, more),
            Ins::Swap(_, _, _, order) => (order, update::SET, written.unwrap_or(0)),
            Ins::Cas(_, _, expected, new, success, failure) => {
                let (expected, new) = (evaluate(expected, registers), evaluate(new, registers));
                self.detail(behind, update::orders(success as u8, failure as u8) | update::CONTINUES, new);
                let success_now = written.is_some();
                let order = if success_now { success } else { failure };
                let new = if success_now { new } else { 0 };
                return atomic(loc, order, AtomicAction::Cas { expected, new, seen: old, success: success_now });
            }
            _ => unreachable!(),
        };
        self.detail(behind, how | update::CONTINUES, operand);
        match written.or_else(|| matches!(ins, Ins::AwaitUpdate(..)).then_some(old)) {
            Some(value) => atomic(loc, order, AtomicAction::Rmw { value, old }),
            None => atomic(loc, order, AtomicAction::Load { value: old, awaited: None }),
        }
    }

    fn detail(&mut self, behind: u16, how: u8, operand: u64) {
        let event = self.execution.events.len() as u32;
        self.execution.details.push(AtomicDetail { event, behind, how, operand });
    }

    fn left(&self) -> Left {
        let threads = self.program.iter().zip(&self.values[1..]);
        let last = self.stores.iter().map(|stores| *stores.last().unwrap_or(&0));
        Left {
            registers: threads.map(|(code, values)| run_thread(code, values, true).2).collect(),
            values: last.chain(self.data.iter().copied()).collect(),
        }
    }

    fn end(mut self) -> Execution {
        let mut pending = Vec::new();
        for thread in 0..self.made.len() {
            let held = self.held_read(thread);
            let mut found = 0;
            let (state, op) = match self.next(thread) {
                Next::Nothing => (PendingState::Ended, Op::Thread(ThreadOp::End)),
                Next::Event(lab) if self.is_lock(thread, &lab) => {
                    let ins = self.program[thread - 1][lab.at];
                    let can_go_on = ends_wait(&ins, *self.stores[lab.loc].last().unwrap());
                    let state = if can_go_on { PendingState::Enabled } else { PendingState::Blocked };
                    let op = match ins {
                        Ins::Take(semaphore) => semaphore_op(semaphore, TAKING),
                        _ => mutex_op(lab.loc - MUTEXES, MutexAction::Lock(Patience::Block)),
                    };
                    (state, op)
                }
                Next::Event(lab) if held.0 != 0 => {
                    found = *self.stores[lab.loc].last().unwrap();
                    let ins = self.program[thread - 1][lab.at];
                    let state = if ends_wait(&ins, found) { PendingState::Enabled } else { PendingState::Awaiting };
                    if state == PendingState::Awaiting {
                        self.execution.failing.push(FailingValue { read: held, value: found });
                    }
                    let event = thread as u32;
                    let how = update::ADD | update::CONTINUES;
                    self.execution.pending_details.push(AtomicDetail { event, behind: 0, how, operand: 0 });
                    let action = if lab.exclusive {
                        AtomicAction::Rmw { value: 0, old: 0 }
                    } else {
                        AtomicAction::Load { value: 0, awaited: None }
                    };
                    let (Ins::Await(_, _, _, order) | Ins::AwaitUpdate(_, _, _, order)) = ins else { unreachable!() };
                    (state, atomic(lab.loc, order, action))
                }
                _ => panic!("a thread could go on: {:?}", self.program),
            };
            pending.push(Pending { event: Event { held, ..Event::new(thread as u16, op) }, state, found });
        }
        self.execution.pending = pending;
        self.execution.status = RunStatus::Rest;
        self.execution
    }
}

fn atomic(loc: usize, order: raddle_vocab::MemOrder, action: AtomicAction) -> Op {
    Op::Atomic(AtomicOp { addr: address(loc), size: 8, order, action, continues: true, outside: false })
}

const TAKING: SemaphoreAction = SemaphoreAction::Wait { patience: Patience::Block, taken: true };

fn semaphore_op(semaphore: usize, action: SemaphoreAction) -> Op {
    Op::Semaphore(SemaphoreOp { semaphore: address(SEMAPHORES + semaphore), action })
}

fn mutex_op(mutex: usize, action: MutexAction) -> Op {
    let (mutex, kind, outcome) = (address(MUTEXES + mutex), MutexKind::Normal, Outcome::Done);
    Op::Mutex(MutexOp { mutex, kind, action, outcome })
}
