//! Ends a command that does not end by itself within a second after its time limit or a signal.
//!
//! Searches, waits and solvers look at the limit and at signals themselves. Whatever else takes
//! long (the analysis of one execution, a witness, names, a compiler), a thread waits beside it and
//! says what is known so far. On a busy machine everything takes longer: time in which the command
//! was ready to compute but had no processor does not count, up to a bound.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_exec::{Starvation, interrupt};
use raddle_model::finding::Reason;

/// Time that a command has to end by itself.
const PATIENCE: Duration = Duration::from_millis(750);

/// The same with all the time that it had no processor.
const MOST_PATIENCE: Duration = Duration::from_secs(8);

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

/// What a command is that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    /// It has its answer.
    Ended,
    /// What is known was said without it.
    GivenUp,
}

/// How things go on once a command was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterGivingUp {
    /// The process exits with this status.
    Exit(u8),
    /// The process does something else. The thread of the command ends when it notices.
    GoOn,
}

/// A command that is watched. It must say when it has ended.
pub struct LastResort {
    state: Arc<Mutex<State>>,
}

impl LastResort {
    /// Watches the command from now on. `give_up` says what is known so far and how to go on.
    pub fn watch(limit: Option<Duration>, give_up: impl FnOnce(StopCause) -> AfterGivingUp + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::Runs));
        let watched = Arc::clone(&state);
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        std::thread::spawn(move || {
            let Some(cause) = wait(deadline, &watched) else { return };
            be_patient(&watched);
            // The lock is kept, so that the command does not end in the middle of this.
            let mut state = locked(&watched);
            if *state == State::Runs {
                match give_up(cause) {
                    AfterGivingUp::Exit(status) => {
                        raddle_exec::end_children();
                        std::process::exit(status.into());
                    }
                    AfterGivingUp::GoOn => {
                        *state = State::GivenUp;
                        raddle_exec::kill_children();
                    }
                }
            }
        });
        LastResort { state }
    }

    /// The command has its answer. Returns whether it is to say it itself.
    pub fn stand_down(&self) -> bool {
        let mut state = locked(&self.state);
        if *state == State::Runs {
            *state = State::Ended;
        }
        *state == State::Ended
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
fn wait(deadline: Option<Instant>, state: &Mutex<State>) -> Option<StopCause> {
    loop {
        if *locked(state) != State::Runs {
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

/// Waits for the command to end by itself.
fn be_patient(state: &Mutex<State>) {
    let (begun, mut last) = (Instant::now(), Instant::now());
    let mut starvation = Starvation::default();
    let mut left = PATIENCE;
    starvation.grown();
    while !left.is_zero() && begun.elapsed() < MOST_PATIENCE && *locked(state) == State::Runs {
        std::thread::sleep(PERIOD.min(left));
        let passed = last.elapsed();
        last = Instant::now();
        left = left.saturating_sub(passed.saturating_sub(starvation.grown()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_command_that_is_given_up_does_not_speak() {
        let (tell, told) = mpsc::channel();
        let last_resort = LastResort::watch(Some(Duration::ZERO), move |cause| {
            let _ = tell.send(cause);
            AfterGivingUp::GoOn
        });
        assert_eq!(told.recv(), Ok(StopCause::Late));
        assert!(!last_resort.stand_down());
        let last_resort = LastResort::watch(None, |_| AfterGivingUp::GoOn);
        assert!(last_resort.stand_down() && last_resort.stand_down());
    }
}
