//! Sets of addresses.

/// Disjoint ranges of addresses in increasing order: from the first up to, but not including, the
/// second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRanges(Vec<(u64, u64)>);

impl AddressRanges {
    /// The union of these ranges; empty ones are left out.
    pub fn of(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.retain(|&(from, to)| from < to);
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        AddressRanges(merged)
    }

    /// What of a range lies outside of all these, in increasing order.
    pub fn gaps(&self, (from, to): (u64, u64)) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = from;
        let first = self.0.partition_point(|&(_, end)| end <= from);
        for &(start, end) in self.0[first..].iter().take_while(|&&(start, _)| start < to) {
            if at < start {
                gaps.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }

    /// Whether an address is in one of them.
    pub fn contains(&self, address: u64) -> bool {
        let next = self.0.partition_point(|&(_, end)| end <= address);
        self.0.get(next).is_some_and(|&(start, _)| start <= address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_are_the_gaps() {
        let ranges = AddressRanges::of(vec![(30, 40), (10, 20), (15, 25), (50, 50)]);
        assert_eq!(ranges, AddressRanges(vec![(10, 25), (30, 40)]));
        assert_eq!(ranges.gaps((0, 50)), [(0, 10), (25, 30), (40, 50)]);
        assert_eq!(ranges.gaps((12, 35)), [(25, 30)]);
        assert_eq!(ranges.gaps((12, 20)), []);
        assert_eq!(AddressRanges::default().gaps((1, 2)), [(1, 2)]);
        assert!(ranges.contains(10) && ranges.contains(24) && !ranges.contains(25) && !ranges.contains(45));
    }
}
