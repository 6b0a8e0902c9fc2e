//! Vector clocks of threads and of what passes order from one to another.

use rustc_hash::FxHashMap;

/// Sorts of things that carry a clock. Rounds of a barrier and atomic locations have name spaces of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Carrier {
    /// A mutex, semaphore, once control, channel; writers of an rwlock.
    Object(u64),
    /// Readers that have left an rwlock.
    Readers(u64),
    /// A round of a barrier.
    Round(u64, u64),
    /// The value that an atomic location holds now.
    Atomic(u64),
}

/// Clocks of one execution: all have one entry per thread and lie in one buffer.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    threads: usize,
    /// Per thread three clocks: its own, what its last release fence published, what its next acquire fence will take.
    own: Vec<u32>,
    carriers: FxHashMap<Carrier, u32>,
    carried: Vec<u32>,
    /// Whether the thread has made a release fence.
    fenced: Vec<bool>,
}

impl Clocks {
    pub fn reset(&mut self, threads: usize) {
        self.threads = threads;
        self.own.clear();
        self.own.resize(3 * threads * threads, 0);
        self.carriers.clear();
        self.carried.clear();
        self.fenced.clear();
        self.fenced.resize(threads, false);
        for thread in 0..threads {
            self.own[3 * thread * threads + thread] = 1;
        }
    }

    /// How many clocks lie before the thread's.
    fn at(&self, thread: usize, which: usize) -> usize {
        (3 * thread + which) * self.threads
    }

    /// The thread's own time.
    pub fn epoch(&self, thread: u16) -> u32 {
        self.seen(thread)[usize::from(thread)]
    }

    /// How much of each thread's time has happened before this thread's position.
    #[inline]
    pub fn seen(&self, thread: u16) -> &[u32] {
        let at = self.at(usize::from(thread), 0);
        &self.own[at..at + self.threads]
    }

    /// What the thread does from now on is not covered by what it has published.
    pub fn tick(&mut self, thread: u16) {
        let at = self.at(usize::from(thread), 0) + usize::from(thread);
        self.own[at] += 1;
    }

    /// Everything that the other thread has done happens before what this thread does from now on.
    pub fn follow(&mut self, thread: u16, other: u16) {
        let (into, from) = (self.at(usize::from(thread), 0), self.at(usize::from(other), 0));
        for index in 0..self.threads {
            self.own[into + index] = self.own[into + index].max(self.own[from + index]);
        }
    }

    fn slot(&mut self, carrier: Carrier) -> usize {
        let (carried, threads) = (&mut self.carried, self.threads);
        let number = *self.carriers.entry(carrier).or_insert_with(|| {
            let number = carried.len() / threads;
            carried.resize(carried.len() + threads, 0);
            number as u32
        });
        number as usize * self.threads
    }

    /// Adds the thread's clock to the carrier's.
    pub fn release(&mut self, thread: u16, carrier: Carrier) {
        let (into, from) = (self.slot(carrier), self.at(usize::from(thread), 0));
        join(&mut self.carried[into..into + self.threads], &self.own[from..from + self.threads]);
    }

    /// Takes over the carrier's clock.
    pub fn acquire(&mut self, thread: u16, carrier: Carrier) {
        self.take(thread, 0, carrier);
    }

    /// Remembers the carrier's clock for the thread's next acquire fence.
    pub fn acquire_later(&mut self, thread: u16, carrier: Carrier) {
        self.take(thread, 2, carrier);
    }

    fn take(&mut self, thread: u16, which: usize, carrier: Carrier) {
        let Some(&number) = self.carriers.get(&carrier) else { return };
        let (into, from) = (self.at(usize::from(thread), which), number as usize * self.threads);
        join(&mut self.own[into..into + self.threads], &self.carried[from..from + self.threads]);
    }

    /// The carrier carries nothing any more; false if it never did.
    pub fn clear(&mut self, carrier: Carrier) -> bool {
        let Some(&number) = self.carriers.get(&carrier) else { return false };
        let at = number as usize * self.threads;
        self.carried[at..at + self.threads].fill(0);
        true
    }

    /// Adds what the thread's last release fence published, if it has made one.
    pub fn release_fenced(&mut self, thread: u16, carrier: Carrier) {
        if self.fenced[usize::from(thread)] {
            let (into, from) = (self.slot(carrier), self.at(usize::from(thread), 1));
            join(&mut self.carried[into..into + self.threads], &self.own[from..from + self.threads]);
        }
    }

    pub fn release_fence(&mut self, thread: u16) {
        let (from, into) = (self.at(usize::from(thread), 0), self.at(usize::from(thread), 1));
        self.own.copy_within(from..from + self.threads, into);
        self.fenced[usize::from(thread)] = true;
    }

    pub fn acquire_fence(&mut self, thread: u16) {
        let (into, from) = (self.at(usize::from(thread), 0), self.at(usize::from(thread), 2));
        for index in 0..self.threads {
            self.own[into + index] = self.own[into + index].max(self.own[from + index]);
        }
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = (*mine).max(*theirs);
    }
}
