//! Pins a target and the host thread that takes turns with it to one CPU.
//!
//! Host and target work alternately. On one CPU, what one has written is still in the caches when
//! the other reads it, and neither has to be woken on a CPU that sleeps.
//!
//! On a busy machine the kernel's scheduler places them better: when other work competes for the
//! CPU, both are unpinned for a while. The program does not notice, because the runtime answers
//! questions about CPU affinity itself (`rt::interpose::thread::affinity`).

use std::cell::Cell;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::procfs::{self, Scheduled};

/// Do not pin during this time: short searches would pay for it.
const START_DELAY: Duration = Duration::from_millis(5);
/// Time between two checks of how long the pinned pair waited for its CPU.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Unpin when more than one part in this many of the time was spent waiting for the CPU.
const MAX_WAIT_FRACTION: u32 = 6;
/// How long the pair stays unpinned after that, the first time. The time doubles with each further
/// unpinning, up to [`LONGEST_PAUSE`].
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The CPUs that raddle may use. Read before the first pinning, because threads inherit the
/// affinity of their creators.
static ALLOWED: LazyLock<Option<CpuSet>> = LazyLock::new(|| sched_getaffinity(None).ok());

/// CPUs that a pair is pinned to.
static TAKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn taken() -> MutexGuard<'static, Vec<usize>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Whether this thread is pinned.
    static IS_PINNED: Cell<bool> = const { Cell::new(false) };
}

/// Starts a process that may use all CPUs. Without this it would inherit the affinity of this
/// thread. A thread that is not pinned itself, but inherited an affinity, stays unpinned
/// afterwards.
pub(super) fn start_unpinned<T>(start: impl FnOnce() -> T) -> T {
    let Some(all) = &*ALLOWED else { return start() };
    let pinned = sched_getaffinity(None).ok().filter(|_| IS_PINNED.get());
    let _ = sched_setaffinity(None, all);
    let started = start();
    if let Some(pinned) = pinned {
        let _ = sched_setaffinity(None, &pinned);
    }
    started
}

/// Times of thread and target from the kernel's scheduler, up to now.
#[derive(Clone, Copy, Debug, Default)]
struct PairTimes {
    thread: Scheduled,
    target: Scheduled,
}

impl PairTimes {
    /// A lower bound on the time for which other work kept the pair from computing. While one of
    /// the pair computes, the other may wait for it: that time does not count.
    fn contention_since(&self, before: &PairTimes) -> Duration {
        let since = |now: Duration, before: Duration| now.saturating_sub(before);
        let computed = |now: &Scheduled, before: &Scheduled| since(now.computed, before.computed);
        let waited = |now: &Scheduled, before: &Scheduled| since(now.waited, before.waited);
        since(waited(&self.thread, &before.thread), computed(&self.target, &before.target))
            + since(waited(&self.target, &before.target), computed(&self.thread, &before.thread))
    }
}

/// Invariant: while `Pinned`, `cpu` is in [`TAKEN`].
#[derive(Clone, Copy, Debug)]
enum State {
    Unpinned { until: Instant },
    Pinned { cpu: usize, checked: Instant, before: PairTimes },
}

/// The pinning of a target and of the thread that started it.
#[derive(Debug)]
pub(super) struct CpuPin {
    target: Pid,
    thread: ThreadId,
    state: State,
    pause: Duration,
}

impl CpuPin {
    /// Unpinned at first; see [`START_DELAY`].
    pub(super) fn new(target: Pid) -> Self {
        let state = State::Unpinned { until: Instant::now() + START_DELAY };
        CpuPin { target, thread: thread::current().id(), state, pause: SHORTEST_PAUSE }
    }

    /// To be called between two turns: pins, or checks whether to stay pinned.
    pub(super) fn update(&mut self) {
        let now = Instant::now();
        match self.state {
            State::Unpinned { until } if now >= until => self.pin(now),
            State::Pinned { cpu, checked, before } if now >= checked + CHECK_INTERVAL => match self.times() {
                Some(times) if times.contention_since(&before) <= (now - checked) / MAX_WAIT_FRACTION => {
                    self.state = State::Pinned { cpu, checked: now, before: times };
                }
                _ => self.pause(now),
            },
            State::Unpinned { .. } | State::Pinned { .. } => {}
        }
    }

    /// Unpins for a while: other work wants the CPU, or the kernel does not say whether it does.
    fn pause(&mut self, now: Instant) {
        self.unpin();
        tracing::debug!(pid = self.target.as_raw_nonzero(), pause = ?self.pause, "CPU is busy: unpinned");
        self.state = State::Unpinned { until: now + self.pause };
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// `None` if the kernel does not say.
    fn times(&self) -> Option<PairTimes> {
        let target = self.target.as_raw_nonzero().to_string();
        Some(PairTimes { thread: procfs::scheduled("thread-self")?, target: procfs::scheduled(&target)? })
    }

    /// Pins this thread and its target, unless the thread has another pinned target already.
    fn pin(&mut self, now: Instant) {
        self.state = State::Unpinned { until: now + LONGEST_PAUSE };
        if IS_PINNED.get() || thread::current().id() != self.thread {
            return;
        }
        let (Some(before), Some(cpu)) = (self.times(), claim()) else { return };
        IS_PINNED.set(true);
        let mut only = CpuSet::new();
        only.set(cpu);
        self.state = State::Pinned { cpu, checked: now, before };
        if sched_setaffinity(Some(self.target), &only).and_then(|()| sched_setaffinity(None, &only)).is_err() {
            self.unpin();
            self.state = State::Unpinned { until: now + LONGEST_PAUSE };
            return;
        }
        tracing::debug!(pid = self.target.as_raw_nonzero(), cpu, "pinned to one CPU");
    }

    fn unpin(&self) {
        let State::Pinned { cpu, .. } = self.state else { return };
        if let Some(all) = &*ALLOWED {
            let _ = sched_setaffinity(Some(self.target), all);
            // Another thread drops this when its own thread has ended; nothing is pinned then.
            if thread::current().id() == self.thread {
                let _ = sched_setaffinity(None, all);
                IS_PINNED.set(false);
            }
        }
        taken().retain(|&other| other != cpu);
    }
}

impl Drop for CpuPin {
    fn drop(&mut self) {
        self.unpin();
    }
}

/// Takes a CPU that no pair is pinned to, preferably the present one. `None` if all are taken or
/// there is only one.
fn claim() -> Option<usize> {
    let allowed = (*ALLOWED).as_ref().filter(|allowed| allowed.count() > 1)?;
    let mut taken = taken();
    let is_free = |cpu: &usize| allowed.is_set(*cpu) && !taken.contains(cpu);
    let present = procfs::present_cpu().filter(is_free);
    let cpu = present.or_else(|| (0..CpuSet::MAX_CPU).find(is_free))?;
    taken.push(cpu);
    Some(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(computed: u64, waited: u64) -> Scheduled {
        Scheduled { computed: Duration::from_millis(computed), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn waiting_for_each_other_is_no_contention() {
        let before = PairTimes { thread: scheduled(100, 10), target: scheduled(50, 5) };
        let alone = PairTimes { thread: scheduled(115, 15), target: scheduled(55, 6) };
        assert_eq!(alone.contention_since(&before), Duration::ZERO);
        let contended = PairTimes { thread: scheduled(107, 20), target: scheduled(53, 6) };
        assert_eq!(contended.contention_since(&before), Duration::from_millis(7));
        let target_kept = PairTimes { thread: scheduled(101, 10), target: scheduled(60, 15) };
        assert_eq!(target_kept.contention_since(&before), Duration::from_millis(9));
    }

    #[test]
    fn no_cpu_is_claimed_twice() {
        let all = sched_getaffinity(None).unwrap();
        let claimed: Vec<usize> = std::iter::from_fn(claim).collect();
        let mut different = claimed.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), claimed.len());
        if all.count() > 1 {
            assert_eq!(claimed.len(), all.count() as usize);
        }
        taken().clear();
    }
}
