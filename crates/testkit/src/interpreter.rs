//! Runs a program under a schedule.

use std::collections::BTreeMap;

use raddle_model::object::{
    AtomicAction, AtomicOp, BarrierAction, BarrierOp, ExitOp, OnceAction, OnceOp, SemaphoreAction, SignalOp, ThreadOp,
};
use raddle_model::{
    Access, AccessKind, Choice, Enabled, Event, Execution, FailingValue, HeldRead, Incident, IncidentKind,
    Op as Operation, Operation as _, Pending, PendingState, Request, StateKey, SyncState, ThreadInfo, ThreadPath,
    depend, footprint,
};
use raddle_vocab::policy::{Candidate, Chooser, MAX_THREADS, Policy, mix};
use raddle_vocab::{FREED_AGAIN, FREED_BEFORE, Failure, Misuse, MutexKind, Outcome, RunStatus};

use super::Granularity;
use super::code::{Code, Instr, compile, eval};
use super::heap::{self, Freed, Handle, Heap};
use super::layout::Layout;
use super::operation::{self, Lowering};
use super::program::{AbstractOp, AbstractProgram, POINTERS, Pointer, REGISTERS, RmwOp};
use super::thread::Thread;

/// Maximal number of instructions between two transitions. They are invisible to other threads, so
/// a loop without any effect ends the run.
const MAX_SILENT: usize = 10_000;
/// Bytes of an integer.
pub(super) const WORD: u32 = 4;

/// A program with the state of the run under way.
#[derive(Debug)]
pub(super) struct Interpreter {
    program: AbstractProgram,
    code: Vec<Code>,
    layout: Layout,
    granularity: Granularity,
    world: SyncState,
    memory: Vec<i32>,
    heap: Heap,
    threads: Vec<Thread>,
    /// Whether executions get keys of their states, and reads before which threads are held get
    /// numbers, as a native target does it.
    pub keys: bool,
    /// Those numbers, by the state of the reading thread. They outlive a run.
    pub held_reads: BTreeMap<u64, u16>,
}

impl Interpreter {
    pub fn new(program: &AbstractProgram, granularity: Granularity, spurious: u32) -> Self {
        Interpreter {
            program: program.clone(),
            code: compile(program),
            layout: Layout::of(program),
            granularity,
            world: SyncState::new(spurious),
            memory: Vec::new(),
            heap: Heap::default(),
            threads: Vec::new(),
            keys: false,
            held_reads: BTreeMap::new(),
        }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// One run from the start.
    pub fn run(&mut self, request: &Request, out: &mut Execution) {
        self.reset(out);
        let followed = self.follow(&request.schedule, request.max_events, out);
        if followed {
            self.go_on(request.policy, request.max_events, out);
        }
        if self.threads.iter().any(|thread| thread.state == PendingState::Exited) {
            out.exit = Some(0);
        }
        self.note_key(out);
        self.note_held(out);
        out.recorded = (out.events.len() + out.accesses.len()) as u64;
        for number in 0..self.threads.len() {
            out.pending.push(self.pending(number));
        }
    }

    fn reset(&mut self, out: &mut Execution) {
        let mut empty = Execution::empty();
        // Keep the room that earlier executions needed.
        std::mem::swap(&mut empty.events, &mut out.events);
        std::mem::swap(&mut empty.accesses, &mut out.accesses);
        empty.events.clear();
        empty.accesses.clear();
        *out = empty;
        self.world.reset();
        self.memory.clear();
        self.memory.resize(self.layout.cells(), 0);
        for (var, decl) in self.program.vars.iter().enumerate() {
            for index in 0..decl.len {
                self.memory[self.layout.cell(var, index as i32)] = decl.init;
            }
        }
        self.heap.clear();
        self.threads.clear();
        self.threads.push(Thread::new(0, 0, 0, 1, 0));
        out.threads.push(ThreadInfo::default());
    }

    /// Makes the transitions of the schedule; false if the run is over.
    fn follow(&mut self, schedule: &[Choice], max_events: u64, out: &mut Execution) -> bool {
        for choice in schedule {
            let possible = usize::from(choice.thread) < self.threads.len()
                && self.enabled(choice.thread).possible()
                && choice.choice < self.successors(choice.thread);
            if !possible {
                out.status = RunStatus::Diverged;
                out.diverged_at = Some(out.events.len() as u32);
                return false;
            }
            self.step(choice.thread, choice.choice, out);
            if self.is_over(max_events, out) {
                return false;
            }
        }
        true
    }

    /// Goes on by the policy until no thread can step.
    fn go_on(&mut self, policy: Policy, max_events: u64, out: &mut Execution) {
        let mut chooser = Chooser::new(policy);
        let notes_conflicts = matches!(policy, Policy::Pos { .. });
        while let Some(thread) = self.choose(policy, &mut chooser, &out.events) {
            let choice = policy.successor(out.events.len() as u32, self.successors(thread));
            self.step(thread, choice, out);
            if notes_conflicts && let Some(event) = out.events.last() {
                self.note_conflicts(*event);
            }
            if self.is_over(max_events, out) {
                return;
            }
        }
    }

    fn is_over(&self, max_events: u64, out: &mut Execution) -> bool {
        if out.status == RunStatus::Rest && (out.events.len() + out.accesses.len()) as u64 >= max_events {
            out.status = RunStatus::Cut;
        }
        out.status != RunStatus::Rest
    }

    fn choose(&self, policy: Policy, chooser: &mut Chooser, events: &[Event]) -> Option<u16> {
        let by_rank = self.world.by_rank();
        if matches!(policy, Policy::LeastRank | Policy::Stay | Policy::GiveFirst { .. }) {
            let can = |wanted| move |&&thread: &&u16| self.enabled(thread) == wanted;
            let last = events.last().map(|event| event.thread).filter(|_| policy == Policy::Stay);
            if let Some(last) = last.filter(|&last| self.enabled(last) == Enabled::Yes) {
                return Some(last);
            }
            let gives = |thread: &&u16| self.threads[usize::from(**thread)].pending.op.kind().gives();
            if matches!(policy, Policy::GiveFirst { .. }) {
                let willing = || by_rank.iter().filter(can(Enabled::Yes));
                let first = || willing().filter(|&&thread| !chooser.comes_last(usize::from(thread)));
                let chosen = first().find(gives).or_else(|| first().next()).or_else(|| willing().find(gives)).copied();
                if let Some(chosen) = chosen {
                    chooser.note_choice(usize::from(chosen));
                    return Some(chosen);
                }
            }
            let willing = by_rank.iter().find(can(Enabled::Yes));
            return willing.or_else(|| by_rank.iter().find(can(Enabled::TimeOut))).copied();
        }
        let candidates = by_rank.iter().enumerate().filter(|&(_, &thread)| self.enabled(thread).possible());
        let candidates = candidates.map(|(rank, &thread)| {
            let thread = &self.threads[usize::from(thread)];
            Candidate { rank, key: thread.key, steps: thread.steps, conflicts: thread.conflicts }
        });
        chooser.choose(events.len() as u32, candidates).map(|rank| by_rank[rank])
    }

    fn note_conflicts(&mut self, event: Event) {
        let touched = footprint(&event);
        for thread in self.threads.iter_mut().filter(|thread| thread.pending.thread != event.thread) {
            if depend::conflict(&touched, &footprint(&thread.pending)) {
                thread.conflicts += 1;
            }
        }
    }

    fn enabled(&self, number: u16) -> Enabled {
        let thread = &self.threads[usize::from(number)];
        if thread.state != PendingState::Enabled {
            return Enabled::No;
        }
        if thread.awaiting.is_some() {
            return if self.leaves_loop(thread) { Enabled::Yes } else { Enabled::No };
        }
        self.world.enabled(&thread.pending)
    }

    fn successors(&self, number: u16) -> u16 {
        self.world.successors(&self.threads[usize::from(number)].pending)
    }

    /// Whether a round of busy waiting would be the last.
    fn leaves_loop(&self, thread: &Thread) -> bool {
        match &self.code[thread.body][thread.at] {
            Instr::Op(AbstractOp::Await(reg, place, condition, _), _) => {
                let mut regs = thread.regs;
                regs[usize::from(*reg) % REGISTERS] =
                    self.memory[self.layout.cell(place.id, eval(&place.index, &regs))];
                eval(condition, &regs) != 0
            }
            _ => true,
        }
    }

    /// Makes the thread's pending transition and lets it run on to the next.
    fn step(&mut self, number: u16, choice: u16, out: &mut Execution) {
        self.note_key(out);
        self.note_held(out);
        let thread = &self.threads[usize::from(number)];
        let (body, at, pending) = (thread.body, thread.at, thread.pending);
        let mut event = pending;
        let cell = event.op.is_memory_access().then(|| self.cell_at(event.op.object()));
        if let (Some(cell), Operation::Atomic(op)) = (cell, &mut event.op) {
            *op = self.fill_in_values(*op, number, cell, (body, at));
        }
        event = self.world.outcome_of(&event, choice);
        event.accesses = thread.accesses;
        event.held = self.held_read(number);
        if let Operation::Thread(ThreadOp::Create { child, .. }) = &mut event.op {
            *child = self.create(number, out);
        }
        self.world.apply(&event);
        out.events.push(event);
        let thread = &mut self.threads[usize::from(number)];
        thread.accesses = 0;
        thread.conflicts = 0;
        thread.steps += 1;
        thread.awaiting = None;
        self.take_effect(&event, cell);
        if self.threads[usize::from(number)].state == PendingState::Enabled && !self.next_part(&event) {
            self.arrive(number, out);
        }
    }

    /// Adds the key of the present state, if keys are wanted.
    fn note_key(&self, out: &mut Execution) {
        if self.keys {
            out.keys.push(self.key());
        }
    }

    /// The state of a thread before its pending operation.
    fn state_of(&self, thread: &Thread) -> u64 {
        thread.digest(|number| self.threads[usize::from(number)].key)
    }

    /// Tells which threads are held now, if keys are wanted.
    fn note_held(&mut self, out: &mut Execution) {
        if !self.keys {
            return;
        }
        for thread in self.threads.iter().filter(|thread| thread.awaiting.is_some()) {
            if thread.state != PendingState::Enabled {
                continue;
            }
            let (state, next) = (self.state_of(thread), self.held_reads.len() as u16 + 1);
            let read = *self.held_reads.entry(state).or_insert(next);
            if self.leaves_loop(thread) {
                continue;
            }
            let value = bits(self.memory[self.cell_at(thread.pending.op.object())]);
            out.failing.push(FailingValue { read: HeldRead(read), value });
        }
    }

    /// The number of the read that the thread stands before.
    fn held_read(&self, number: u16) -> HeldRead {
        let thread = &self.threads[usize::from(number)];
        let read = thread.awaiting.and_then(|_| self.held_reads.get(&self.state_of(thread)));
        HeldRead(read.copied().unwrap_or(0))
    }

    /// Memory, and each thread's own state. The state of objects is that of `SyncState`.
    fn key(&self) -> StateKey {
        let memory = self.memory.iter().enumerate();
        let memory = memory.map(|(cell, &value)| mix(mix(cell as u64 ^ 0xabc) ^ bits(value)));
        let name = |number: u16| self.threads[usize::from(number)].key;
        let threads = self.threads.iter().map(|thread| thread.digest(name));
        let sum = memory.chain(threads).chain(self.heap.digest()).fold(1u64, u64::wrapping_add);
        StateKey(u128::from(mix(sum)) << 64 | u128::from(mix(!sum)) | 1)
    }

    /// Which integer lies at an address.
    fn cell_at(&self, address: u64) -> usize {
        ((address - self.layout.address(0)) / u64::from(WORD)) as usize
    }

    /// The semantics knows memory only as far as events have shown it; here everything is known.
    fn fill_in_values(&self, access: AtomicOp, number: u16, cell: usize, (body, at): (usize, usize)) -> AtomicOp {
        let now = self.memory[cell];
        let access = access.with_seen(bits(now));
        match (access.action, &self.code[body][at]) {
            (AtomicAction::Rmw { old, .. }, Instr::Op(AbstractOp::Rmw(_, _, op, operand, _), _)) => {
                let operand = eval(operand, &self.threads[usize::from(number)].regs);
                let value = bits(match op {
                    RmwOp::Add => now.wrapping_add(operand),
                    RmwOp::Exchange => operand,
                    RmwOp::Or => now | operand,
                });
                AtomicOp { action: AtomicAction::Rmw { value, old }, ..access }
            }
            (AtomicAction::Rmw { old, .. }, Instr::Op(AbstractOp::Swap(pointer, ..), _)) => {
                let value = bits(self.threads[usize::from(number)].pointers[pointer_of(*pointer)]);
                AtomicOp { action: AtomicAction::Rmw { value, old }, ..access }
            }
            _ => access,
        }
    }

    fn create(&mut self, parent: u16, out: &mut Execution) -> u16 {
        let creator = &mut self.threads[usize::from(parent)];
        creator.children += 1;
        let (children, key) = (creator.children, creator.key);
        let Instr::Op(AbstractOp::Create { slot, body, arg }, _) = &self.code[creator.body][creator.at] else {
            return 0;
        };
        let arg = eval(arg, &creator.regs);
        let mut path = out.threads[usize::from(parent)].path.0.clone();
        path.push(children);
        let path = ThreadPath(path);
        let number = self.world.add_thread(path.clone());
        let used = creator.arenas.pop();
        let arena = used.or_else(|| (self.program.links > 0).then(|| heap::arena_of(&path)));
        if let Some(handle) = creator.handles.get_mut(usize::from(*slot)) {
            *handle = Some(number);
        }
        self.threads.push(Thread::new(number, *body, arg, mix(key ^ mix(u64::from(children))), arena.unwrap_or(0)));
        if used.is_some() {
            self.inherit(parent, number);
        }
        out.threads.push(ThreadInfo { path, parent: Some(parent), name: None });
        if self.threads.len() > MAX_THREADS {
            out.status = RunStatus::NeedPool;
        }
        number
    }

    /// What the event means for the thread's registers and position, and for memory.
    fn take_effect(&mut self, event: &Event, cell: Option<usize>) {
        let thread = &mut self.threads[usize::from(event.thread)];
        let instr = &self.code[thread.body][thread.at];
        let succeeded = i32::from(matches!(event.op.outcome(), Outcome::Done | Outcome::Nested | Outcome::Last));
        let mut set = |reg: u8, value: i32| thread.regs[usize::from(reg) % REGISTERS] = value;
        match event.op {
            Operation::Thread(ThreadOp::Start) => return,
            Operation::Thread(ThreadOp::End) => {
                thread.state = PendingState::Ended;
                return;
            }
            Operation::Exit(_) => {
                thread.state = PendingState::Exited;
                return;
            }
            // Main, or another handler that runs in it.
            Operation::Signal(SignalOp::Begin(handling)) => thread.onto = handling.onto,
            Operation::Thread(ThreadOp::Join { thread: joined, refused: false }) => {
                thread.at += 1;
                let arena = self.threads[usize::from(joined)].arena;
                self.threads[usize::from(event.thread)].arenas.push(arena);
                return self.inherit(joined, event.thread);
            }
            _ => {}
        }
        let written = event.op.as_atomic().map_or(0, |op| op.value() as i32);
        match instr {
            Instr::Op(AbstractOp::Read(reg, _) | AbstractOp::Load(reg, ..) | AbstractOp::Await(reg, ..), _) => {
                set(*reg, cell.map_or(0, |cell| self.memory[cell]));
            }
            Instr::Op(AbstractOp::Write(_, value), _) => {
                let value = eval(value, &thread.regs);
                cell.into_iter().for_each(|cell| self.memory[cell] = value);
            }
            Instr::Op(AbstractOp::Store(..), _) => cell.into_iter().for_each(|cell| self.memory[cell] = written),
            Instr::Op(AbstractOp::Swap(pointer, ..), _) => {
                thread.pointers[pointer_of(*pointer)] = cell.map_or(0, |cell| self.memory[cell]);
                cell.into_iter().for_each(|cell| self.memory[cell] = written);
            }
            Instr::Op(AbstractOp::Rmw(reg, ..), _) => {
                set(*reg, event.op.as_atomic().map_or(0, |op| op.seen() as i32));
                cell.into_iter().for_each(|cell| self.memory[cell] = written);
            }
            Instr::Op(AbstractOp::Cas { got, .. }, _) => {
                set(*got, succeeded);
                cell.into_iter().filter(|_| succeeded == 1).for_each(|cell| self.memory[cell] = written);
            }
            Instr::Op(
                AbstractOp::LockIf(reg, ..) | AbstractOp::ReadLock(reg, ..) | AbstractOp::WriteLock(reg, ..),
                _,
            )
            | Instr::Op(AbstractOp::SemWait(reg, ..), _) => set(*reg, succeeded),
            Instr::Op(AbstractOp::Wait(reg, ..), _) if event.op.ends_wait() => {
                set(*reg, i32::from(event.op.outcome() != Outcome::TimedOut));
            }
            Instr::Op(AbstractOp::SectionBegin, _) => thread.in_section = true,
            Instr::Op(AbstractOp::SectionEnd, _) => thread.in_section = false,
            Instr::Op(AbstractOp::Choose(reg, _), _) => set(*reg, event.op.chosen_value().unwrap_or(0) as i32),
            Instr::Op(AbstractOp::Barrier(reg, _), _) => set(*reg, i32::from(is_serial(&event.op))),
            Instr::OnceBegin { done, .. } => {
                if event.op.outcome() == Outcome::Already {
                    thread.at = *done;
                    return;
                }
                thread.outer = Some(std::mem::replace(&mut thread.regs, [0; REGISTERS]));
            }
            Instr::OnceEnd { .. } => thread.regs = thread.outer.take().unwrap_or(thread.regs),
            // At access granularity.
            Instr::Op(op, _) if operation::is_of_heap(op) => {
                let op = op.clone();
                self.touch_heap(&op, event.thread);
                self.threads[usize::from(event.thread)].at += 1;
                return;
            }
            _ => {}
        }
        if operation::next_part(&event.op, MutexKind::Normal).is_none() {
            thread.at += 1;
        }
    }

    /// After the first part of a wait or barrier the thread stands before the next.
    fn next_part(&mut self, event: &Event) -> bool {
        let thread = &self.threads[usize::from(event.thread)];
        let kind = match self.code[thread.body].get(thread.at) {
            Some(Instr::Op(AbstractOp::Wait(_, _, place, _), _)) => self.program.mutexes[place.id].kind,
            _ => MutexKind::Normal,
        };
        let Some(op) = operation::next_part(&event.op, kind) else { return false };
        let next = Event { op, accesses: 0, ..*event };
        self.threads[usize::from(event.thread)].pending = next;
        true
    }

    /// Runs the instructions that other threads cannot see, up to the thread's next transition.
    fn arrive(&mut self, number: u16, out: &mut Execution) {
        for _ in 0..MAX_SILENT {
            let thread = &mut self.threads[usize::from(number)];
            let instr = &self.code[thread.body][thread.at];
            match instr {
                Instr::Jump(target) => thread.at = *target,
                Instr::Enter(argument) => {
                    let mut inner = [0; REGISTERS];
                    inner[0] = eval(argument, &thread.regs);
                    thread.frames.push(std::mem::replace(&mut thread.regs, inner));
                    thread.at += 1;
                }
                Instr::Leave => {
                    thread.regs = thread.frames.pop().unwrap_or(thread.regs);
                    thread.at += 1;
                }
                Instr::Unless(condition, target) => {
                    thread.at = if eval(condition, &thread.regs) == 0 { *target } else { thread.at + 1 };
                }
                Instr::Op(op, pc) if self.is_silent(op, number) => {
                    let (op, pc) = (op.clone(), *pc);
                    if !self.silent(&op, pc, number, out) {
                        return;
                    }
                    self.threads[usize::from(number)].at += 1;
                }
                _ => {
                    let operation = self.operation(instr, number);
                    self.threads[usize::from(number)].pending = operation;
                    self.note_await(number);
                    return;
                }
            }
        }
        out.status = RunStatus::Cut;
    }

    fn note_await(&mut self, number: u16) {
        let thread = &self.threads[usize::from(number)];
        if !matches!(&self.code[thread.body][thread.at], Instr::Op(AbstractOp::Await(..), _)) {
            return;
        }
        let failing = (!self.leaves_loop(thread)).then(|| bits(self.memory[self.cell_at(thread.pending.op.object())]));
        let thread = &mut self.threads[usize::from(number)];
        thread.awaiting = Some(failing);
        if self.keys {
            return;
        }
        if let Operation::Atomic(AtomicOp { action: AtomicAction::Load { awaited, .. }, .. }) = &mut thread.pending.op {
            *awaited = failing;
        }
    }

    fn is_silent(&self, op: &AbstractOp, number: u16) -> bool {
        match op {
            AbstractOp::Set(..) | AbstractOp::Assert(_) | AbstractOp::Assume(_) => true,
            AbstractOp::Read(..) | AbstractOp::Write(..) | AbstractOp::Fetch(..) | AbstractOp::Share(..) => {
                self.granularity == Granularity::Sync
            }
            AbstractOp::Allocate { .. } | AbstractOp::Forget(_) => true,
            AbstractOp::ReadBlock(_, pointer) | AbstractOp::WriteBlock(pointer, _) => {
                self.granularity == Granularity::Sync || self.pointer(*pointer, number) == 0
            }
            AbstractOp::Free(pointer) => {
                self.granularity == Granularity::Sync || !self.heap.is_live(self.pointer(*pointer, number))
            }
            AbstractOp::Join(slot) => self.handle(*slot, number).is_none(),
            _ => false,
        }
    }

    fn handle(&self, slot: u8, number: u16) -> Option<u16> {
        self.threads[usize::from(number)].handles.get(usize::from(slot)).copied().flatten()
    }

    /// Does what is no transition; false if the thread stops here.
    fn silent(&mut self, op: &AbstractOp, pc: u64, number: u16, out: &mut Execution) -> bool {
        let thread = &mut self.threads[usize::from(number)];
        let after = out.events.len() as u32;
        match op {
            AbstractOp::Set(reg, value) => thread.regs[usize::from(*reg) % REGISTERS] = eval(value, &thread.regs),
            AbstractOp::Assert(condition) if eval(condition, &thread.regs) == 0 => {
                thread.state = PendingState::Failed;
                let kind = IncidentKind::Failure(Failure::Assertion);
                let text = format!("{condition:?}");
                let count = thread.accesses;
                out.incidents.push(Incident { thread: number, after, count, pc, obj: 0, arg: 0, kind, text });
                return false;
            }
            AbstractOp::Assume(condition) if eval(condition, &thread.regs) == 0 => {
                out.status = RunStatus::Assumed;
                return false;
            }
            AbstractOp::Read(_, place) | AbstractOp::Write(place, _) => {
                let cell = self.layout.cell(place.id, eval(&place.index, &thread.regs));
                let kind = match op {
                    AbstractOp::Write(_, value) => {
                        self.memory[cell] = eval(value, &thread.regs);
                        AccessKind::Write
                    }
                    _ => AccessKind::Read,
                };
                if let AbstractOp::Read(reg, _) = op {
                    thread.regs[usize::from(*reg) % REGISTERS] = self.memory[cell];
                }
                let addr = self.layout.address(cell);
                let (size, count) = (u64::from(WORD), thread.accesses);
                out.accesses.push(Access { thread: number, kind, volatile: false, addr, size, pc, after, count });
                thread.accesses += 1;
            }
            op if operation::is_of_heap(op) => self.silent_in_heap(op, pc, number, out),
            _ => {}
        }
        true
    }

    fn pointer(&self, pointer: Pointer, number: u16) -> Handle {
        self.threads[usize::from(number)].pointers[pointer_of(pointer)]
    }

    /// Does something with a heap block or a shared pointer, and says what is accessed: nothing if
    /// the block is freed already.
    fn touch_heap(&mut self, op: &AbstractOp, number: u16) -> Option<(AccessKind, u64, u64)> {
        let thread = &mut self.threads[usize::from(number)];
        let word = u64::from(WORD);
        Some(match op {
            AbstractOp::Allocate { into, large } => {
                let (block, size) = self.heap.allocate(thread.arena, *large);
                thread.pointers[pointer_of(*into)] = block;
                (AccessKind::Alloc, Heap::address(block), size)
            }
            AbstractOp::Free(pointer) => {
                let block = thread.pointers[pointer_of(*pointer)];
                let Freed::Block(size) = self.heap.free(block, thread.arena, &mut thread.foreign) else { return None };
                (AccessKind::Free, Heap::address(block), size)
            }
            AbstractOp::ReadBlock(into, pointer) => {
                let block = thread.pointers[pointer_of(*pointer)];
                thread.regs[usize::from(*into) % REGISTERS] = self.heap.value(block);
                (AccessKind::Read, Heap::address(block), word)
            }
            AbstractOp::WriteBlock(pointer, value) => {
                let block = thread.pointers[pointer_of(*pointer)];
                self.heap.write(block, eval(value, &thread.regs));
                (AccessKind::Write, Heap::address(block), word)
            }
            AbstractOp::Fetch(into, link) => {
                let cell = self.layout.link(*link);
                thread.pointers[pointer_of(*into)] = self.memory[cell];
                (AccessKind::Read, self.layout.address(cell), operation::POINTER)
            }
            AbstractOp::Share(link, pointer) => {
                let cell = self.layout.link(*link);
                self.memory[cell] = pointer.map_or(0, |pointer| thread.pointers[pointer_of(pointer)]);
                (AccessKind::Write, self.layout.address(cell), operation::POINTER)
            }
            AbstractOp::Forget(pointer) => {
                thread.pointers[pointer_of(*pointer)] = 0;
                return None;
            }
            _ => return None,
        })
    }

    /// The same between two transitions.
    fn silent_in_heap(&mut self, op: &AbstractOp, pc: u64, number: u16, out: &mut Execution) {
        let named = match op {
            AbstractOp::Free(pointer) | AbstractOp::ReadBlock(_, pointer) | AbstractOp::WriteBlock(pointer, _) => {
                Some(self.pointer(*pointer, number))
            }
            _ => None,
        };
        if let (AbstractOp::ReadBlock(into, _), Some(0)) = (op, named) {
            self.threads[usize::from(number)].regs[usize::from(*into) % REGISTERS] = 0;
        }
        if named == Some(0) {
            return;
        }
        let accessed = self.touch_heap(op, number);
        let thread = &mut self.threads[usize::from(number)];
        let (after, count) = (out.events.len() as u32, thread.accesses);
        if let Some((kind, addr, size)) = accessed {
            out.accesses.push(Access { thread: number, kind, volatile: false, addr, size, pc, after, count });
            thread.accesses += 1;
        } else if let (AbstractOp::Free(_), Some(block)) = (op, named) {
            let (kind, obj) = (IncidentKind::Misuse(Misuse::BadFree), Heap::address(block));
            let is_access = self.granularity == Granularity::Sync;
            let arg = if is_access { FREED_AGAIN } else { FREED_BEFORE };
            out.incidents.push(Incident { thread: number, after, count, pc, obj, arg, kind, text: String::new() });
            if is_access {
                let (kind, addr, size) = (AccessKind::Free, obj, self.heap.size(block));
                out.accesses.push(Access { thread: number, kind, volatile: false, addr, size, pc, after, count });
                thread.accesses += 1;
            }
        }
    }

    /// What one thread has freed happens before what the other does next.
    fn inherit(&mut self, from: u16, heir: u16) {
        let freed = std::mem::take(&mut self.threads[usize::from(from)].foreign);
        let heir = &mut self.threads[usize::from(heir)];
        self.heap.inherit(freed, heir.arena, &mut heir.foreign);
    }

    /// The transition that an instruction is.
    fn operation(&self, instr: &Instr, number: u16) -> Event {
        let lowering = Lowering {
            thread: number,
            regs: &self.threads[usize::from(number)].regs,
            pointers: &self.threads[usize::from(number)].pointers,
            onto: self.threads[usize::from(number)].onto,
            heap: &self.heap,
            layout: &self.layout,
            program: &self.program,
            outside: self.program.sections && !self.threads[usize::from(number)].in_section,
        };
        let exposed = self.program.has_handlers();
        let at = |pc, op| Event { pc, exposed, ..Event::new(number, op) };
        let once = |once, action| Operation::Once(OnceOp { control: self.layout.once(once), guard: false, action });
        match instr {
            Instr::OnceBegin { once: control, pc, .. } => at(*pc, once(*control, OnceAction::Begin { already: false })),
            Instr::OnceEnd { once: control, pc } => at(*pc, once(*control, OnceAction::End)),
            Instr::SemInit { sem, value, pc } => {
                let action = SemaphoreAction::Init { count: u64::from(*value), named: false };
                at(*pc, operation::semaphore(self.layout.sem(*sem), action))
            }
            Instr::BarrierInit { barrier, count, pc } => {
                let (barrier, action) = (self.layout.barrier(*barrier), BarrierAction::Init { size: *count });
                at(*pc, Operation::Barrier(BarrierOp { barrier, action }))
            }
            Instr::Op(op, pc) => {
                let handle = |slot| self.handle(slot, number).unwrap_or(0);
                Event { pc: *pc, ..lowering.lower(op, handle) }
            }
            // A return from main has no caller.
            Instr::End { .. } if number == 0 => at(0, Operation::Exit(ExitOp { status: 0 })),
            Instr::End { pc } => at(*pc, Operation::Thread(ThreadOp::End)),
            Instr::Jump(_) | Instr::Unless(..) | Instr::Enter(_) | Instr::Leave | Instr::Call(..) => {
                at(0, operation::silent())
            }
        }
    }

    /// How the thread stands at the end of the run.
    fn pending(&self, number: usize) -> Pending {
        let thread = &self.threads[number];
        let event = Event { accesses: thread.accesses, held: self.held_read(number as u16), ..thread.pending };
        let mut found = 0;
        let possible = self.enabled(number as u16).possible();
        let state = match thread.state {
            PendingState::Enabled if possible => PendingState::Enabled,
            PendingState::Enabled if thread.awaiting.is_some() => {
                found = bits(self.memory[self.cell_at(event.op.object())]);
                PendingState::Awaiting
            }
            PendingState::Enabled => PendingState::Blocked,
            other => other,
        };
        Pending { event, state, found }
    }
}

/// Whether a thread leaves a barrier as the serial one.
fn is_serial(op: &Operation) -> bool {
    matches!(op, Operation::Barrier(BarrierOp { action: BarrierAction::Leave { serial: true, .. }, .. }))
}

/// Where a thread keeps a pointer.
pub(super) fn pointer_of(pointer: Pointer) -> usize {
    usize::from(pointer) % POINTERS
}

/// A value as it stands in an event.
pub(super) fn bits(value: i32) -> u64 {
    u64::from(value as u32)
}
