//! Random programs that mostly keep a locking discipline: each variable has a lock, and some
//! accesses are made without it.
//!
//! This is what pruning lives from. [`Class`] says what else may occur.

use raddle_model::object::Patience;
use raddle_vocab::MutexKind;
use raddle_vocab::policy::mix;

use super::generate::Rng;
use super::program::build::{add, less, num, reg};
use super::program::{AbstractOp, AbstractPlace, AbstractProgram, Expr, MutexDecl, Reg, Stmt, VarDecl};

/// What may occur beside reads, writes, critical sections and branches on what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing.
    Plain,
    /// Critical sections inside others, in any order.
    Nested,
    /// Early returns.
    Returns,
    /// Elements of arrays chosen by what was read.
    Indices,
    /// Mutexes chosen by what was read.
    LockPointers,
    /// Flags, each with a mutex, that decide over rare accesses without any: races that are hard to
    /// reach.
    Flags,
    /// Loops and calls.
    Calls,
    /// Reader-writer locks.
    Rwlocks,
    /// Attempts to lock, and locking for some time.
    Tries,
    /// Condition variables.
    Conds,
    /// Semaphores, barriers, atomics.
    Others,
    /// All of it.
    Mixed,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 12] = [
        Class::Plain,
        Class::Nested,
        Class::Returns,
        Class::Indices,
        Class::LockPointers,
        Class::Flags,
        Class::Calls,
        Class::Rwlocks,
        Class::Tries,
        Class::Conds,
        Class::Others,
        Class::Mixed,
    ];

    fn has(self, other: Class) -> bool {
        self == other || self == Class::Mixed && other != Class::Flags
    }
}

/// The program with this number. With `forks`, main works too, and threads are created and joined
/// in branches and by each other; otherwise main only creates and joins them.
#[must_use]
pub fn generate(seed: u64, class: Class, forks: bool) -> AbstractProgram {
    let mut rng = Rng::new(mix(seed) ^ mix(0x9a7d_0000 + class as u64 * 2 + u64::from(forks)));
    let flags = class == Class::Flags;
    let locks = if flags { 2 + rng.below(2) } else { 1 + rng.below(2) };
    let vars = if flags { locks + 1 } else { 2 + rng.below(2) };
    let threads = if forks { 1 + rng.below(3).min(1) } else { 2 + usize::from(rng.below(3) == 0) };
    let naked = rng.pick(&[30, 12, 5]);
    let discipline = rng.pick(&[0, 80, 95, 100]);
    let mut writer =
        Writer { rng, class, vars, locks, naked, discipline, room: 0, functions: Vec::new(), barrier: false };
    writer.barrier = class.has(Class::Others) && !forks && writer.rng.below(3) == 0;
    writer.program(threads, forks)
}

struct Writer {
    rng: Rng,
    class: Class,
    vars: usize,
    locks: usize,
    /// How often, in a hundred, an access stands outside of critical sections.
    naked: usize,
    /// How often a critical section accesses variables of its own lock.
    discipline: usize,
    room: usize,
    functions: Vec<Vec<Stmt>>,
    barrier: bool,
}

/// Counts rounds of loops.
const COUNTER: Reg = 8;

impl Writer {
    fn program(&mut self, threads: usize, forks: bool) -> AbstractProgram {
        let indexed = self.class.has(Class::Indices);
        let pointers = self.class.has(Class::LockPointers);
        if self.class.has(Class::Calls) {
            self.room = 4;
            let body = self.statement(1);
            self.functions.push(body);
        }
        let length = match (forks, threads) {
            (true, _) => 4,
            (false, 2) => 7,
            _ => 4,
        } - 2 * usize::from(self.class == Class::Flags);
        let mut bodies: Vec<Vec<Stmt>> = (0..threads).map(|_| self.body(length)).collect();
        if self.barrier {
            for body in &mut bodies {
                body.insert(0, AbstractOp::Barrier(3, 0).into());
            }
        }
        let main = if forks { self.main(&mut bodies) } else { plain_main(threads) };
        AbstractProgram {
            // The last variable is an array whose elements stand for the others' neighbours.
            vars: (0..self.vars)
                .map(|var| VarDecl { len: if indexed && var + 1 == self.vars { 3 } else { 1 }, init: 0 })
                .chain([VarDecl { len: 1, init: 0 }])
                .collect(),
            mutexes: if pointers {
                vec![MutexDecl { len: self.locks, kind: MutexKind::Normal }]
            } else {
                vec![MutexDecl { len: 1, kind: MutexKind::Normal }; self.locks]
            },
            rwlocks: 1,
            writers_first: false,
            conds: 1,
            sems: vec![1],
            barriers: if self.barrier { vec![threads as u32] } else { Vec::new() },
            onces: 0,
            links: 0,
            bodies: std::iter::once(main).chain(bodies).collect(),
            functions: std::mem::take(&mut self.functions),
            sections: false,
        }
    }

    fn main(&mut self, bodies: &mut [Vec<Stmt>]) -> Vec<Stmt> {
        let create = |thread: usize| AbstractOp::Create { slot: thread as u8, body: thread, arg: num(0) }.into();
        let nested = bodies.len() == 2 && self.rng.below(4) == 0;
        let mut main = if self.rng.below(2) == 0 { self.statement(0) } else { Vec::new() };
        let mut sure = Vec::new();
        for thread in 1..=bodies.len() - usize::from(nested) {
            let wrapped = self.wrap(vec![create(thread)]);
            if wrapped.len() == 1 && matches!(wrapped[0], Stmt::Op(_)) {
                sure.push(thread);
            }
            main.extend(wrapped);
            if self.rng.below(5) < 2 {
                main.extend(self.statement(1));
            }
        }
        if nested {
            let mut first = self.statement(1);
            first.extend(self.wrap(vec![create(2)]));
            first.append(&mut bodies[0]);
            if self.rng.below(5) < 3 {
                first.push(AbstractOp::Join(2).into());
            }
            bodies[0] = first;
        }
        for thread in 1..=bodies.len() {
            if self.rng.below(5) < 4 && (sure.contains(&thread) || self.rng.below(2) == 0) {
                let join = vec![AbstractOp::Join(thread as u8).into()];
                main.extend(if self.rng.below(6) == 0 { self.wrap(join) } else { join });
            }
            if self.rng.below(2) == 0 {
                main.push(self.access(None).into());
            }
        }
        main
    }

    fn wrap(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        if self.rng.below(3) > 0 {
            return block;
        }
        let condition = reg(self.scratch());
        let (then, otherwise) = if self.rng.below(2) == 0 { (block, Vec::new()) } else { (Vec::new(), block) };
        vec![Stmt::If(condition, then, otherwise)]
    }

    fn body(&mut self, length: usize) -> Vec<Stmt> {
        self.room = length;
        let mut body = Vec::new();
        for _ in 0..20 {
            if self.room == 0 {
                break;
            }
            body.extend(self.statement(0));
        }
        body
    }

    fn scratch(&mut self) -> Reg {
        1 + self.rng.below(2) as Reg
    }

    fn some(&mut self, depth: usize, counts: &[usize]) -> Vec<Stmt> {
        let count = self.rng.pick(counts);
        (0..count).flat_map(|_| self.statement(depth + 1)).collect()
    }

    /// An access, inside the critical section of a lock.
    fn access(&mut self, lock: Option<usize>) -> AbstractOp {
        self.room = self.room.saturating_sub(1);
        let mut var = self.rng.below(self.vars);
        if let Some(lock) = lock
            && self.rng.below(100) < self.discipline
        {
            let own: Vec<usize> = (0..self.vars).filter(|var| var % self.locks == lock).collect();
            var = self.rng.pick(&own);
        }
        let index = match self.class.has(Class::Indices) && self.rng.below(3) == 0 {
            true => reg(self.scratch()),
            false => num(self.rng.below(3) as i32),
        };
        let place = AbstractPlace { id: var, index };
        if self.rng.below(2) == 0 {
            AbstractOp::Read(self.scratch(), place)
        } else {
            AbstractOp::Write(place, num(self.rng.below(2) as i32))
        }
    }

    fn mutex(&self, lock: usize) -> AbstractPlace {
        if self.class.has(Class::LockPointers) {
            AbstractPlace { id: 0, index: num(lock as i32) }
        } else {
            AbstractPlace::of(lock)
        }
    }

    fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        if self.class == Class::Flags {
            return self.flag(depth);
        }
        match self.rng.below(100) {
            draw if draw < self.naked => vec![self.access(None).into()],
            draw if draw < 70 => self.section(),
            _ if depth < 2 => self.branch(depth),
            _ if self.rng.below(100) < 2 * self.naked => vec![self.access(None).into()],
            _ => {
                self.room = self.room.saturating_sub(1);
                Vec::new()
            }
        }
    }

    fn section(&mut self) -> Vec<Stmt> {
        let lock = self.rng.below(self.locks);
        let count = self.rng.pick(&[1, 1, 2]);
        let mut body: Vec<Stmt> = (0..count).map(|_| self.access(Some(lock)).into()).collect();
        if self.class.has(Class::Nested) && self.locks > 1 && self.rng.below(2) == 0 {
            body = enclose(self.mutex(1 - lock), body);
            if self.rng.below(3) == 0 {
                body.insert(0, self.access(Some(lock)).into());
            }
        }
        match self.rng.below(8) {
            0 | 1 if self.class.has(Class::Rwlocks) => self.rwlock(lock),
            2 | 3 if self.class.has(Class::Tries) => self.attempt(lock, body),
            4 | 5 if self.class.has(Class::Conds) => self.cond(lock, body),
            6 if self.class.has(Class::LockPointers) => {
                let index = reg(self.scratch());
                // The register may change inside, so that the wrong mutex would be released.
                body.retain(|stmt| !matches!(stmt, Stmt::Op(AbstractOp::Read(..))));
                enclose(AbstractPlace { id: 0, index }, body)
            }
            6 | 7 if self.class.has(Class::Others) => self.other(lock),
            7 if self.class.has(Class::Calls) && !self.functions.is_empty() => {
                vec![Stmt::Call(0, reg(self.scratch()))]
            }
            _ => enclose(self.mutex(lock), body),
        }
    }

    /// Readers only read, unless discipline is bad.
    fn rwlock(&mut self, lock: usize) -> Vec<Stmt> {
        let writes = self.rng.below(2) == 0;
        let mut access = self.access(Some(lock));
        if !writes && self.rng.below(100) < self.discipline {
            access = match access {
                AbstractOp::Write(place, _) => AbstractOp::Read(self.scratch(), place),
                other => other,
            };
        }
        let op = if writes {
            AbstractOp::WriteLock(3, 0, Patience::Block)
        } else {
            AbstractOp::ReadLock(3, 0, Patience::Block)
        };
        vec![op.into(), access.into(), AbstractOp::RwUnlock(0).into()]
    }

    fn attempt(&mut self, lock: usize, mut body: Vec<Stmt>) -> Vec<Stmt> {
        let (got, place) = (3, self.mutex(lock));
        let patience = self.rng.pick(&[Patience::Try, Patience::Try, Patience::Timed]);
        body.push(AbstractOp::Unlock(place.clone()).into());
        let otherwise = if self.rng.below(4) == 0 { vec![self.access(None).into()] } else { Vec::new() };
        vec![AbstractOp::LockIf(got, place, patience).into(), Stmt::If(reg(got), body, otherwise)]
    }

    fn cond(&mut self, lock: usize, mut body: Vec<Stmt>) -> Vec<Stmt> {
        if self.rng.below(2) == 0 {
            let patience = self.rng.pick(&[Patience::Block, Patience::Block, Patience::Timed]);
            let flag = self.scratch();
            let wait = AbstractOp::Wait(3, 0, self.mutex(lock), patience).into();
            let read = AbstractOp::Read(flag, AbstractPlace::of(lock.min(self.vars - 1))).into();
            body.splice(0..0, [read, Stmt::If(reg(flag), Vec::new(), vec![wait])]);
        } else {
            let notify = if self.rng.below(3) == 0 { AbstractOp::Broadcast(0) } else { AbstractOp::Signal(0) };
            body.push(AbstractOp::Write(AbstractPlace::of(lock.min(self.vars - 1)), num(1)).into());
            body.push(notify.into());
        }
        enclose(self.mutex(lock), body)
    }

    fn other(&mut self, lock: usize) -> Vec<Stmt> {
        let atomic = AbstractPlace::of(self.vars);
        match self.rng.below(4) {
            0 => vec![AbstractOp::Load(self.scratch(), atomic, raddle_vocab::MemOrder::SeqCst).into()],
            1 => vec![AbstractOp::Store(atomic, num(1), raddle_vocab::MemOrder::SeqCst).into()],
            _ => {
                let access = self.access(Some(lock)).into();
                vec![AbstractOp::SemWait(3, 0, Patience::Block).into(), access, AbstractOp::SemPost(0).into()]
            }
        }
    }

    fn branch(&mut self, depth: usize) -> Vec<Stmt> {
        if self.class.has(Class::Calls) && depth == 0 && self.rng.below(3) == 0 {
            let mut body = self.section();
            body.push(AbstractOp::Set(COUNTER, add(reg(COUNTER), num(1))).into());
            return vec![AbstractOp::Set(COUNTER, num(0)).into(), Stmt::While(less(reg(COUNTER), num(2)), body)];
        }
        let mut then = self.some(depth, &[1, 1, 2]);
        let mut otherwise = self.some(depth, &[0, 0, 1]);
        if self.class.has(Class::Returns) && self.rng.below(5) < 2 {
            if self.rng.below(2) == 0 {
                then.clear();
            }
            then.push(AbstractOp::Return.into());
        }
        if self.rng.below(2) == 0 {
            std::mem::swap(&mut then, &mut otherwise);
        }
        vec![Stmt::If(reg(self.scratch()), then, otherwise)]
    }

    fn flag(&mut self, depth: usize) -> Vec<Stmt> {
        self.room = self.room.saturating_sub(1);
        let (lock, draw) = (self.rng.below(self.locks), self.rng.below(100));
        if depth > 0 && draw < 35 {
            let place = AbstractPlace::of(self.locks);
            return vec![
                if self.rng.below(5) < 3 { AbstractOp::Write(place, num(1)) } else { AbstractOp::Read(2, place) }
                    .into(),
            ];
        }
        if draw < 50 {
            return enclose(AbstractPlace::of(lock), vec![AbstractOp::Write(AbstractPlace::of(lock), num(1)).into()]);
        }
        let mut out = enclose(AbstractPlace::of(lock), vec![AbstractOp::Read(1, AbstractPlace::of(lock)).into()]);
        if depth < 2 {
            let block = self.some(depth, &[1, 2]);
            let (then, otherwise) = if self.rng.below(2) == 0 { (block, Vec::new()) } else { (Vec::new(), block) };
            out.push(Stmt::If(Expr::Reg(1), then, otherwise));
        }
        out
    }
}

fn enclose(mutex: AbstractPlace, body: Vec<Stmt>) -> Vec<Stmt> {
    let unlock = AbstractOp::Unlock(mutex.clone()).into();
    std::iter::once(AbstractOp::Lock(mutex).into()).chain(body).chain([unlock]).collect()
}

fn plain_main(threads: usize) -> Vec<Stmt> {
    let create = (1..=threads).map(|thread| AbstractOp::Create { slot: thread as u8, body: thread, arg: num(0) });
    let join = (1..=threads).map(|thread| AbstractOp::Join(thread as u8));
    create.chain(join).map(Stmt::Op).collect()
}
