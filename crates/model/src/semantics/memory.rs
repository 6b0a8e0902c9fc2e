//! What is known of the values in memory.

use smallvec::SmallVec;

use super::state::State;
use super::{Space, SyncState};
use crate::execution::Event;

impl SyncState {
    /// What the `size` bytes at an address hold, if that was ever seen.
    #[must_use]
    pub fn value_at(&self, addr: u64, size: u32) -> Option<u64> {
        let (cell, shift, mask) = slice(addr, size)?;
        match self.state(Space::Memory, cell) {
            State::Memory { known, bits } if known & mask == mask && !self.opaque.contains(&cell) => {
                Some((bits >> shift) & value_mask(size))
            }
            _ => None,
        }
    }

    /// Notes the values that memory had before the first event that changed it.
    pub fn learn(&mut self, events: &[Event]) {
        for op in events.iter().filter_map(|event| event.op.as_atomic()) {
            self.reveal(op.addr, op.size, op.seen());
        }
    }

    /// Fills in bytes whose value is unknown; others stay as they are.
    pub(crate) fn reveal(&mut self, addr: u64, size: u32, value: u64) {
        let Some((cell, shift, mask)) = slice(addr, size) else { return };
        let (known, bits) = self.cell(cell);
        let new = mask & !known;
        if new != 0 {
            let fresh = spread(new);
            let bits = (bits & !fresh) | ((value << shift) & fresh);
            self.set_state(Space::Memory, cell, State::Memory { known: known | mask, bits });
        }
    }

    /// Changes the bytes of an access within one cell; to an unknown value if it is not given.
    pub(crate) fn store(&mut self, addr: u64, size: u32, value: Option<u64>) {
        let Some((cell, shift, mask)) = slice(addr, size) else {
            return self.forget_memory(addr, u64::from(size));
        };
        let (known, bits) = self.cell(cell);
        let state = match value {
            Some(value) => {
                let changed = spread(mask);
                State::Memory { known: known | mask, bits: (bits & !changed) | ((value << shift) & changed) }
            }
            None => State::Memory { known: known & !mask, bits },
        };
        self.set_state(Space::Memory, cell, state);
    }

    /// The content of these bytes is unknown from now on.
    pub(crate) fn forget_memory(&mut self, addr: u64, size: u64) {
        let last = addr.saturating_add(size.max(1) - 1);
        for cell in self.with_states(Space::Memory, addr >> 3, last >> 3, 1) {
            let from = addr.max(cell << 3) & 7;
            let to = last.min((cell << 3) | 7) & 7;
            self.store((cell << 3) | from, (to - from + 1) as u32, None);
        }
    }

    /// The objects in these bytes are gone: what lies there later is another one.
    pub(crate) fn forget_objects(&mut self, addr: u64, size: u64) {
        /// The alignment of the smallest object.
        const STEP: u64 = 4;
        let first = addr.next_multiple_of(STEP);
        let end = addr.saturating_add(size);
        if first >= end {
            return;
        }
        for object in self.with_states(Space::Object, first, end - 1, STEP) {
            self.set_object(object, State::Untouched);
        }
    }

    /// Those numbers from `first` to `last` that have a state and lie a multiple of `step` behind
    /// `first`, in order. Of a long range only what has a state is looked at.
    fn with_states(&self, space: Space, first: u64, last: u64, step: u64) -> SmallVec<[u64; 4]> {
        let has_state = |&number: &u64| self.state(space, number) != State::Untouched;
        if (last - first) / step <= self.states.len() as u64 {
            return (first..=last).step_by(step as usize).filter(has_state).collect();
        }
        let mut found: SmallVec<[u64; 4]> =
            self.numbers(space).filter(|number| (first..=last).contains(number)).collect();
        found.retain(|number| (*number - first).is_multiple_of(step) && has_state(number));
        found.sort_unstable();
        found
    }

    /// Which bytes of a cell are known, and their values.
    fn cell(&self, cell: u64) -> (u8, u64) {
        match self.state(Space::Memory, cell) {
            State::Memory { known, bits } => (known, bits),
            _ => (0, 0),
        }
    }
}

/// Cell, shift in bits and byte mask of an access that lies within one cell; others are never
/// known.
fn slice(addr: u64, size: u32) -> Option<(u64, u32, u8)> {
    let from = (addr & 7) as u32;
    (size > 0 && from + size <= 8).then(|| (addr >> 3, from * 8, (((1u16 << size) - 1) << from) as u8))
}

pub(super) fn value_mask(size: u32) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (size * 8)) - 1 }
}

/// One bit per byte to eight bits per byte.
fn spread(mask: u8) -> u64 {
    (0..8).filter(|byte| mask & (1 << byte) != 0).fold(0, |bits, byte| bits | 0xff << (byte * 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forgetting most of the address space takes what is known of it, not every cell.
    #[test]
    fn large_ranges_are_forgotten() {
        let mut state = SyncState::new(0);
        for addr in [0x1000, 0x2004, 0x9000] {
            state.store(addr, 4, Some(7));
        }
        state.set_object(0x3004, State::Semaphore { count: 1 });
        state.forget_memory(0x2000, u64::MAX);
        state.forget_objects(0x2000, 1 << 60);
        assert_eq!([0x1000, 0x2004, 0x9000].map(|addr| state.value_at(addr, 4)), [Some(7), None, None]);
        assert_eq!(state.object(0x3004), State::Untouched);
        state.forget_memory(0x1002, 1);
        assert_eq!((state.value_at(0x1000, 2), state.value_at(0x1002, 1)), (Some(7), None));
    }
}
