//! Tells a target that hangs from one that is not allowed to run.
//!
//! On a busy machine a target may have to wait for a CPU, and so may the host; a machine may even
//! stop for a while as a whole. Such time does not count. What counts as time without progress is
//! the time in which the target slept, and the time for which it computed.
//!
//! A target that only slept is blocked in a system call that is not modelled: this is a limit, not
//! a hang.

use std::time::{Duration, Instant};

/// The most time that counts between two checks. The host checks far more often: if more time has
/// passed, the host itself was not running.
const LONGEST_CHECK: Duration = Duration::from_millis(200);

/// What the processes of a target are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    /// One of them computes, or would if there were a CPU for it.
    pub runnable: bool,
    /// For how long they have computed up to now.
    pub computed: Duration,
}

/// The time without progress. `S` is a sign of life, which changes with each event of the target.
#[derive(Debug)]
pub(super) struct Watchdog<S> {
    last_sign: S,
    /// Time without progress.
    stalled: Duration,
    /// Part of it for which the target slept.
    slept: Duration,
    checked: Instant,
    /// For how long the target had computed at the last check.
    computed: Option<Duration>,
}

impl<S: PartialEq> Watchdog<S> {
    pub(super) fn begin(sign: S, now: Instant) -> Self {
        Watchdog { last_sign: sign, stalled: Duration::ZERO, slept: Duration::ZERO, checked: now, computed: None }
    }

    /// The time without progress up to now. `activity` is called only if the sign is still the
    /// same.
    pub(super) fn check(&mut self, sign: S, now: Instant, activity: impl FnOnce() -> Option<Activity>) -> Duration {
        if sign != self.last_sign {
            *self = Self::begin(sign, now);
            return Duration::ZERO;
        }
        let mut passed = now.saturating_duration_since(self.checked).min(LONGEST_CHECK);
        self.checked = now;
        if let Some(Activity { runnable, computed }) = activity() {
            let before = self.computed.replace(computed).unwrap_or(computed);
            let meanwhile = computed.saturating_sub(before);
            if runnable {
                passed = passed.min(meanwhile);
            } else {
                self.slept += passed.saturating_sub(meanwhile);
            }
        }
        self.stalled += passed;
        self.stalled
    }

    /// Whether the target slept for nearly all of that time.
    pub(super) fn was_sleep(&self) -> bool {
        self.slept >= self.stalled / 10 * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(50);

    const ASLEEP: Activity = Activity { runnable: false, computed: Duration::ZERO };

    /// A watchdog after some checks, the nth of which sees the nth activity.
    fn checked(checks: u32, interval: Duration, activity: impl Fn(u32) -> Option<Activity>) -> Watchdog<u32> {
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(0, begun);
        for check in 1..=checks {
            watchdog.check(0, begun + interval * check, || activity(check));
        }
        watchdog
    }

    /// The time without progress after some checks.
    fn stalled(checks: u32, interval: Duration, activity: impl Fn(u32) -> Option<Activity>) -> Duration {
        checked(checks, interval, activity).stalled
    }

    #[test]
    fn sleeping_and_computing_count() {
        assert_eq!(stalled(20, INTERVAL, |_| Some(ASLEEP)), INTERVAL * 20);
        // The first check only learns for how long the target has computed.
        let computing = |check| Some(Activity { runnable: true, computed: INTERVAL * check });
        assert_eq!(stalled(20, INTERVAL, computing), INTERVAL * 19);
        assert_eq!(stalled(20, INTERVAL, |_| None), INTERVAL * 20);
    }

    #[test]
    fn waiting_for_a_cpu_does_not_count() {
        let starved = |check| Some(Activity { runnable: true, computed: INTERVAL / 10 * check });
        assert_eq!(stalled(21, INTERVAL, starved), INTERVAL * 2);
        // Nor does the time in which the host itself, or the whole machine, stood still.
        assert_eq!(stalled(2, Duration::from_secs(60), |_| Some(ASLEEP)), LONGEST_CHECK * 2);
    }

    #[test]
    fn sleep_is_told_from_computing() {
        assert!(checked(20, INTERVAL, |check| (check > 1).then_some(ASLEEP)).was_sleep());
        // Not known.
        assert!(!checked(20, INTERVAL, |_| None).was_sleep());
        let computing = |check| Some(Activity { runnable: true, computed: INTERVAL * check });
        assert!(!checked(20, INTERVAL, computing).was_sleep());
        // Asleep at each check, and yet it computed for half of the time in between.
        let in_between = |check| Some(Activity { runnable: false, computed: INTERVAL / 2 * check });
        assert!(!checked(20, INTERVAL, in_between).was_sleep());
    }

    #[test]
    fn a_sign_of_life_starts_again() {
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(0, begun);
        assert_eq!(watchdog.check(0, begun + INTERVAL, || None), INTERVAL);
        assert_eq!(watchdog.check(1, begun + 2 * INTERVAL, || unreachable!()), Duration::ZERO);
        assert_eq!(watchdog.check(1, begun + 3 * INTERVAL, || None), INTERVAL);
    }
}
