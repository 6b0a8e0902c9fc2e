//! Where objects are in a running program, and sets of locks.

use super::{AbstractObjectKind, Facts, Hold, Site, Span};

/// Memory of a running program, as precisely as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Where {
    /// These addresses.
    Bytes {
        /// First.
        from: u64,
        /// Behind the last.
        to: u64,
    },
    /// A part of some piece of memory that an object stands for.
    Part(Span),
    /// Anywhere.
    Any,
}

/// Addresses of a program's objects.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Of each object that exists once and is known to lie somewhere.
    pub address: Vec<Option<u64>>,
}

impl Ground {
    /// The span as it lies in memory.
    #[must_use]
    pub fn locate(&self, facts: &Facts, span: Span) -> Where {
        match self.address.get(span.object as usize).copied().flatten() {
            Some(address) => {
                let size = facts.objects[span.object as usize].size.unwrap_or(u64::MAX);
                let (from, to) = (span.from.min(size), span.to.min(size));
                Where::Bytes { from: address.saturating_add(from), to: address.saturating_add(to) }
            }
            None => Where::Part(span),
        }
    }
}

/// What a concrete address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// An object that exists once.
    Global,
    /// A heap block allocated at this site, beginning at the address.
    Block(Option<Site>, u64),
    /// Anything else: a stack, or memory whose allocation was not reported.
    Other,
}

impl Facts {
    /// Whether the concrete bytes, which belong to `home`, may be those of the span.
    #[must_use]
    pub fn may_be(&self, from: u64, to: u64, home: Home, span: Span) -> bool {
        let object = &self.objects[span.object as usize];
        match (home, object.kind) {
            // One whose place is not known may be any of them.
            (Home::Global, kind) => kind == AbstractObjectKind::Global,
            (Home::Block(..), AbstractObjectKind::Global) => false,
            (Home::Block(Some(site), base), AbstractObjectKind::Heap) => {
                let (low, high) = (from.saturating_sub(base), to.saturating_sub(base));
                object.site.is_none_or(|own| own == site) && low < span.to && span.from < high
            }
            (Home::Block(Some(_), _), _) => false,
            (Home::Block(None, _) | Home::Other, _) => true,
        }
    }
}

/// A lock: its address, or a number of the caller's above [`VIRTUAL`].
pub type LockId = u64;

/// Locks that no program has: see [`super::suffix`].
pub const VIRTUAL: LockId = 1 << 62;

/// Locks that are certainly held, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockSet(pub Vec<(LockId, Hold)>);

impl LockSet {
    /// With one more lock.
    #[must_use]
    pub fn with(&self, lock: LockId, hold: Hold) -> Self {
        let mut list: Vec<_> = self.0.iter().copied().filter(|&(other, _)| other != lock).collect();
        list.push((lock, hold));
        list.sort_unstable();
        LockSet(list)
    }

    /// Without some locks.
    #[must_use]
    pub fn without(&self, gone: impl Fn(LockId) -> bool) -> Self {
        LockSet(self.0.iter().copied().filter(|&(lock, _)| !gone(lock)).collect())
    }

    /// The locks that both hold, in the weaker way.
    #[must_use]
    pub fn meet(&self, other: &LockSet) -> Self {
        let both = self.0.iter().filter_map(|&(lock, hold)| other.get(lock).map(|theirs| (lock, hold.min(theirs))));
        LockSet(both.collect())
    }

    /// How the lock is held.
    #[must_use]
    pub fn get(&self, lock: LockId) -> Option<Hold> {
        self.0.binary_search_by_key(&lock, |&(other, _)| other).ok().map(|at| self.0[at].1)
    }

    /// Whether two threads that hold these cannot be at their accesses at the same time: they have
    /// a lock in common that at least one of them holds exclusively.
    #[must_use]
    pub fn excludes(&self, other: &LockSet) -> bool {
        self.0.iter().any(|&(lock, hold)| {
            other.get(lock).is_some_and(|theirs| hold == Hold::Exclusive || theirs == Hold::Exclusive)
        })
    }
}
