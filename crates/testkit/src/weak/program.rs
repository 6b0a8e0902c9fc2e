//! The programs, and what their threads do as a function of what they read.

use raddle_vocab::MemOrder;

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
    /// An atomic store: location, value.
    Write(usize, Val, MemOrder),
    /// An atomic load: register, location.
    Read(usize, usize, MemOrder),
    /// Adds to a location: register for the value before, location, summand.
    Add(usize, usize, u64, MemOrder),
    /// An exchange: register for the value before, location, value.
    Swap(usize, usize, Val, MemOrder),
    /// Register, location, expected, new, orders of success and failure.
    Cas(usize, usize, Val, Val, MemOrder, MemOrder),
    /// A fence.
    Fence(MemOrder),
    /// Skips so many instructions unless the register holds the value.
    If(usize, u64, usize),
    /// Acquires a mutex.
    Lock(usize),
    /// Releases a mutex.
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
    /// A plain write of plain data.
    Store(usize, Val),
    /// A plain read of plain data into a register.
    Load(usize, usize),
}

/// The instructions of each thread.
pub type WeakProgram = Vec<Vec<Ins>>;

/// Where mutexes begin among the locations.
pub const MUTEXES: usize = 10;
/// Where semaphores begin.
pub const SEMAPHORES: usize = 15;
/// Where plain data begins.
pub const DATA: usize = 20;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A fence.
    Fence,
}

/// An event. An operation that reads and writes is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lab {
    /// What it is.
    pub kind: LabKind,
    /// What it accesses; of a fence without a meaning.
    pub loc: usize,
    /// What it reads or writes.
    pub val: u64,
    /// Its order.
    pub order: MemOrder,
    /// Whether it is a part of a read-modify-write.
    pub exclusive: bool,
    /// Whether it accesses plain data. To a search such an access is no event.
    pub plain: bool,
    /// The instruction.
    pub at: usize,
}

/// How a thread stands behind its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It has ended.
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
#[must_use]
pub fn ends_wait(ins: &Ins, got: u64) -> bool {
    match *ins {
        Ins::Lock(_) => got == 0,
        Ins::Take(_) => got > 0,
        Ins::Await(_, _, wanted, _) | Ins::AwaitUpdate(_, _, wanted, _) => got == wanted,
        _ => true,
    }
}

/// The value of an operand.
#[must_use]
pub fn evaluate(val: Val, registers: &[u64; 16]) -> u64 {
    match val {
        Val::Const(value) => value,
        Val::Reg(register, more) => registers[register].wrapping_add(more),
    }
}

/// The events of a thread that reads these values.
#[must_use]
pub fn labels(code: &[Ins], values: &[u64]) -> (Vec<Lab>, Stand) {
    let (out, stand, _) = run_thread(code, values, false);
    (out, stand)
}

/// The same, and what the registers hold at the end. `goes_round`: a loop that waits reads again
/// behind a value that does not end it.
#[must_use]
pub fn run_thread(code: &[Ins], values: &[u64], goes_round: bool) -> (Vec<Lab>, Stand, [u64; 16]) {
    let (mut out, mut registers, mut read, mut at) = (Vec::new(), [0; 16], 0, 0);
    while at < code.len() {
        let ins = code[at];
        let here = at;
        at += 1;
        let plain = matches!(ins, Ins::Store(..) | Ins::Load(..));
        let lab = |kind, loc, val, order, exclusive| Lab { kind, loc, val, order, exclusive, plain, at: here };
        let (register, loc, order) = match ins {
            Ins::Write(loc, val, order) => {
                out.push(lab(LabKind::Write, loc, evaluate(val, &registers), order, false));
                continue;
            }
            Ins::Store(data, val) => {
                out.push(lab(LabKind::Write, DATA + data, evaluate(val, &registers), MemOrder::Relaxed, false));
                continue;
            }
            Ins::Fence(order) => {
                out.push(lab(LabKind::Fence, usize::MAX, 0, order, false));
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
            Ins::Load(register, data) => (register, DATA + data, MemOrder::Relaxed),
            Ins::Take(semaphore) => (15, SEMAPHORES + semaphore, MemOrder::Acquire),
            Ins::Post(semaphore) => (15, SEMAPHORES + semaphore, MemOrder::Relaxed),
        };
        let exclusive = !matches!(ins, Ins::Read(..) | Ins::Await(..) | Ins::Load(..));
        let Some(&got) = values.get(read) else {
            out.push(lab(LabKind::Read, loc, 0, order, exclusive));
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
        out.push(lab(LabKind::Read, loc, got, order, exclusive));
        if !ends_wait(&ins, got) {
            if !goes_round || matches!(ins, Ins::Lock(_) | Ins::Take(_)) {
                return (out, Stand::Blocked, registers);
            }
            at = here;
            continue;
        }
        registers[register] = got;
        if let Some((stored, order)) = stored {
            out.push(lab(LabKind::Write, loc, stored, order, true));
        }
    }
    (out, Stand::Done, registers)
}

/// The locations that a program uses.
///
/// [`DATA`] and above are plain data.
#[must_use]
pub fn locations(program: &[Vec<Ins>]) -> Vec<usize> {
    let of = |ins: &Ins| match *ins {
        Ins::Write(loc, ..) | Ins::Read(_, loc, _) | Ins::Add(_, loc, ..) => Some(loc),
        Ins::Await(_, loc, ..) | Ins::AwaitUpdate(_, loc, ..) => Some(loc),
        Ins::Swap(_, loc, ..) | Ins::Cas(_, loc, ..) => Some(loc),
        Ins::Lock(mutex) | Ins::Unlock(mutex) | Ins::TryLock(_, mutex) => Some(MUTEXES + mutex),
        Ins::Take(semaphore) | Ins::Post(semaphore) => Some(SEMAPHORES + semaphore),
        Ins::Store(data, _) | Ins::Load(_, data) => Some(DATA + data),
        Ins::Fence(_) | Ins::If(..) => None,
    };
    let mut all: Vec<usize> = program.iter().flatten().filter_map(of).collect();
    all.sort_unstable();
    all.dedup();
    all
}
