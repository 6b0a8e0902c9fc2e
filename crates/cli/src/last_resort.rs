//! Ends a command that does not end by itself within a second after its time limit or a signal.
//!
//! Searches, waits and solvers look at the limit and at signals themselves. Whatever else takes
//! long (the analysis of one execution, a witness, names, a compiler), a thread waits beside it and
//! says what is known so far.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_exec::interrupt;
use raddle_model::finding::Reason;

/// Time that a command has to end by itself.
const PATIENCE: Duration = Duration::from_millis(750);

/// How often the limit and signals are looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Why a command has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Its time limit has passed.
    Late,
    /// A signal came.
    Interrupted,
}

impl StopCause {
    /// The reason in a report.
    pub fn reason(self) -> Reason {
        let (code, text) = match self {
            StopCause::Late => ("time-limit", "the time limit was reached (--time-limit)"),
            StopCause::Interrupted => ("interrupted", "the search was interrupted"),
        };
        Reason { code: code.into(), text: text.into() }
    }
}

/// A command that is watched. It must say when it has ended.
pub struct LastResort {
    has_ended: Arc<Mutex<bool>>,
}

impl LastResort {
    /// Watches the command from now on. `give_up` says what is known so far and returns the status
    /// to exit with.
    pub fn watch(limit: Option<Duration>, give_up: impl FnOnce(StopCause) -> u8 + Send + 'static) -> Self {
        let has_ended = Arc::new(Mutex::new(false));
        let watched = Arc::clone(&has_ended);
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        std::thread::spawn(move || {
            let Some(cause) = wait(deadline, &watched) else { return };
            std::thread::sleep(PATIENCE);
            let ended = locked(&watched);
            if !*ended {
                let status = give_up(cause);
                raddle_exec::end_children();
                // The lock is kept, so that the command does not end in the middle of this.
                std::process::exit(status.into());
            }
        });
        LastResort { has_ended }
    }

    /// The command has its answer, and says it itself.
    pub fn stand_down(&self) {
        *locked(&self.has_ended) = true;
    }
}

impl Drop for LastResort {
    fn drop(&mut self) {
        self.stand_down();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the command has to end; `None` if it has ended.
fn wait(deadline: Option<Instant>, has_ended: &Mutex<bool>) -> Option<StopCause> {
    loop {
        if *locked(has_ended) {
            return None;
        }
        if interrupt::requested() {
            return Some(StopCause::Interrupted);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Some(StopCause::Late);
        }
        std::thread::sleep(left.map_or(PERIOD, |left| left.min(PERIOD)));
    }
}
