//! The touches that occur in a search, by number, and sets of them.
//!
//! Summaries compare sets of touches all the time. Sets of numbers are compared a word at a time.

use raddle_model::{Footprint, Touch};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Numbers of the touches of one event.
pub(crate) type TouchNumbers = SmallVec<[u32; 4]>;

/// A set of touches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TouchSet {
    words: SmallVec<[u64; 4]>,
}

impl TouchSet {
    /// Adds a touch.
    pub fn insert(&mut self, number: u32) {
        let (word, bit) = (number as usize / 64, number % 64);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    /// Whether all of them are in the other set.
    pub fn is_subset(&self, other: &TouchSet) -> bool {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(others).all(|(&mine, others)| mine & !others == 0)
    }

    /// Whether the sets have one in common.
    pub fn meets(&self, other: &TouchSet) -> bool {
        self.words.iter().zip(&other.words).any(|(mine, others)| mine & others != 0)
    }

    /// Whether it has touches with numbers below this one only.
    pub fn is_below(&self, number: usize) -> bool {
        self.numbers().last().is_none_or(|last| (last as usize) < number)
    }

    /// Their numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().zip(0u32..).flat_map(|(&word, index)| {
            let bits = (0..64u32).filter(move |bit| word >> bit & 1 != 0);
            bits.map(move |bit| 64 * index + bit)
        })
    }
}

/// A touch, and those that it does not commute with.
#[derive(Debug)]
struct Entry {
    touch: Touch,
    rivals: TouchSet,
}

/// All touches that were met.
#[derive(Debug, Default)]
pub(crate) struct TouchTable {
    entries: Vec<Entry>,
    /// Numbers of the touches of each cell.
    by_cell: FxHashMap<u64, SmallVec<[u32; 4]>>,
}

impl TouchTable {
    /// The touches in the order of their numbers.
    pub fn all(&self) -> Vec<Touch> {
        self.entries.iter().map(|entry| entry.touch).collect()
    }

    /// The table in which these touches have the numbers of their places; `None` if one occurs
    /// twice.
    pub fn of(touches: Vec<Touch>) -> Option<Self> {
        let mut table = TouchTable::default();
        let is_next = |(number, touch)| table.number(touch) as usize == number;
        touches.into_iter().enumerate().all(is_next).then_some(table)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The numbers of the touches.
    pub fn numbers(&mut self, touches: &Footprint) -> TouchNumbers {
        touches.iter().map(|&touch| self.number(touch)).collect()
    }

    fn number(&mut self, touch: Touch) -> u32 {
        let same_cell = self.by_cell.entry(touch.cell).or_default();
        let entries = &mut self.entries;
        if let Some(&number) = same_cell.iter().find(|&&number| entries[number as usize].touch == touch) {
            return number;
        }
        let number = entries.len() as u32;
        same_cell.push(number);
        entries.push(Entry { touch, rivals: TouchSet::default() });
        for &other in same_cell.iter() {
            if entries[other as usize].touch.conflicts(&touch) {
                entries[other as usize].rivals.insert(number);
                entries[number as usize].rivals.insert(other);
            }
        }
        number
    }

    /// The touches of a set.
    pub fn touches(&self, set: &TouchSet) -> Vec<Touch> {
        set.numbers().map(|number| self.entries[number as usize].touch).collect()
    }

    /// Whether one of these touches conflicts with one of the set.
    pub fn conflicts_with(&self, numbers: &[u32], set: &TouchSet) -> bool {
        numbers.iter().any(|&number| self.entries[number as usize].rivals.meets(set))
    }

    /// Whether one of these touches conflicts with one of the others.
    pub fn conflict(&self, some: &[u32], others: &[u32]) -> bool {
        let touch = |number: &u32| &self.entries[*number as usize].touch;
        some.iter().any(|one| others.iter().any(|other| touch(one).conflicts(touch(other))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Mode;
    use raddle_model::depend::conflict;

    /// Sets of numbers say what lists of touches say.
    #[test]
    fn numbers_stand_for_touches() {
        let touch = |seed: u64| {
            let mode = [Mode::Observe, Mode::Share, Mode::Write][(seed % 3) as usize];
            Touch { cell: seed / 3 % 40, bytes: if seed.is_multiple_of(2) { 0x0f } else { 0x3c }, mode }
        };
        let all: Vec<Touch> = (0..240).map(touch).collect();
        let mut table = TouchTable::default();
        for chunk in all.chunks(7).zip(all.iter().rev().collect::<Vec<_>>().chunks(5)) {
            let one: Footprint = chunk.0.iter().copied().collect();
            let other: Footprint = chunk.1.iter().map(|&&touch| touch).collect();
            let (one_numbers, other_numbers) = (table.numbers(&one), table.numbers(&other));
            let mut set = TouchSet::default();
            other_numbers.iter().for_each(|&number| set.insert(number));
            assert_eq!(table.conflicts_with(&one_numbers, &set), conflict(&one, &other));
            assert_eq!(table.conflict(&one_numbers, &other_numbers), conflict(&one, &other));
            let listed = table.touches(&set);
            assert!(listed.iter().all(|touch| other.contains(touch)) && other.iter().all(|t| listed.contains(t)));
            let mut larger = set.clone();
            one_numbers.iter().for_each(|&number| larger.insert(number));
            assert!(set.is_subset(&larger));
            assert_eq!(larger.is_subset(&set), one.iter().all(|touch| other.contains(touch)));
        }
    }
}
