//! Vector clocks of threads and of the objects that pass order from one thread to another.
//!
//! What carries a clock lies at an address. The clocks of one cell of memory form a list, whose
//! head is kept with the cell. Hardly any cell has more than two, so finding one is cheap. A
//! barrier has a clock per round; the latest is at the front.

use crate::clock::{ClockTable, join};
use crate::object::Carrier;

/// The first clock of a list, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List(u32);

impl List {
    /// No clock.
    pub const NONE: List = List(0);
}

/// A clock in a list; the clock itself is the carried one with the same number.
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

/// The clocks of a thread in [`Clocks::own`].
const OWN: usize = 0;
const RELEASED: usize = 1;
const TO_ACQUIRE: usize = 2;

/// The row of one of a thread's clocks.
fn row(thread: usize, which: usize) -> usize {
    3 * thread + which
}

/// Clocks of one execution.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Three clocks per thread: its own, what its last release fence published, and what its next
    /// acquire fence will take.
    own: ClockTable,
    entries: Vec<Entry>,
    carried: ClockTable,
    /// Whether the thread has made a release fence.
    fenced: Vec<bool>,
}

impl Clocks {
    pub fn reset(&mut self, threads: usize) {
        self.own.reset(threads);
        self.own.push_zeros(3 * threads);
        self.entries.clear();
        self.carried.reset(threads);
        self.fenced.clear();
        self.fenced.resize(threads, false);
        for thread in 0..threads {
            self.own.row_mut(row(thread, OWN))[thread] = 1;
        }
    }

    /// The thread's own time.
    #[inline]
    pub fn epoch(&self, thread: u16) -> u32 {
        self.own.time(row(usize::from(thread), OWN), usize::from(thread))
    }

    /// How much of each thread's time has happened before this thread's position.
    #[inline]
    pub fn seen(&self, thread: u16) -> &[u32] {
        self.own.row(row(usize::from(thread), OWN))
    }

    /// What the thread does from now on is not covered by what it has published.
    #[inline]
    pub fn tick(&mut self, thread: u16) {
        self.own.row_mut(row(usize::from(thread), OWN))[usize::from(thread)] += 1;
    }

    /// Everything that the other thread has done happens before what this thread does from now on.
    pub fn follow(&mut self, thread: u16, other: u16) {
        self.own.join(row(usize::from(thread), OWN), row(usize::from(other), OWN));
    }

    /// The number of a clock of the list among the carried ones.
    #[inline]
    fn find(&self, list: List, addr: u64, carrier: Carrier) -> Option<usize> {
        let mut at = list;
        while let Some(number) = at.0.checked_sub(1) {
            let entry = &self.entries[number as usize];
            if entry.addr == addr && entry.carrier == carrier {
                return Some(number as usize);
            }
            at = entry.next;
        }
        None
    }

    /// As [`Clocks::find`]; an empty one is added if there is none.
    fn slot(&mut self, thread: u16, list: &mut List, addr: u64, carrier: Carrier) -> usize {
        if let Some(found) = self.find(*list, addr, carrier) {
            let head = &mut self.entries[found].head;
            *head = if *head == thread { thread } else { SEVERAL };
            return found;
        }
        let number = self.entries.len();
        self.carried.push_zeros(1);
        self.entries.push(Entry { carrier, addr, next: *list, head: thread });
        *list = List(number as u32 + 1);
        number
    }

    /// Adds the thread's clock to the carrier's.
    pub fn release(&mut self, thread: u16, list: &mut List, addr: u64, carrier: Carrier) {
        let into = self.slot(thread, list, addr, carrier);
        join(self.carried.row_mut(into), self.own.row(row(usize::from(thread), OWN)));
    }

    /// Takes over the carrier's clock.
    pub fn acquire(&mut self, thread: u16, list: List, addr: u64, carrier: Carrier) {
        self.take(thread, OWN, list, addr, carrier);
    }

    /// Remembers the clock of an atomic location for the thread's next acquire fence.
    pub fn acquire_later(&mut self, thread: u16, list: List, addr: u64) {
        self.take(thread, TO_ACQUIRE, list, addr, Carrier::Atomic);
    }

    fn take(&mut self, thread: u16, which: usize, list: List, addr: u64, carrier: Carrier) {
        let Some(from) = self.find(list, addr, carrier) else { return };
        join(self.own.row_mut(row(usize::from(thread), which)), self.carried.row(from));
    }

    /// The thread stores to an atomic location: what that carries ends, unless the thread itself
    /// began all of it and goes on with it.
    pub fn start_sequence(&mut self, thread: u16, list: List, addr: u64, continues: bool) {
        if let Some(at) = self.find(list, addr, Carrier::Atomic) {
            let head = &mut self.entries[at].head;
            if std::mem::replace(head, thread) != thread || !continues {
                self.carried.row_mut(at).fill(0);
            }
        }
    }

    /// Nothing that lies at the address carries anything any more.
    pub fn clear_all(&mut self, list: List, addr: u64) {
        let mut at = list;
        while let Some(number) = at.0.checked_sub(1) {
            let entry = self.entries[number as usize];
            if entry.addr == addr {
                self.carried.row_mut(number as usize).fill(0);
            }
            at = entry.next;
        }
    }

    /// Adds what the thread's last release fence published to an atomic location, if there was such
    /// a fence.
    pub fn release_fenced(&mut self, thread: u16, list: &mut List, addr: u64) {
        if self.fenced[usize::from(thread)] {
            let into = self.slot(thread, list, addr, Carrier::Atomic);
            join(self.carried.row_mut(into), self.own.row(row(usize::from(thread), RELEASED)));
        }
    }

    /// What a store of the thread publishes by itself: all that it has seen, or what its last
    /// release fence published.
    pub fn published(&self, thread: u16, releases: bool) -> &[u32] {
        self.own.row(row(usize::from(thread), if releases { OWN } else { RELEASED }))
    }

    /// Takes over a clock, or remembers it for the thread's next acquire fence.
    pub fn take_over(&mut self, thread: u16, clock: &[u32], acquires: bool) {
        join(self.own.row_mut(row(usize::from(thread), if acquires { OWN } else { TO_ACQUIRE })), clock);
    }

    pub fn release_fence(&mut self, thread: u16) {
        // What the thread has seen only grows, so this is a copy.
        self.own.join(row(usize::from(thread), RELEASED), row(usize::from(thread), OWN));
        self.fenced[usize::from(thread)] = true;
    }

    pub fn acquire_fence(&mut self, thread: u16) {
        self.own.join(row(usize::from(thread), OWN), row(usize::from(thread), TO_ACQUIRE));
    }
}
