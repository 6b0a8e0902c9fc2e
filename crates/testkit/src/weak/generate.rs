//! Random programs.

use raddle_vocab::MemOrder;
use raddle_vocab::policy::mix;

use super::program::{Ins, Val, WeakProgram};

/// A sequence of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(mix(seed ^ 0x5eed))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15));
        (self.0 >> 33) as usize % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
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

/// What random programs are made of beside atomic operations, fences and branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Nothing.
    Nothing,
    /// Mutexes.
    Locks,
    /// Semaphores.
    Semaphores,
    /// Loops that wait.
    Loops,
    /// All of it, with plain data.
    All,
}

impl Theme {
    fn has(self, other: Theme) -> bool {
        self == other || self == Theme::All
    }
}

/// A random program.
#[must_use]
pub fn random(seed: u64, theme: Theme) -> WeakProgram {
    let mut random = Random::new(seed);
    let threads = random.of(&[2, 2, 3, 3, 4]);
    let locations = random.of(&[1, 2, 2, 3]);
    let total = 3 + random.below(if theme == Theme::All { 6 } else { 4 });
    let palette: &'static [Palette] = match random.below(6) {
        0 => &[Palette::Relaxed],
        1 => &[Palette::Relaxed, Palette::ReleaseAcquire],
        2 => &[Palette::Relaxed, Palette::ReleaseAcquire, Palette::Sc],
        3 => &[Palette::Sc],
        4 => &[Palette::Relaxed, Palette::Sc],
        _ => &[Palette::ReleaseAcquire],
    };
    let (updates, fences) = (random.of(&[0, 10, 30, 60]), random.of(&[0, 10, 25]));
    let data = if theme == Theme::All { random.of(&[10, 25, 40, 60]) } else { 0 };
    let mut writer = Writer {
        random,
        theme,
        locations,
        palette,
        updates,
        fences,
        data,
        code: Vec::new(),
        registers: Vec::new(),
        next: 0,
        held: None,
    };
    (0..threads).map(|thread| writer.thread(thread, total / threads)).collect()
}

/// Writes the threads of a random program.
struct Writer {
    random: Random,
    theme: Theme,
    locations: usize,
    palette: &'static [Palette],
    /// Percentages.
    updates: usize,
    fences: usize,
    data: usize,
    /// Of the thread that is written.
    code: Vec<Ins>,
    registers: Vec<usize>,
    /// The next register.
    next: usize,
    held: Option<usize>,
}

impl Writer {
    fn thread(&mut self, thread: usize, share: usize) -> Vec<Ins> {
        let count = (share + self.random.below(2)).clamp(1, 4);
        self.registers.clear();
        self.next = 0;
        for _ in 0..count {
            self.instruction(thread);
        }
        self.code.extend(self.held.take().map(Ins::Unlock));
        std::mem::take(&mut self.code)
    }

    fn order(&mut self, weak: MemOrder, strong: &[MemOrder]) -> MemOrder {
        match self.random.of(self.palette) {
            Palette::Relaxed => weak,
            Palette::ReleaseAcquire => self.random.of(strong),
            Palette::Sc => MemOrder::SeqCst,
        }
    }

    fn register(&mut self) -> usize {
        self.next += 1;
        self.registers.push(self.next - 1);
        self.next - 1
    }

    fn instruction(&mut self, thread: usize) {
        let loc = self.random.below(self.locations);
        if self.theme.has(Theme::Locks) && self.random.percent(35) {
            self.lock();
        }
        if !self.registers.is_empty() && self.random.percent(20) {
            let register = self.random.of(&self.registers);
            self.code.push(Ins::If(register, self.random.of(&[0, 0, 1, 2]), 1));
        }
        let stored = if !self.registers.is_empty() && self.random.percent(20) {
            Val::Reg(self.random.of(&self.registers), 1)
        } else {
            Val::Const(self.random.of(&[1, 2]))
        };
        if self.waits(loc) {
            return;
        }
        let chance = if self.held.is_some() { 2 * self.data } else { self.data };
        if self.random.percent(chance) {
            return self.data(thread, loc, stored);
        }
        self.atomic(loc, stored);
    }

    fn lock(&mut self) {
        match self.held.take() {
            Some(mutex) => self.code.push(Ins::Unlock(mutex)),
            None => {
                let mutex = self.random.below(2);
                self.code.push(Ins::Lock(mutex));
                self.held = Some(mutex);
            }
        }
    }

    /// Adds something that may have to wait for other threads.
    fn waits(&mut self, loc: usize) -> bool {
        use MemOrder::{AcqRel, Acquire, Relaxed, Release};
        if self.theme.has(Theme::Locks) && self.held.is_none() && self.random.percent(15) {
            // The mutex is given back at once if it was taken.
            let register = self.register();
            if let Some(Ins::If(_, _, skipped)) = self.code.last_mut() {
                *skipped = 3;
            }
            self.code.extend([Ins::TryLock(register, 0), Ins::If(register, 0, 1), Ins::Unlock(0)]);
            return true;
        }
        let chance = if self.theme == Theme::All { 15 } else { 50 };
        if self.theme.has(Theme::Semaphores) && self.random.percent(chance) {
            let semaphore = self.random.of(&[0, 0, 1]);
            let posts = self.random.percent(50);
            self.code.push(if posts { Ins::Post(semaphore) } else { Ins::Take(semaphore) });
            return true;
        }
        let chance = if self.theme == Theme::All { 10 } else { 25 };
        if self.theme.has(Theme::Loops) && self.random.percent(chance) {
            let wanted = self.random.of(&[1, 2]);
            let register = self.register();
            let wait = if self.random.percent(70) {
                Ins::Await(register, loc, wanted, self.order(Relaxed, &[Acquire]))
            } else {
                Ins::AwaitUpdate(register, loc, wanted, self.order(Relaxed, &[Acquire, Release, AcqRel]))
            };
            self.code.push(wait);
            return true;
        }
        false
    }

    /// Adds accesses to plain data: by themselves, or in one of the ways in which programs avoid a
    /// race.
    fn data(&mut self, thread: usize, loc: usize, stored: Val) {
        use MemOrder::{Acquire, Relaxed, Release};
        let data = if self.random.percent(70) { thread % 2 } else { self.random.below(2) };
        let flag = self.random.of(&[1, 2]);
        match self.random.below(100) {
            0..30 if self.held.is_none() => {
                let order = self.order(Relaxed, &[Release]);
                self.code.extend([Ins::Store(data, stored), Ins::Write(loc, Val::Const(flag), order)]);
            }
            30..60 if self.held.is_none() => {
                let (seen, register) = (self.register(), self.register());
                let order = self.order(Relaxed, &[Acquire]);
                let other = self.random.percent(80);
                let data = if other { (thread + 1) % 2 } else { data };
                let read = Ins::Read(seen, loc, order);
                self.code.extend([read, Ins::If(seen, flag, 1), Ins::Load(register, data)]);
            }
            0..80 => self.code.push(Ins::Store(data, stored)),
            _ => {
                let register = self.register();
                self.code.push(Ins::Load(register, data));
            }
        }
    }

    fn atomic(&mut self, loc: usize, stored: Val) {
        use MemOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let what = self.random.below(100);
        if what < self.fences {
            let weak = self.random.of(&[Acquire, Release, AcqRel, SeqCst]);
            let order = self.order(weak, &[Acquire, Release, AcqRel]);
            self.code.push(Ins::Fence(order));
        } else if what < self.fences + self.updates {
            let both = self.order(Relaxed, &[Acquire, Release, AcqRel]);
            let update = match self.random.below(100) {
                0..35 => Ins::Add(self.register(), loc, 1, both),
                35..50 => Ins::Swap(self.register(), loc, stored, both),
                _ => {
                    let expected = if !self.registers.is_empty() && self.random.percent(40) {
                        Val::Reg(self.random.of(&self.registers), 0)
                    } else {
                        Val::Const(self.random.of(&[0, 0, 1, 2]))
                    };
                    let other = self.order(Relaxed, &[Acquire]);
                    let failure = self.random.of(&[Relaxed, other]);
                    Ins::Cas(self.register(), loc, expected, stored, both, failure)
                }
            };
            self.code.push(update);
        } else if self.random.percent(50) {
            let order = self.order(Relaxed, &[Release]);
            self.code.push(Ins::Write(loc, stored, order));
        } else {
            let order = self.order(Relaxed, &[Acquire]);
            let register = self.register();
            self.code.push(Ins::Read(register, loc, order));
        }
    }
}
