//! Tells a target that hangs from one that is not let run.
//!
//! On a busy machine a target may have to wait for a processor, and so may the host; a machine may even stop for a while as a whole.
//! None of that is silence of the target. Its silence is the time in which it slept, and the time for which it computed. Who slept all
//! the while waits in the kernel for something that raddle does not model, and is not at fault.

use std::time::{Duration, Instant};

/// The host looks far more often: of a longer time between two looks, the rest is nobody's watchdog.
const LONGEST_LOOK: Duration = Duration::from_millis(200);

/// What the processes of a target are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    /// One of them computes, or would if there were a processor for it.
    pub runnable: bool,
    /// For how long they have computed up to now.
    pub computed: Duration,
}

/// The time since the last sign of life.
#[derive(Debug)]
pub(super) struct Watchdog<S> {
    last_sign: S,
    lasted: Duration,
    slept: Duration,
    looked: Instant,
    computed: Option<Duration>,
}

impl<S: PartialEq> Watchdog<S> {
    pub(super) fn begin(sign: S, now: Instant) -> Self {
        Watchdog { last_sign: sign, lasted: Duration::ZERO, slept: Duration::ZERO, looked: now, computed: None }
    }

    /// Takes note of what there is to see; how long the silence has lasted. Activity is asked for only if the sign is still the same.
    pub(super) fn look(&mut self, sign: S, now: Instant, activity: impl FnOnce() -> Option<Activity>) -> Duration {
        if sign != self.last_sign {
            *self = Self::begin(sign, now);
            return Duration::ZERO;
        }
        let mut passed = now.saturating_duration_since(self.looked).min(LONGEST_LOOK);
        self.looked = now;
        if let Some(Activity { runnable, computed }) = activity() {
            let before = self.computed.replace(computed).unwrap_or(computed);
            let meanwhile = computed.saturating_sub(before);
            if runnable {
                passed = passed.min(meanwhile);
            } else {
                self.slept += passed.saturating_sub(meanwhile);
            }
        }
        self.lasted += passed;
        self.lasted
    }

    /// Whether the target slept for nearly all of it.
    pub(super) fn was_sleep(&self) -> bool {
        self.slept >= self.lasted / 10 * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_millis(50);

    /// The silence after so many looks, each of which sees the target so.
    fn looked(looks: u32, step: Duration, activity: impl Fn(u32) -> Option<Activity>) -> Watchdog<u32> {
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(0, begun);
        for look in 1..=looks {
            watchdog.look(0, begun + step * look, || activity(look));
        }
        watchdog
    }

    /// How long it is.
    fn after(looks: u32, step: Duration, activity: impl Fn(u32) -> Option<Activity>) -> Duration {
        looked(looks, step, activity).lasted
    }

    #[test]
    fn sleeping_and_computing_are_silence() {
        let asleep = Activity { runnable: false, computed: Duration::ZERO };
        assert_eq!(after(20, LOOK, |_| Some(asleep)), LOOK * 20);
        // Before the first look nobody knows for how long it has computed.
        assert_eq!(after(20, LOOK, |look| Some(Activity { runnable: true, computed: LOOK * look })), LOOK * 19);
        assert_eq!(after(20, LOOK, |_| None), LOOK * 20);
    }

    #[test]
    fn waiting_for_a_processor_is_none() {
        let starved = |look| Some(Activity { runnable: true, computed: LOOK / 10 * look });
        assert_eq!(after(21, LOOK, starved), LOOK * 2);
        // Nor is the time in which the host itself, or the whole machine, stood still.
        let asleep = Activity { runnable: false, computed: Duration::ZERO };
        assert_eq!(after(2, Duration::from_secs(60), |_| Some(asleep)), LONGEST_LOOK * 2);
    }

    #[test]
    fn only_who_slept_nearly_all_the_while_waited() {
        let asleep = Activity { runnable: false, computed: Duration::ZERO };
        assert!(looked(20, LOOK, |look| (look > 1).then_some(asleep)).was_sleep());
        // Nobody knows.
        assert!(!looked(20, LOOK, |_| None).was_sleep());
        assert!(!looked(20, LOOK, |look| Some(Activity { runnable: true, computed: LOOK * look })).was_sleep());
        // Seen asleep each time, and yet it computed for half of the time in between.
        assert!(!looked(20, LOOK, |look| Some(Activity { runnable: false, computed: LOOK / 2 * look })).was_sleep());
    }

    #[test]
    fn a_sign_of_life_ends_it() {
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(0, begun);
        assert_eq!(watchdog.look(0, begun + LOOK, || None), LOOK);
        assert_eq!(watchdog.look(1, begun + 2 * LOOK, || unreachable!()), Duration::ZERO);
        assert_eq!(watchdog.look(1, begun + 3 * LOOK, || None), LOOK);
    }
}
