//! The heap of the program: which bytes belong to a live block, and what became of the others.
//!
//! Only addresses of the runtime's heap count ([`contains`]): there, every block was announced, so
//! an access outside of all live blocks is an error even if it is ordered behind the end of the
//! block. A block whose room was given out again hides errors in the accesses to the former one.

use std::collections::BTreeMap;

use raddle_vocab::{HEAP, SMALL_HEAP};

use super::shadow::Record;
use super::{AccessPosition, Side, side};

/// Whether the address lies where the runtime allocates blocks.
#[must_use]
pub fn contains(address: u64) -> bool {
    HEAP.contains(&address) || SMALL_HEAP.contains(&address)
}

/// Where a block came to life or died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSite {
    /// Run-local number of the thread.
    pub thread: u16,
    /// Where, in the program.
    pub pc: u64,
    /// Where, in the execution.
    pub position: AccessPosition,
}

/// A block, live or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Its allocation, if it was seen.
    pub allocated: Option<BlockSite>,
    /// Its end, if it is over.
    pub freed: Option<BlockSite>,
}

/// An access that is wrong whatever orders it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// The access.
    pub access: Side,
    /// The first byte that it should not have accessed.
    pub addr: u64,
    /// The block that it lies in or near, as it was then.
    pub block: Option<Block>,
}

impl MemoryError {
    /// The word for it in a report.
    #[must_use]
    pub fn word(&self) -> &'static str {
        let is_freed = |block: &Block| block.freed.is_some() && (block.start..block.end).contains(&self.addr);
        if self.block.as_ref().is_some_and(is_freed) { "use-after-free" } else { "out-of-bounds" }
    }
}

/// A block that was given back, or a part of one.
#[derive(Clone, Copy, Debug)]
struct Freed {
    end: u64,
    record: Record,
    block: Block,
}

/// All blocks of one execution so far.
#[derive(Debug, Default)]
pub struct Blocks {
    live: BTreeMap<u64, Block>,
    freed: BTreeMap<u64, Freed>,
    /// Where the last freed block ends of those that lie elsewhere, as in abstract programs.
    freed_up_to: u64,
    /// The live block that was found last.
    recent: Option<Block>,
}

impl Blocks {
    pub(super) fn clear(&mut self) {
        self.live.clear();
        self.freed.clear();
        self.recent = None;
        self.freed_up_to = 0;
    }

    /// Whether a cell may lie in a freed block, or where only live blocks may be accessed.
    #[inline]
    pub(super) fn concern(&self, cell: u64) -> bool {
        contains(cell) || cell < self.freed_up_to
    }

    pub(super) fn allocate(&mut self, start: u64, end: u64, site: BlockSite) {
        self.live.insert(start, Block { start, end, allocated: Some(site), freed: None });
        let concerned = self.freed.range(..end).filter(|(_, freed)| freed.end > start);
        let dead: Vec<u64> = concerned.map(|(&at, _)| at).collect();
        for at in dead {
            // A part of an old block may stay dead. In the heap of the runtime it is room of the
            // new one, behind its end.
            if let Some(freed) = self.freed.remove(&at).filter(|_| !contains(start)) {
                if at < start {
                    self.freed.insert(at, Freed { end: start, ..freed });
                }
                if freed.end > end {
                    self.freed.insert(end, freed);
                }
            }
        }
    }

    /// The end of the block that begins there, if it is over.
    pub(super) fn end_of(&self, start: u64) -> Option<Record> {
        self.freed.get(&start).filter(|_| !self.live.contains_key(&start)).map(|freed| freed.record)
    }

    /// A block that is freed twice has ended the first time.
    pub(super) fn free(&mut self, start: u64, end: u64, record: Record) {
        if self.end_of(start).is_some() {
            return;
        }
        self.recent = None;
        let Side { thread, pc, position, .. } = side(&record);
        let known = self.live.remove(&start);
        let block = known.unwrap_or(Block { start, end, allocated: None, freed: None });
        let block = Block { freed: Some(BlockSite { thread, pc, position }), ..block };
        self.freed.insert(start, Freed { end, record, block });
        if !contains(start) {
            self.freed_up_to = self.freed_up_to.max(end);
        }
    }

    /// The bytes of a cell of 8 bytes that belong to no live block, if it lies in the heap.
    pub(super) fn forbidden(&mut self, cell: u64) -> u8 {
        if !contains(cell) {
            return 0;
        }
        let overlaps = |block: &Block| block.start < cell + 8 && cell < block.end;
        if !self.recent.as_ref().is_some_and(overlaps) {
            self.recent = self.live.range(..cell + 8).next_back().map(|(_, block)| *block);
        }
        let Some(block) = self.recent.filter(overlaps) else { return u8::MAX };
        let (from, to) = (block.start.max(cell) - cell, block.end.min(cell + 8) - cell);
        !((((1u16 << (to - from)) - 1) << from) as u8)
    }

    /// The end of the block that a part of the cell lies in: from where to where.
    pub(super) fn freed(&self, cell: u64) -> Option<(Record, u64, u64)> {
        let (&from, freed) = self.freed.range(..cell + 8).next_back()?;
        let (from, to) = (from.max(cell), freed.end.min(cell + 8));
        (from < to).then_some((freed.record, from, to))
    }

    /// Whether no block is over.
    #[inline]
    pub(super) fn none_is_freed(&self) -> bool {
        self.freed.is_empty()
    }

    /// The freed blocks that have a byte between the two addresses (the second excluded): their
    /// ends, from where to where.
    pub(super) fn freed_within(&self, start: u64, end: u64) -> impl Iterator<Item = (&Record, u64, u64)> {
        let before = self.freed.range(..end).filter(move |(_, freed)| freed.end > start);
        before.map(move |(&from, freed)| (&freed.record, from.max(start), freed.end.min(end)))
    }

    /// The first bytes of the heap between the two addresses (the second excluded) that belong to
    /// no live block: from where to where.
    pub(super) fn gap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let heap = if start < SMALL_HEAP.end { SMALL_HEAP } else { HEAP };
        let (mut at, end) = (start.max(heap.start), end.min(heap.end));
        while at < end {
            match self.live.range(..=at).next_back().filter(|(_, block)| at < block.end) {
                Some((_, block)) => at = block.end,
                None => {
                    let next = self.live.range(at..).find(|(_, block)| block.start < block.end);
                    return Some((at, next.map_or(end, |(&start, _)| start.min(end))));
                }
            }
        }
        None
    }

    pub(super) fn explain(&self, access: Side, addr: u64) -> MemoryError {
        MemoryError { access, addr, block: self.block_near(addr) }
    }

    /// The block, live or freed, that an address lies in, or else the live one next to it.
    #[must_use]
    pub fn block_near(&self, addr: u64) -> Option<Block> {
        if let Some((_, freed)) = self.freed.range(..=addr).next_back().filter(|(_, freed)| addr < freed.end) {
            return Some(freed.block);
        }
        let before = self.live.range(..=addr).next_back().map(|(_, block)| *block);
        let after = self.live.range(addr..).next().map(|(_, block)| *block);
        match (before, after) {
            (Some(before), Some(after)) => {
                let is_nearer = after.start - addr < addr.saturating_sub(before.end);
                Some(if is_nearer { after } else { before })
            }
            (before, after) => before.or(after),
        }
    }
}
