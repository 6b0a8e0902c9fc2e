//! Inversions of an execution, and which of them concern a position. Long executions have many,
//! each of which concerns few positions: blocks of them that do not concern a position are skipped.

use std::ops::Range;

/// A forced event that wakes an event which the policy preferred. A child that differs first at one
/// of the `positions` has made this event when it departs from the execution: behind it, the policy
/// would have made the sleeping event first.
#[derive(Clone, Debug)]
pub struct Inversion {
    /// Position of the event.
    pub event: u32,
    /// The positions that it concerns.
    pub positions: Range<u32>,
}

/// Inversions of a block.
const BLOCK: usize = 64;

/// Inversions, in the order of their events.
#[derive(Debug, Default)]
pub struct Inversions {
    all: Vec<Inversion>,
    /// For each block, a range with all positions that it concerns.
    blocks: Vec<Range<u32>>,
}

impl Inversions {
    /// Adds one, whose event is behind those of all others.
    pub fn push(&mut self, inversion: Inversion) {
        let Range { start, end } = inversion.positions;
        match self.blocks.last_mut() {
            Some(block) if !self.all.len().is_multiple_of(BLOCK) => {
                *block = block.start.min(start)..block.end.max(end);
            }
            _ => self.blocks.push(start..end),
        }
        self.all.push(inversion);
    }

    /// Forgets those of events from `position` on.
    pub fn truncate(&mut self, position: usize) {
        let kept = self.all.partition_point(|inversion| (inversion.event as usize) < position);
        self.all.truncate(kept);
        // A last block that has lost some may seem to concern more positions than it does.
        self.blocks.truncate(kept.div_ceil(BLOCK));
    }

    /// The events of those that concern the position.
    pub fn concerning(&self, position: u32) -> impl Iterator<Item = usize> {
        let mut index = 0;
        // By hand, because combinators for two levels cost more than most executions have
        // inversions.
        std::iter::from_fn(move || {
            while let Some(inversion) = self.all.get(index) {
                if index.is_multiple_of(BLOCK) && !self.blocks[index / BLOCK].contains(&position) {
                    index += BLOCK;
                    continue;
                }
                index += 1;
                if inversion.positions.contains(&position) {
                    return Some(inversion.event as usize);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_none_out() {
        let (mut inversions, mut plain) = (Inversions::default(), Vec::new());
        let mut number = 7u32;
        for round in 0..40 {
            for _ in 0..round * 5 {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (event, start) = (plain.len() as u32, number >> 8 & 0xff);
                let inversion = Inversion { event, positions: start..start + (number >> 20 & 0xf) };
                plain.push(inversion.clone());
                inversions.push(inversion);
            }
            for position in 0..280 {
                let expected: Vec<usize> = plain
                    .iter()
                    .filter(|inversion| inversion.positions.contains(&position))
                    .map(|inversion| inversion.event as usize)
                    .collect();
                assert_eq!(inversions.concerning(position).collect::<Vec<_>>(), expected);
            }
            let kept = (number >> 4) as usize % (plain.len() + 1);
            plain.truncate(kept);
            inversions.truncate(kept);
        }
    }
}
