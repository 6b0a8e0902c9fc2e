//! Happens-before along one path: the clocks at its end, and the accesses on it that may race.

use raddle_model::clock::join;
use raddle_model::depend::cells;
use raddle_model::race::Touching;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flow::{ClockVar, Range, Sources};
use super::sharing::{LARGE, Sharing, met};
use super::summary::{LateAccess, PathEvent};

/// An access on the path, to a part of one cell.
#[derive(Clone, Copy, Debug)]
struct Seen {
    thread: u16,
    what: Touching,
    bytes: u8,
    epoch: u32,
}

/// The clocks. The time of a thread is the number of its events.
#[derive(Debug)]
pub(crate) struct PathClocks {
    threads: usize,
    clocks: FxHashMap<ClockVar, Vec<u32>>,
    /// Addresses with a clock, by cell.
    carriers: FxHashMap<u64, Vec<ClockVar>>,
    seen: FxHashMap<u64, Vec<Seen>>,
    /// Accesses that are not cut into cells.
    large: Vec<(Range, Seen)>,
}

impl PathClocks {
    /// At the start of a program with so many threads.
    pub fn new(threads: usize) -> Self {
        PathClocks {
            threads,
            clocks: FxHashMap::default(),
            carriers: FxHashMap::default(),
            seen: FxHashMap::default(),
            large: Vec::new(),
        }
    }

    /// Goes over an event.
    pub fn push(&mut self, event: &PathEvent, sharing: &Sharing) {
        let (thread, flow) = (event.event.thread, &event.flow);
        let now = self.time(thread);
        let assigned: Vec<_> = flow.assigned.iter().map(|(var, sources)| (*var, self.join_of(sources))).collect();
        for (var, clock) in assigned {
            let is_first = self.clocks.insert(var, clock).is_none();
            if let (ClockVar::Carried(addr, _), true) = (var, is_first) {
                self.carriers.entry(addr >> 3).or_default().push(var);
            }
        }
        let threads = self.threads;
        let own = self.clocks.entry(ClockVar::Thread(thread)).or_insert_with(|| vec![0; threads]);
        own[usize::from(thread)] = now + 1;
        for range in &flow.cleared {
            self.clear(*range);
        }
        for range in &flow.erased {
            self.erase(*range);
        }
        let accesses = flow.accesses.iter().filter(|access| !access.is_gone);
        for access in accesses.filter(|access| sharing.is_shared(&access.access)) {
            let epoch = if access.is_early { now } else { now + 1 };
            let (range, what) = (access.access.range, access.access.what);
            self.remember(range, Seen { thread, what, bytes: 0xff, epoch });
        }
    }

    fn remember(&mut self, range: Range, seen: Seen) {
        if range.size > LARGE {
            return self.large.push((range, seen));
        }
        for (cell, bytes) in cells(range.addr, range.size) {
            self.seen.entry(cell).or_default().push(Seen { bytes, ..seen });
        }
    }

    fn time(&self, thread: u16) -> u32 {
        self.clocks.get(&ClockVar::Thread(thread)).map_or(0, |clock| clock[usize::from(thread)])
    }

    fn join_of(&self, sources: &Sources) -> Vec<u32> {
        let mut clock = vec![0; self.threads];
        for other in sources.iter().filter_map(|var| self.clocks.get(var)) {
            join(&mut clock, other);
        }
        clock
    }

    fn clear(&mut self, range: Range) {
        if self.carriers.is_empty() {
            return;
        }
        for (cell, _) in known_cells(&self.carriers, range) {
            let Some(carriers) = self.carriers.get_mut(&cell) else { continue };
            carriers.retain(|var| {
                let is_cleared = matches!(var, ClockVar::Carried(addr, _) if range.contains(*addr));
                if is_cleared {
                    self.clocks.remove(var);
                }
                !is_cleared
            });
        }
    }

    fn erase(&mut self, range: Range) {
        for (cell, bytes) in known_cells(&self.seen, range) {
            if let Some(seen) = self.seen.get_mut(&cell) {
                seen.iter_mut().for_each(|seen| seen.bytes &= !bytes);
            }
        }
        // What is left of a large access may be small.
        for (whole, seen) in self.large.extract_if(.., |(large, _)| large.overlaps(range)).collect::<Vec<_>>() {
            let below = range.addr.saturating_sub(whole.addr);
            let above = whole.end().saturating_sub(range.end());
            for part in [Range { addr: whole.addr, size: below }, Range { addr: range.end(), size: above }] {
                self.remember(part, seen);
            }
        }
    }

    /// Whether the access below the end of the path races with one on the path.
    pub fn races(&self, (access, sources): &LateAccess) -> bool {
        let clock = self.join_of(sources);
        let conflicts = |seen: &Seen, bytes: u8| {
            seen.thread != access.thread
                && seen.bytes & bytes != 0
                && seen.what.conflicts(access.what)
                && seen.epoch > clock[usize::from(seen.thread)]
        };
        let mut cells = known_cells(&self.seen, access.range).into_iter();
        cells.any(|(cell, bytes)| self.seen.get(&cell).is_some_and(|all| all.iter().any(|seen| conflicts(seen, bytes))))
            || self.large.iter().any(|(range, seen)| range.overlaps(access.range) && conflicts(seen, 0xff))
    }
}

/// The cells of a range with their bytes; of a large range only those that are known.
fn known_cells<T>(known: &FxHashMap<u64, T>, range: Range) -> SmallVec<[(u64, u8); 2]> {
    if range.size > LARGE { met(known.keys(), range).into() } else { cells(range.addr, range.size).collect() }
}
