//! Random programs.
//!
//! A program is a function of a seed and the knobs, so that a failing case is named by two small
//! values. Critical sections are always closed again and waits always hold their mutex; everything
//! else may go wrong as the knobs allow.

use raddle_model::object::Patience;
use raddle_vocab::policy::mix;
use raddle_vocab::{MemOrder, MutexKind};

use super::program::build::{add, eq, less, num, reg};
use super::program::{AbstractOp, AbstractPlace, AbstractProgram, Expr, MutexDecl, Pointer, Reg, RmwOp, Stmt, VarDecl};

/// What may occur, and how much of it.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Threads beside main.
    pub threads: usize,
    /// Operations per thread, about.
    pub length: usize,
    /// Shared integers.
    pub vars: usize,
    /// Mutexes.
    pub mutexes: usize,
    /// Plain accesses outside critical sections. If not, each variable is accessed only under its
    /// own mutex, and only atomics are unprotected (they then have variables of their own), so that
    /// the program has no race.
    pub races: bool,
    /// Nested critical sections in any order; otherwise only in one.
    pub deadlocks: bool,
    /// Atomic operations and fences, of every order.
    pub atomics: bool,
    /// Try and timed locks.
    pub tries: bool,
    /// Rwlocks, semaphores, once controls, recursive mutexes.
    pub locks: bool,
    /// Condition variables.
    pub conds: bool,
    /// Barriers.
    pub barriers: bool,
    /// Busy waiting.
    pub awaits: bool,
    /// The value that threads wait for; if there is none, for any but 0.
    pub awaited: Option<i32>,
    /// Branches and loops on values read.
    pub branches: bool,
    /// Assertions.
    pub asserts: bool,
    /// Threads that create threads, main that works too, threads that are not joined.
    pub spawning: bool,
    /// Values that are left open.
    pub choices: bool,
    /// Atomic sections.
    pub sections: bool,
    /// Signal handlers that interrupt main, which works then.
    pub handlers: bool,
    /// Heap blocks that threads hand to one another, and use when they are freed. Without `races`
    /// each live one has one owner at a time.
    pub heap: bool,
}

impl Knobs {
    /// A few mutexes, variables and branches.
    #[must_use]
    pub fn plain(threads: usize, length: usize) -> Self {
        Knobs {
            threads,
            length,
            vars: 2,
            mutexes: 2,
            races: true,
            deadlocks: false,
            atomics: false,
            tries: false,
            locks: false,
            conds: false,
            barriers: false,
            awaits: false,
            awaited: None,
            branches: true,
            asserts: false,
            spawning: false,
            choices: false,
            sections: false,
            handlers: false,
            heap: false,
        }
    }

    /// Everything at once.
    #[must_use]
    pub fn everything(threads: usize, length: usize) -> Self {
        Knobs {
            deadlocks: true,
            atomics: true,
            tries: true,
            locks: true,
            conds: true,
            barriers: true,
            awaits: true,
            asserts: true,
            spawning: true,
            choices: true,
            sections: true,
            ..Knobs::plain(threads, length)
        }
    }

    /// Draws the switches and sizes themselves, so that a stream of seeds covers all combinations.
    #[must_use]
    pub fn drawn(seed: u64, threads: usize, length: usize) -> Self {
        let mut rng = Rng::new(mix(seed) ^ 0x6b6e_6f62);
        Knobs {
            threads: 2 + rng.below(threads.max(2) - 1),
            length: 1 + rng.below(length.max(1)),
            vars: 1 + rng.below(3),
            mutexes: 1 + rng.below(3),
            races: rng.below(2) == 0,
            deadlocks: rng.below(3) == 0,
            atomics: rng.below(2) == 0,
            tries: rng.below(3) == 0,
            locks: rng.below(3) == 0,
            conds: rng.below(3) == 0,
            barriers: rng.below(5) == 0,
            awaits: rng.below(5) == 0,
            awaited: None,
            branches: rng.below(3) > 0,
            asserts: rng.below(3) == 0,
            spawning: rng.below(3) == 0,
            choices: rng.below(4) == 0,
            sections: false,
            handlers: false,
            heap: false,
        }
    }
}

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        (mix(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % bound.max(1) as u64) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The program with this number.
#[must_use]
pub fn generate(seed: u64, knobs: &Knobs) -> AbstractProgram {
    let mut writer = Writer { rng: Rng::new(mix(seed)), knobs, held: Vec::new(), room: 0, in_barrier: false };
    writer.program()
}

/// Writes one program; the state is that of the body under way.
struct Writer<'a> {
    rng: Rng,
    knobs: &'a Knobs,
    /// Mutexes of the critical sections that are open here.
    held: Vec<usize>,
    /// Operations that the body may still get.
    room: usize,
    /// Whether the threads of this program meet at the barrier.
    in_barrier: bool,
}

/// Registers that statements use as they like; 0 is the argument, higher ones belong to loops.
const SCRATCH: usize = 4;
/// Counts rounds of loops.
const COUNTER: Reg = 8;
/// Pointers to heap blocks that a body uses.
const BLOCKS: usize = 2;
/// Shared pointers: one that is only swapped, and one that is accessed plainly, under the first
/// mutex.
const LINKS: usize = 2;
const SWAPPED: usize = 0;
const GUARDED: usize = 1;

impl Writer<'_> {
    fn program(&mut self) -> AbstractProgram {
        self.in_barrier = self.knobs.barriers && self.rng.below(4) > 0;
        let bodies: Vec<Vec<Stmt>> = (0..self.knobs.threads).map(|_| self.body(self.knobs.length)).collect();
        let kind = |rng: &mut Rng, knobs: &Knobs| match rng.below(6) {
            0 if knobs.locks => MutexKind::Recursive,
            1 if knobs.locks => MutexKind::ErrorCheck,
            _ => MutexKind::Normal,
        };
        let mutexes = (0..self.knobs.mutexes.max(self.knobs.vars))
            .map(|_| MutexDecl { len: 1, kind: kind(&mut self.rng, self.knobs) })
            .collect();
        let mut program = AbstractProgram {
            // Atomics have variables of their own behind the plain ones.
            vars: vec![VarDecl { len: 1, init: 0 }; 2 * self.knobs.vars],
            mutexes,
            rwlocks: usize::from(self.knobs.locks),
            writers_first: false,
            conds: usize::from(self.knobs.conds),
            sems: if self.knobs.locks { vec![self.rng.below(2) as u32] } else { Vec::new() },
            barriers: if self.in_barrier { vec![self.knobs.threads as u32] } else { Vec::new() },
            onces: usize::from(self.knobs.locks),
            links: if self.knobs.heap { LINKS } else { 0 },
            bodies: Vec::new(),
            functions: Vec::new(),
            sections: self.knobs.sections,
        };
        program.bodies.push(Vec::new());
        program.bodies.extend(bodies);
        program.bodies[0] = self.main(&mut program.bodies);
        if self.knobs.handlers {
            self.handlers(&mut program.bodies);
        }
        program.writers_first = self.knobs.locks && self.rng.below(2) == 0;
        program
    }

    /// Threads send one or two signals to main, which does some work meanwhile.
    fn handlers(&mut self, bodies: &mut Vec<Vec<Stmt>>) {
        self.in_barrier = false;
        let work = self.body(self.knobs.length);
        let before_joins = bodies[0].iter().position(|stmt| matches!(stmt, Stmt::Op(AbstractOp::Join(_))));
        let at = before_joins.unwrap_or(bodies[0].len());
        bodies[0].splice(at..at, work);
        let threads = self.knobs.threads;
        for _ in 0..=self.rng.below(2) {
            let mut handler = vec![AbstractOp::HandlerBegin.into()];
            handler.extend(self.body(self.knobs.length.min(2)));
            handler.push(AbstractOp::HandlerReturn.into());
            let (number, sender) = (bodies.len(), 1 + self.rng.below(threads));
            bodies.push(handler);
            let send = AbstractOp::Create { slot: 15, body: number, arg: num(number as i32) };
            let at = self.rng.below(bodies[sender].len() + 1);
            bodies[sender].insert(at, send.into());
        }
    }

    /// Main creates the threads and joins them; with `spawning` also by way of each other, late, or
    /// not at all.
    fn main(&mut self, bodies: &mut [Vec<Stmt>]) -> Vec<Stmt> {
        let mut main = Vec::new();
        let mut joins = Vec::new();
        for body in 1..bodies.len() {
            let create = Stmt::Op(AbstractOp::Create { slot: body as u8, body, arg: num(body as i32) });
            let join = Stmt::Op(AbstractOp::Join(body as u8));
            // Only by a thread with a lower number, so that creation ends.
            if self.knobs.spawning && body > 1 && self.rng.below(4) == 0 {
                let parent = 1 + self.rng.below(body - 1);
                let at = self.rng.below(bodies[parent].len() + 1);
                bodies[parent].insert(at, create);
                if self.rng.below(2) == 0 {
                    bodies[parent].push(join);
                }
                continue;
            }
            main.push(create);
            if !self.knobs.spawning || self.rng.below(4) > 0 {
                joins.push(join);
            }
        }
        if self.knobs.spawning && self.rng.below(3) == 0 {
            self.in_barrier = false;
            main.extend(self.body(self.knobs.length / 2));
        }
        main.extend(joins);
        if self.knobs.asserts && self.rng.below(2) == 0 {
            self.access(&mut main);
            main.push(AbstractOp::Assert(self.condition()).into());
        }
        main
    }

    fn body(&mut self, length: usize) -> Vec<Stmt> {
        self.room = length.max(1);
        let mut body = Vec::new();
        while self.room > 0 {
            self.statement(&mut body, 0);
        }
        if self.in_barrier {
            let places = if self.knobs.deadlocks { (0..=body.len()).collect() } else { outside_sections(&body) };
            body.insert(self.rng.pick(&places), AbstractOp::Barrier(1, 0).into());
        }
        body
    }

    fn block(&mut self, depth: usize) -> Vec<Stmt> {
        let mut block = Vec::new();
        for _ in 0..=self.rng.below(2) {
            self.statement(&mut block, depth + 1);
        }
        block
    }

    /// Appends one statement, or none if what was drawn is not allowed here.
    fn statement(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        self.room = self.room.saturating_sub(1);
        let knobs = self.knobs;
        match self.rng.below(16) {
            1 | 2 | 5 | 6 | 8 | 9 | 11 | 12 | 15 if knobs.heap && depth == 0 => self.heap(out),
            3 if knobs.choices => {
                let op = AbstractOp::Choose(self.scratch(), 2 + self.rng.below(2) as u16);
                out.push(op.into());
            }
            2 if knobs.sections && depth == 0 => {
                out.push(AbstractOp::SectionBegin.into());
                for _ in 0..=self.rng.below(2) {
                    self.access(out);
                }
                out.push(AbstractOp::SectionEnd.into());
            }
            0..=3 => self.access(out),
            4..=6 if depth < 3 => self.section(out, depth),
            7..=9 if knobs.atomics => {
                let op = self.atomic();
                out.push(op.into());
            }
            10 if knobs.branches && depth < 2 => {
                let condition = self.condition();
                let then = self.block(depth);
                let otherwise = if self.rng.below(2) == 0 { self.block(depth) } else { Vec::new() };
                out.push(Stmt::If(condition, then, otherwise));
            }
            11 if knobs.branches && depth == 0 && self.rng.below(2) == 0 => self.repeat(out, depth),
            12 if knobs.locks && depth < 2 => self.other_lock(out, depth),
            13 if knobs.conds && depth < 2 => self.condition_variable(out),
            14 if knobs.asserts => {
                let condition = self.condition();
                out.push(AbstractOp::Assert(condition).into());
            }
            15 if knobs.awaits && knobs.atomics && self.held.is_empty() => {
                let (into, var) = (self.scratch(), self.atomic_var());
                let order = self.rng.pick(&[MemOrder::Acquire, MemOrder::SeqCst, MemOrder::Relaxed]);
                // More than one value does not end some loops.
                let ends = match self.knobs.awaited {
                    Some(value) => eq(reg(into), num(value)),
                    None => Expr::Not(Box::new(eq(reg(into), num(0)))),
                };
                out.push(AbstractOp::Await(into, AbstractPlace::of(var), ends, order).into());
            }
            _ => self.access(out),
        }
    }

    fn scratch(&mut self) -> Reg {
        1 + self.rng.below(SCRATCH) as Reg
    }

    fn value(&mut self) -> Expr {
        match self.rng.below(4) {
            0 => add(reg(self.scratch()), num(1)),
            1 => reg(self.scratch()),
            _ => num(1 + self.rng.below(2) as i32),
        }
    }

    fn condition(&mut self) -> Expr {
        let operand = reg(self.scratch());
        match self.rng.below(3) {
            0 => eq(operand, num(self.rng.below(3) as i32)),
            1 => less(operand, num(1 + self.rng.below(2) as i32)),
            _ => operand,
        }
    }

    /// A plain access: under its own mutex if there shall be no races.
    fn access(&mut self, out: &mut Vec<Stmt>) {
        let var = self.rng.below(self.knobs.vars);
        let protect = !self.knobs.races && !self.held.contains(&var);
        if protect && !self.knobs.deadlocks && self.held.iter().any(|&held| held > var) {
            return;
        }
        let op = if self.rng.below(2) == 0 {
            AbstractOp::Read(self.scratch(), AbstractPlace::of(var))
        } else {
            AbstractOp::Write(AbstractPlace::of(var), self.value())
        };
        if protect {
            out.extend([
                AbstractOp::Lock(AbstractPlace::of(var)).into(),
                op.into(),
                AbstractOp::Unlock(AbstractPlace::of(var)).into(),
            ]);
        } else {
            out.push(op.into());
        }
    }

    /// A critical section around a block.
    fn section(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let mutex = self.rng.below(self.knobs.mutexes);
        let out_of_order = self.held.iter().any(|&held| held > mutex);
        if self.held.contains(&mutex) || (out_of_order && !self.knobs.deadlocks) {
            return;
        }
        let attempt = self.knobs.tries && self.rng.below(2) == 0;
        self.held.push(mutex);
        let mut inner = self.block(depth);
        self.held.pop();
        inner.push(AbstractOp::Unlock(AbstractPlace::of(mutex)).into());
        if attempt {
            let got = self.scratch();
            let patience = self.rng.pick(&[Patience::Try, Patience::Timed]);
            out.push(AbstractOp::LockIf(got, AbstractPlace::of(mutex), patience).into());
            out.push(Stmt::If(reg(got), inner, Vec::new()));
        } else {
            out.push(AbstractOp::Lock(AbstractPlace::of(mutex)).into());
            out.extend(inner);
        }
    }

    fn atomic_var(&mut self) -> usize {
        // Sometimes a variable that is accessed plainly too.
        let own = self.knobs.vars + self.rng.below(self.knobs.vars);
        if self.knobs.races && self.rng.below(6) == 0 { own - self.knobs.vars } else { own }
    }

    fn atomic(&mut self) -> AbstractOp {
        let place = AbstractPlace::of(self.atomic_var());
        let into = self.scratch();
        let reads = [MemOrder::Relaxed, MemOrder::Acquire, MemOrder::SeqCst];
        let writes = [MemOrder::Relaxed, MemOrder::Release, MemOrder::SeqCst];
        let both = [MemOrder::Relaxed, MemOrder::Acquire, MemOrder::Release, MemOrder::AcqRel, MemOrder::SeqCst];
        match self.rng.below(9) {
            0..=2 => AbstractOp::Load(into, place, self.rng.pick(&reads)),
            3 | 4 => AbstractOp::Store(place, self.value(), self.rng.pick(&writes)),
            5 => AbstractOp::Rmw(
                into,
                place,
                self.rng.pick(&[RmwOp::Add, RmwOp::Exchange, RmwOp::Or]),
                self.value(),
                self.rng.pick(&both),
            ),
            6 | 7 => {
                let (expected, desired) = (num(self.rng.below(2) as i32), self.value());
                AbstractOp::Cas { got: into, place, expected, desired, order: MemOrder::SeqCst }
            }
            _ => AbstractOp::Fence(self.rng.pick(&both[1..])),
        }
    }

    /// Two rounds of a block.
    fn repeat(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let mut body = self.block(depth + 1);
        body.push(AbstractOp::Set(COUNTER, add(reg(COUNTER), num(1))).into());
        out.push(AbstractOp::Set(COUNTER, num(0)).into());
        out.push(Stmt::While(less(reg(COUNTER), num(2)), body));
    }

    fn other_lock(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let got = self.scratch();
        let patience = if self.knobs.tries {
            self.rng.pick(&[Patience::Block, Patience::Try, Patience::Timed])
        } else {
            Patience::Block
        };
        match self.rng.below(5) {
            choice @ (0 | 1) => {
                let op = if choice == 0 {
                    AbstractOp::ReadLock(got, 0, patience)
                } else {
                    AbstractOp::WriteLock(got, 0, patience)
                };
                out.push(op.into());
                let mut inner = self.block(2.max(depth));
                inner.push(AbstractOp::RwUnlock(0).into());
                match patience {
                    Patience::Block => out.extend(inner),
                    _ => out.push(Stmt::If(reg(got), inner, Vec::new())),
                }
            }
            2 => out.push(AbstractOp::SemPost(0).into()),
            3 => out.push(AbstractOp::SemWait(got, 0, patience).into()),
            _ => {
                let place = AbstractPlace::of(
                    self.rng.below(self.knobs.vars) + if self.knobs.races { 0 } else { self.knobs.vars },
                );
                let value = num(1 + self.rng.below(2) as i32);
                let write = if self.knobs.races {
                    AbstractOp::Write(place, value)
                } else {
                    AbstractOp::Store(place, value, MemOrder::Relaxed)
                };
                out.push(Stmt::Once(0, vec![write.into()]));
            }
        }
    }

    /// Steps in the lives of heap blocks.
    fn heap(&mut self, out: &mut Vec<Stmt>) {
        for _ in 0..2 + self.rng.below(3) {
            self.heap_step(out);
        }
    }

    fn heap_step(&mut self, out: &mut Vec<Stmt>) {
        let own = self.rng.below(BLOCKS) as Pointer;
        match self.rng.below(12) {
            0..=2 => {
                let (value, large) = (self.value(), self.rng.below(3) > 0);
                out.push(AbstractOp::Allocate { into: own, large }.into());
                out.push(AbstractOp::WriteBlock(own, value).into());
            }
            3 | 4 => {
                let orders = [MemOrder::AcqRel, MemOrder::SeqCst, MemOrder::Relaxed, MemOrder::Release];
                let order = self.rng.pick(&orders[..if self.knobs.races { 4 } else { 2 }]);
                out.push(AbstractOp::Swap(own, SWAPPED, order).into());
            }
            5 | 6 => self.hand_over(own, out),
            7 => out.push(AbstractOp::WriteBlock(own, self.value()).into()),
            8 | 9 => {
                out.push(AbstractOp::Free(own).into());
                if self.rng.below(3) > 0 {
                    out.push(AbstractOp::Forget(own).into());
                }
            }
            _ => out.push(AbstractOp::ReadBlock(self.scratch(), own).into()),
        }
    }

    /// Gives a block away by a shared pointer, or takes one. With races the giver or the former
    /// owner may keep it, and there may be no mutex.
    fn hand_over(&mut self, own: Pointer, out: &mut Vec<Stmt>) {
        let careless = self.knobs.races && self.rng.below(2) == 0;
        let is_held = self.held.contains(&0);
        let locks = !(is_held || careless && self.rng.below(2) == 0);
        if locks && !self.held.is_empty() && !self.knobs.deadlocks {
            return;
        }
        let mut inside: Vec<Stmt> = Vec::new();
        let gives = self.rng.below(2) == 0;
        if gives {
            inside.push(AbstractOp::Share(GUARDED, Some(own)).into());
        } else {
            inside.push(AbstractOp::Fetch(own, GUARDED).into());
            if !careless {
                inside.push(AbstractOp::Share(GUARDED, None).into());
            }
        }
        let mutex = || AbstractPlace::of(0);
        if locks {
            out.push(AbstractOp::Lock(mutex()).into());
            out.append(&mut inside);
            out.push(AbstractOp::Unlock(mutex()).into());
        } else {
            out.append(&mut inside);
        }
        if gives && !careless {
            out.push(AbstractOp::Forget(own).into());
        }
    }

    /// A wait (guarded by a test or not), or a notification, each in a critical section of its own.
    fn condition_variable(&mut self, out: &mut Vec<Stmt>) {
        let mutex = self.rng.below(self.knobs.mutexes.min(self.knobs.vars));
        if !self.held.is_empty() {
            return;
        }
        let place = AbstractPlace::of(mutex);
        let patience = if self.knobs.tries && self.rng.below(2) == 0 { Patience::Timed } else { Patience::Block };
        let (flag, got) = (self.scratch(), self.scratch());
        out.push(AbstractOp::Lock(place.clone()).into());
        if self.rng.below(2) == 0 {
            let wait: Stmt = AbstractOp::Wait(got, 0, place.clone(), patience).into();
            out.push(AbstractOp::Read(flag, AbstractPlace::of(mutex)).into());
            out.push(Stmt::If(eq(reg(flag), num(0)), vec![wait], Vec::new()));
        } else {
            out.push(AbstractOp::Write(AbstractPlace::of(mutex), num(1)).into());
            out.push(if self.rng.below(3) == 0 { AbstractOp::Broadcast(0) } else { AbstractOp::Signal(0) }.into());
        }
        out.push(AbstractOp::Unlock(place).into());
    }
}

/// Positions of a body at which no critical section is open.
fn outside_sections(body: &[Stmt]) -> Vec<usize> {
    let mut open = 0i32;
    let mut places = vec![0];
    for (at, stmt) in body.iter().enumerate() {
        match stmt {
            Stmt::Op(
                AbstractOp::Lock(_)
                | AbstractOp::ReadLock(_, _, Patience::Block)
                | AbstractOp::WriteLock(_, _, Patience::Block),
            ) => open += 1,
            Stmt::Op(AbstractOp::Unlock(_) | AbstractOp::RwUnlock(_)) => open -= 1,
            _ => {}
        }
        if open == 0 {
            places.push(at + 1);
        }
    }
    places
}
