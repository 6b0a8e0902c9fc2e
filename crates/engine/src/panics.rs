//! Panics of raddle itself. They are bugs, and must not take the findings so far with them.
//!
//! The work of a check or a prediction runs inside [`catch`]; what was found is kept outside of it.
//! A worker thread that panics hands its panic on to the thread that waits for it, so that one
//! place is enough. Printing is left to the panic hook of the program that uses this crate.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_model::finding::{Reason, Report};

/// The code of the reason why a report is not complete, if raddle panicked.
const CODE: &str = "panic";

/// Runs `work`; a panic becomes the reason why there is no more.
///
/// The caller must be able to go on after `work` stopped anywhere: it may use what it collected,
/// but must not go on with the search.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Reason {
        code: CODE.into(),
        text: format!("raddle has a bug and stopped: {}", message(&*payload)),
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("a panic without a message")
}

/// Whether raddle panicked while it made this report. Its findings are confirmed nevertheless.
#[must_use]
pub fn has_panicked(report: &Report) -> bool {
    report.reason.as_ref().is_some_and(|reason| reason.code == CODE)
}

/// Whether a test wants a panic at this place. Never in a release build.
pub(crate) fn is_provoked(place: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os("RADDLE_TEST_PANIC").is_some_and(|wanted| wanted == place)
}
