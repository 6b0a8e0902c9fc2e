//! DHTC: happens-before with thread states and conservative locksets.
//!
//! After Liang and Ai ("Research for concurrent program data race checking algorithm in control
//! system", 2014). The algorithm as published misses races. The corrected version is [`crate::pdp`]
//! with a filter. The filter first classifies the accesses to an object: one thread reads it, one
//! thread writes it, several read it, or several access it and at least one writes. Only the last
//! class needs a comparison of locksets. So it explores the same executions, and only the cost of a
//! check differs.

use crate::pdp::{Knowledge, with_filter};
use crate::restart::RestartOnSpinloop;

/// The search.
#[must_use]
pub fn dhtc(knowledge: Option<Knowledge>, spurious: u32) -> RestartOnSpinloop {
    with_filter(knowledge, spurious, true)
}
