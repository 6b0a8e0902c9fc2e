//! DHTC: happens-before with thread states and conservative locksets.
//!
//! After Liang and Ai ("Research for concurrent program data race checking algorithm in control system", 2014), whose figures miss races. As
//! corrected it is [`crate::pdp`] with a filter: what the accesses to an object amount to (one thread reads it, one thread
//! writes it, several read it, or several access it and one writes) is asked first, and only the last of these states makes it
//! necessary to compare locksets. So it explores the same executions; what differs is the cost of a check.

use crate::pdp::{Knowledge, with_filter};
use crate::restart::RestartOnSpinloop;

/// The search.
#[must_use]
pub fn dhtc(knowledge: Option<Knowledge>, spurious: u32) -> RestartOnSpinloop {
    with_filter(knowledge, spurious, true)
}
