//! Waiting for a word in the shared file to change.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex;

/// Lengths of successive waits. Short at first, because a target usually answers at once. Bounded,
/// because a dead target is only noticed between two waits.
#[derive(Debug)]
pub(crate) struct Pause(Duration);

impl Pause {
    const LONGEST: Duration = Duration::from_millis(50);

    pub(crate) fn new() -> Self {
        Pause(Duration::from_millis(1))
    }

    pub(crate) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::LONGEST);
        now
    }
}

/// Waits until the word is woken, differs from `value`, or the time is over. Callers read the word
/// again in any case.
pub(crate) fn on(word: &AtomicU32, value: u32, at_most: Duration) {
    let timeout = futex::Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // Not private: the other side is another process.
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&timeout));
}

/// Wakes the processes that wait for the word.
pub(crate) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}
