//! Numbers in place of addresses.

use rustc_hash::FxHashMap;

/// Keys that are found without hashing, at most.
const RECENT: usize = 64;

/// Gives keys numbers from 0 on, in the order in which they come. Runs of one program have the same
/// few keys again and again, so nearly all of them are found in a table by their low bits.
#[derive(Clone, Debug)]
pub struct DenseNumbers {
    all: FxHashMap<u64, u32>,
    recent: [(u64, Option<u32>); RECENT],
}

impl Default for DenseNumbers {
    fn default() -> Self {
        DenseNumbers { all: FxHashMap::default(), recent: [(0, None); RECENT] }
    }
}

/// The place of a key in the table. The lowest bits of an address are those of its alignment.
#[inline]
fn slot(key: u64) -> usize {
    (key ^ key >> 3 ^ key >> 12) as usize % RECENT
}

impl DenseNumbers {
    /// The number of the key, if it has one.
    #[must_use]
    #[inline]
    pub fn get(&self, key: u64) -> Option<u32> {
        let (recent, number) = self.recent[slot(key)];
        if recent == key && number.is_some() { number } else { self.find(key) }
    }

    #[cold]
    fn find(&self, key: u64) -> Option<u32> {
        self.all.get(&key).copied()
    }

    /// The number of the key, which gets the next one if it has none; whether it had none.
    #[inline]
    pub fn number(&mut self, key: u64) -> (u32, bool) {
        match self.recent[slot(key)] {
            (recent, Some(number)) if recent == key => (number, false),
            _ => self.enter(key),
        }
    }

    #[cold]
    fn enter(&mut self, key: u64) -> (u32, bool) {
        let next = self.all.len() as u32;
        let number = *self.all.entry(key).or_insert(next);
        self.recent[slot(key)] = (key, Some(number));
        (number, number == next)
    }

    /// All keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.all.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_numbers() {
        let mut numbers = DenseNumbers::default();
        assert_eq!(numbers.get(0), None);
        // All of them in one place of the table, and among them the key of an empty place.
        let keys: Vec<u64> = (0..100).map(|key| key << 40).collect();
        for (expected, &key) in (0..).zip(&keys) {
            assert_eq!(numbers.get(key), None);
            assert_eq!(numbers.number(key), (expected, true));
            assert_eq!(numbers.get(key), Some(expected));
        }
        for (expected, &key) in (0..).zip(&keys) {
            assert_eq!(numbers.get(key), Some(expected));
            assert_eq!(numbers.number(key), (expected, false));
        }
        let mut all: Vec<u64> = numbers.keys().collect();
        all.sort_unstable();
        assert_eq!(all, keys);
    }
}
