//! Exit statuses as options name them.

use std::ops::RangeInclusive;

use thiserror::Error;

/// Statuses that follow each other, as `3`, `1-7` or `-1` name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(RangeInclusive<i32>);

/// A text that names no statuses.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("a status is a number from -128 to 255, several are two of them as in 1-7, the lower one first")]
pub struct NoStatuses;

impl Statuses {
    /// Reads one of the forms.
    ///
    /// # Errors
    /// If the text has none of them.
    pub fn parse(text: &str) -> Result<Self, NoStatuses> {
        let number = |text: &str| {
            let is_plain = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_plain && (-128..=255).contains(number)).ok_or(NoStatuses)
        };
        // A minus sign in front of all belongs to the number.
        let split = text.get(1..).and_then(|rest| rest.find('-')).map(|at| at + 1);
        let (first, last) = match split {
            Some(at) => (number(&text[..at])?, number(&text[at + 1..])?),
            None => (number(text)?, number(text)?),
        };
        if first <= last { Ok(Statuses(first..=last)) } else { Err(NoStatuses) }
    }

    /// Each of them, as the system keeps it: the lowest eight bits.
    pub fn each(&self) -> impl Iterator<Item = i32> {
        self.0.clone().map(|status| status & 0xff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_statuses() {
        let read = |text| Statuses::parse(text).map(|statuses| statuses.each().collect::<Vec<_>>());
        assert_eq!(read("3"), Ok(vec![3]));
        assert_eq!(read("1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(read("-1"), Ok(vec![255]));
        assert_eq!(read("-2--1"), Ok(vec![254, 255]));
        assert_eq!(read("-1-1"), Ok(vec![255, 0, 1]));
        for wrong in ["", "-", "3-", "3-1", "a", "1-b", "256", "-129", "1-2-3", "+1", "1 - 2", "é", "1-é"] {
            assert_eq!(read(wrong), Err(NoStatuses), "{wrong}");
        }
    }
}
