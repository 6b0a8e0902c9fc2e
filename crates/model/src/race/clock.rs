//! Vector clocks of threads and of the objects that pass order from one thread to another.
//!
//! What carries a clock lies at an address. The clocks of one cell of memory form a list, whose
//! head is kept with the cell. Hardly any cell has more than two, so finding one is cheap. A
//! barrier has a clock per round; the latest is at the front.

use crate::object::Carrier;

/// The first clock of a list, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List(u32);

impl List {
    /// No clock.
    pub const NONE: List = List(0);
}

/// A clock in a list; the clock itself has the same number among the carried ones.
#[derive(Clone, Copy, Debug)]
struct Entry {
    carrier: Carrier,
    addr: u64,
    next: List,
    /// Of an atomic location: the thread that began all release sequences that it carries, or
    /// [`SEVERAL`].
    head: u16,
}

/// No single thread.
const SEVERAL: u16 = u16::MAX;

/// Clocks of one execution: all have one entry per thread and lie in one buffer.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    threads: usize,
    /// Three clocks per thread: its own, what its last release fence published, and what its next
    /// acquire fence will take.
    own: Vec<u32>,
    entries: Vec<Entry>,
    carried: Vec<u32>,
    /// Whether the thread has made a release fence.
    fenced: Vec<bool>,
}

impl Clocks {
    pub fn reset(&mut self, threads: usize) {
        self.threads = threads;
        self.own.clear();
        self.own.resize(3 * threads * threads, 0);
        self.entries.clear();
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
        self.own[self.at(usize::from(thread), 0) + usize::from(thread)]
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

    /// The place of a clock of the list among the carried ones.
    #[inline]
    fn find(&self, list: List, addr: u64, carrier: Carrier) -> Option<usize> {
        let mut at = list;
        while let Some(number) = at.0.checked_sub(1) {
            let entry = &self.entries[number as usize];
            if entry.addr == addr && entry.carrier == carrier {
                return Some(number as usize * self.threads);
            }
            at = entry.next;
        }
        None
    }

    /// As [`Clocks::find`]; an empty one is added if there is none.
    fn slot(&mut self, thread: u16, list: &mut List, addr: u64, carrier: Carrier) -> usize {
        if let Some(found) = self.find(*list, addr, carrier) {
            let head = &mut self.entries[found / self.threads].head;
            *head = if *head == thread { thread } else { SEVERAL };
            return found;
        }
        let at = self.carried.len();
        self.carried.resize(at + self.threads, 0);
        self.entries.push(Entry { carrier, addr, next: *list, head: thread });
        *list = List(self.entries.len() as u32);
        at
    }

    /// Adds the thread's clock to the carrier's.
    pub fn release(&mut self, thread: u16, list: &mut List, addr: u64, carrier: Carrier) {
        let (into, from) = (self.slot(thread, list, addr, carrier), self.at(usize::from(thread), 0));
        join(&mut self.carried[into..into + self.threads], &self.own[from..from + self.threads]);
    }

    /// Takes over the carrier's clock.
    pub fn acquire(&mut self, thread: u16, list: List, addr: u64, carrier: Carrier) {
        self.take(thread, 0, list, addr, carrier);
    }

    /// Remembers the clock of an atomic location for the thread's next acquire fence.
    pub fn acquire_later(&mut self, thread: u16, list: List, addr: u64) {
        self.take(thread, 2, list, addr, Carrier::Atomic);
    }

    fn take(&mut self, thread: u16, which: usize, list: List, addr: u64, carrier: Carrier) {
        let Some(from) = self.find(list, addr, carrier) else { return };
        let into = self.at(usize::from(thread), which);
        join(&mut self.own[into..into + self.threads], &self.carried[from..from + self.threads]);
    }

    /// The thread stores to an atomic location: what that carries ends, unless the thread itself
    /// began all of it and goes on with it.
    pub fn start_sequence(&mut self, thread: u16, list: List, addr: u64, continues: bool) {
        if let Some(at) = self.find(list, addr, Carrier::Atomic) {
            let head = &mut self.entries[at / self.threads].head;
            if std::mem::replace(head, thread) != thread || !continues {
                self.carried[at..at + self.threads].fill(0);
            }
        }
    }

    /// Nothing that lies at the address carries anything any more.
    pub fn clear_all(&mut self, list: List, addr: u64) {
        let mut at = list;
        while let Some(number) = at.0.checked_sub(1) {
            let entry = self.entries[number as usize];
            if entry.addr == addr {
                let at = number as usize * self.threads;
                self.carried[at..at + self.threads].fill(0);
            }
            at = entry.next;
        }
    }

    /// Adds what the thread's last release fence published to an atomic location, if there was such
    /// a fence.
    pub fn release_fenced(&mut self, thread: u16, list: &mut List, addr: u64) {
        if self.fenced[usize::from(thread)] {
            let (into, from) = (self.slot(thread, list, addr, Carrier::Atomic), self.at(usize::from(thread), 1));
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
