//! `--partial-io`: input and output of streams may transfer fewer bytes than are there, as POSIX
//! allows. How many is a choice of the search, made before the operation: all, one, or all but one.

use raddle_wire::config_flag;

use crate::interpose::annotations::open_values;
use crate::state::{controlled, process};

/// How much of what is there is transferred.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// All.
    All,
    /// One byte.
    One,
    /// All but one byte.
    AllButOne,
}

impl Portion {
    /// The number of bytes of these.
    pub fn of(self, bytes: usize) -> usize {
        match self {
            Portion::All => bytes,
            Portion::One => bytes.min(1),
            Portion::AllButOne => bytes.saturating_sub(1).max(bytes.min(1)),
        }
    }
}

/// Chooses for a transfer of at most so many bytes.
pub fn choose(bytes: usize, pc: u64) -> Portion {
    if bytes < 2 || !controlled() || process().config_flags & config_flag::PARTIAL_IO == 0 {
        return Portion::All;
    }
    let portions = [Portion::All, Portion::One, Portion::AllButOne];
    // Of two bytes, one is all but one.
    let count = if bytes == 2 { 2 } else { 3 };
    portions[open_values::choose(count, pc, |number| number as i64) as usize]
}
