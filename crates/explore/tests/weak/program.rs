//! Small programs with atomic operations of all orders, and what their threads do as a function of what
//! they read.

use raddle_vocab::MemOrder;
use raddle_vocab::policy::mix;

/// A value of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Val {
    /// Itself.
    Const(u64),
    /// What a register holds, and so much more.
    Reg(usize, u64),
}

/// An instruction. Locations, mutexes and registers are numbers.
#[derive(Clone, Copy, Debug)]
pub enum Ins {
    Write(usize, Val, MemOrder),
    Read(usize, usize, MemOrder),
    Add(usize, usize, u64, MemOrder),
    Swap(usize, usize, Val, MemOrder),
    /// Register, location, expected, new, orders of success and failure.
    Cas(usize, usize, Val, Val, MemOrder, MemOrder),
    Fence(MemOrder),
    /// Skips so many instructions unless the register holds the value.
    If(usize, u64, usize),
    Lock(usize),
    Unlock(usize),
    /// Register, mutex: skips what follows up to the unlock if the mutex is held.
    TryLock(usize, usize),
    /// Takes one from a semaphore.
    Take(usize),
    /// Adds one to a semaphore.
    Post(usize),
    /// Reads a location into a register until it holds the value.
    Await(usize, usize, u64, MemOrder),
    /// Adds nothing to a location until it holds the value.
    AwaitUpdate(usize, usize, u64, MemOrder),
}

pub type Program = Vec<Vec<Ins>>;

/// Where mutexes begin among the locations.
pub const MUTEXES: usize = 10;
/// Where semaphores begin.
pub const SEMAPHORES: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
    Fence,
}

/// An event. An operation that reads and writes is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lab {
    pub kind: Kind,
    pub loc: usize,
    pub val: u64,
    pub order: MemOrder,
    pub exclusive: bool,
    /// The instruction.
    pub at: usize,
}

/// How a thread stands behind its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    Done,
    /// Its last event is a read whose value is not known.
    Pending,
    /// Its last event is a read that it waits at.
    Blocked,
}

fn halves(order: MemOrder) -> (MemOrder, MemOrder) {
    match order {
        MemOrder::Acquire | MemOrder::Consume => (MemOrder::Acquire, MemOrder::Relaxed),
        MemOrder::Release => (MemOrder::Relaxed, MemOrder::Release),
        MemOrder::AcqRel => (MemOrder::Acquire, MemOrder::Release),
        same => (same, same),
    }
}

/// Whether a read of this value lets its thread go on.
pub fn ends_wait(ins: &Ins, got: u64) -> bool {
    match *ins {
        Ins::Lock(_) => got == 0,
        Ins::Take(_) => got > 0,
        Ins::Await(_, _, wanted, _) | Ins::AwaitUpdate(_, _, wanted, _) => got == wanted,
        _ => true,
    }
}

/// The value of an operand.
pub fn evaluate(val: Val, registers: &[u64; 16]) -> u64 {
    match val {
        Val::Const(value) => value,
        Val::Reg(register, more) => registers[register].wrapping_add(more),
    }
}

/// The events of a thread that reads these values.
pub fn labels(code: &[Ins], values: &[u64]) -> (Vec<Lab>, Stand) {
    let (out, stand, _) = run_thread(code, values, false);
    (out, stand)
}

/// The same, and what the registers hold at the end. `goes_round`: a loop that waits reads again behind a
/// value that does not end it.
pub fn run_thread(code: &[Ins], values: &[u64], goes_round: bool) -> (Vec<Lab>, Stand, [u64; 16]) {
    let (mut out, mut registers, mut read, mut at) = (Vec::new(), [0; 16], 0, 0);
    while at < code.len() {
        let ins = code[at];
        let here = at;
        at += 1;
        let lab = |kind, loc, val, order, exclusive| Lab { kind, loc, val, order, exclusive, at: here };
        let (register, loc, order) = match ins {
            Ins::Write(loc, val, order) => {
                out.push(lab(Kind::Write, loc, evaluate(val, &registers), order, false));
                continue;
            }
            Ins::Fence(order) => {
                out.push(lab(Kind::Fence, usize::MAX, 0, order, false));
                continue;
            }
            Ins::If(register, wanted, skip) => {
                at += if registers[register] == wanted { 0 } else { skip };
                continue;
            }
            Ins::Read(register, loc, order) | Ins::Await(register, loc, _, order) => (register, loc, order),
            Ins::AwaitUpdate(register, loc, _, order) => (register, loc, halves(order).0),
            Ins::Add(register, loc, _, order) | Ins::Swap(register, loc, _, order) => (register, loc, halves(order).0),
            Ins::Cas(register, loc, _, _, order, _) => (register, loc, halves(order).0),
            Ins::Lock(mutex) => (15, MUTEXES + mutex, MemOrder::Acquire),
            Ins::Unlock(mutex) => (15, MUTEXES + mutex, MemOrder::Relaxed),
            Ins::TryLock(register, mutex) => (register, MUTEXES + mutex, MemOrder::Acquire),
            Ins::Take(semaphore) => (15, SEMAPHORES + semaphore, MemOrder::Acquire),
            Ins::Post(semaphore) => (15, SEMAPHORES + semaphore, MemOrder::Relaxed),
        };
        let exclusive = !matches!(ins, Ins::Read(..) | Ins::Await(..));
        let Some(&got) = values.get(read) else {
            out.push(lab(Kind::Read, loc, 0, order, exclusive));
            return (out, Stand::Pending, registers);
        };
        read += 1;
        let (order, stored) = match ins {
            Ins::Add(_, _, more, order) => (halves(order).0, Some((got + more, halves(order).1))),
            Ins::Swap(_, _, val, order) => (halves(order).0, Some((evaluate(val, &registers), halves(order).1))),
            Ins::Cas(_, _, expected, new, success, failure) => {
                if evaluate(expected, &registers) == got {
                    (halves(success).0, Some((evaluate(new, &registers), halves(success).1)))
                } else {
                    (failure, None)
                }
            }
            Ins::Lock(_) => (order, (got == 0).then_some((1, MemOrder::Relaxed))),
            Ins::Unlock(_) => (order, Some((0, MemOrder::Release))),
            Ins::TryLock(..) if got == 0 => (order, Some((1, MemOrder::Relaxed))),
            Ins::TryLock(..) => (MemOrder::Relaxed, Some((1, MemOrder::Relaxed))),
            Ins::Take(_) => (order, got.checked_sub(1).map(|left| (left, MemOrder::Relaxed))),
            Ins::Post(_) => (MemOrder::Relaxed, Some((got + 1, MemOrder::Release))),
            Ins::AwaitUpdate(_, _, wanted, order) => {
                (halves(order).0, (got == wanted).then_some((got, halves(order).1)))
            }
            _ => (order, None),
        };
        out.push(lab(Kind::Read, loc, got, order, exclusive));
        if !ends_wait(&ins, got) {
            if !goes_round || matches!(ins, Ins::Lock(_) | Ins::Take(_)) {
                return (out, Stand::Blocked, registers);
            }
            at = here;
            continue;
        }
        registers[register] = got;
        if let Some((stored, order)) = stored {
            out.push(lab(Kind::Write, loc, stored, order, true));
        }
    }
    (out, Stand::Done, registers)
}

/// The locations that a program uses.
pub fn locations(program: &[Vec<Ins>]) -> Vec<usize> {
    let of = |ins: &Ins| match *ins {
        Ins::Write(loc, ..) | Ins::Read(_, loc, _) | Ins::Add(_, loc, ..) => Some(loc),
        Ins::Await(_, loc, ..) | Ins::AwaitUpdate(_, loc, ..) => Some(loc),
        Ins::Swap(_, loc, ..) | Ins::Cas(_, loc, ..) => Some(loc),
        Ins::Lock(mutex) | Ins::Unlock(mutex) | Ins::TryLock(_, mutex) => Some(MUTEXES + mutex),
        Ins::Take(semaphore) | Ins::Post(semaphore) => Some(SEMAPHORES + semaphore),
        Ins::Fence(_) | Ins::If(..) => None,
    };
    let mut all: Vec<usize> = program.iter().flatten().filter_map(of).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A sequence of pseudo-random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(mix(seed ^ 0x5eed))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15));
        (self.0 >> 33) as usize % bound
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

/// Which orders a random program uses.
#[derive(Clone, Copy)]
enum Palette {
    Relaxed,
    ReleaseAcquire,
    Sc,
}

/// What the threads of a random program wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    Nothing,
    Locks,
    Semaphores,
    Loops,
}

/// A random program.
pub fn random(seed: u64, waiting: Waiting) -> Program {
    use MemOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let random = &mut Random::new(seed);
    let threads = random.of(&[2, 2, 3, 3, 4]);
    let locations = random.of(&[1, 2, 2, 3]);
    let total = 3 + random.below(4);
    let palette: &[Palette] = match random.below(6) {
        0 => &[Palette::Relaxed],
        1 => &[Palette::Relaxed, Palette::ReleaseAcquire],
        2 => &[Palette::Relaxed, Palette::ReleaseAcquire, Palette::Sc],
        3 => &[Palette::Sc],
        4 => &[Palette::Relaxed, Palette::Sc],
        _ => &[Palette::ReleaseAcquire],
    };
    let order = |random: &mut Random, weak: MemOrder, strong: &[MemOrder]| match random.of(palette) {
        Palette::Relaxed => weak,
        Palette::ReleaseAcquire => random.of(strong),
        Palette::Sc => SeqCst,
    };
    let (updates, fences) = (random.of(&[0, 10, 30, 60]), random.of(&[0, 10, 25]));
    let mut program = vec![Vec::new(); threads];
    for code in &mut program {
        let count = (total / threads + random.below(2)).clamp(1, 4);
        let mut registers: Vec<usize> = Vec::new();
        let mut held = None;
        for register in 0..count {
            let loc = random.below(locations);
            if waiting == Waiting::Locks && random.percent(35) {
                match held.take() {
                    Some(mutex) => code.push(Ins::Unlock(mutex)),
                    None => {
                        let mutex = random.below(2);
                        code.push(Ins::Lock(mutex));
                        held = Some(mutex);
                    }
                }
            }
            if !registers.is_empty() && random.percent(20) {
                code.push(Ins::If(random.of(&registers), random.of(&[0, 0, 1, 2]), 1));
            }
            let stored = if !registers.is_empty() && random.percent(20) {
                Val::Reg(random.of(&registers), 1)
            } else {
                Val::Const(random.of(&[1, 2]))
            };
            if waiting == Waiting::Locks && held.is_none() && random.percent(15) {
                // The mutex is given back at once if it was taken.
                code.extend([Ins::TryLock(register, 0), Ins::If(register, 0, 1), Ins::Unlock(0)]);
                registers.push(register);
                continue;
            }
            if waiting == Waiting::Semaphores && random.percent(50) {
                let semaphore = random.of(&[0, 0, 1]);
                code.push(if random.percent(50) { Ins::Post(semaphore) } else { Ins::Take(semaphore) });
                continue;
            }
            if waiting == Waiting::Loops && random.percent(25) {
                let wanted = random.of(&[1, 2]);
                code.push(if random.percent(70) {
                    Ins::Await(register, loc, wanted, order(random, Relaxed, &[Acquire]))
                } else {
                    Ins::AwaitUpdate(register, loc, wanted, order(random, Relaxed, &[Acquire, Release, AcqRel]))
                });
                registers.push(register);
                continue;
            }
            let what = random.below(100);
            if what < fences {
                let weak = random.of(&[Acquire, Release, AcqRel, SeqCst]);
                code.push(Ins::Fence(order(random, weak, &[Acquire, Release, AcqRel])));
                continue;
            }
            if what < fences + updates {
                let both = order(random, Relaxed, &[Acquire, Release, AcqRel]);
                code.push(match random.below(100) {
                    0..35 => Ins::Add(register, loc, 1, both),
                    35..50 => Ins::Swap(register, loc, stored, both),
                    _ => {
                        let expected = if !registers.is_empty() && random.percent(40) {
                            Val::Reg(random.of(&registers), 0)
                        } else {
                            Val::Const(random.of(&[0, 0, 1, 2]))
                        };
                        let other = order(random, Relaxed, &[Acquire]);
                        Ins::Cas(register, loc, expected, stored, both, random.of(&[Relaxed, other]))
                    }
                });
                registers.push(register);
            } else if random.percent(50) {
                code.push(Ins::Write(loc, stored, order(random, Relaxed, &[Release])));
            } else {
                code.push(Ins::Read(register, loc, order(random, Relaxed, &[Acquire])));
                registers.push(register);
            }
        }
        code.extend(held.map(Ins::Unlock));
    }
    program
}
