//! One processor for a target and the thread that takes turns with it: what one of them has written is then in the caches when the other
//! reads it, and neither has to be woken on a processor that sleeps.
//!
//! The scheduler knows better than that on a busy machine: while others want the processor, too, the seat is given up for some time. The program
//! sees nothing of all this, because the runtime answers for it (`rt::interpose::thread::affinity`).

use std::cell::Cell;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::process::{self, Scheduled};

/// A search that is over by then had better be left alone.
const FIRST: Duration = Duration::from_millis(5);
/// Time between two looks at how long the seat was waited for.
const LOOK: Duration = Duration::from_millis(20);
/// A seat that is waited for during more than one of so many parts of the time is given up.
const CROWDED: u32 = 6;
/// How long one stands after that, the first time; twice as long each time that the seat is crowded again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The processors that raddle was given. Asked for before the first seat is taken, as threads inherit what their creators are bound to.
static ALL: LazyLock<Option<CpuSet>> = LazyLock::new(|| sched_getaffinity(None).ok());

/// Processors that somebody sits on.
static TAKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn taken() -> MutexGuard<'static, Vec<usize>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Whether this thread sits somewhere.
    static IS_PINNED: Cell<bool> = const { Cell::new(false) };
}

/// Starts something that shall be allowed all processors: it would inherit what this thread is bound to. A thread that sits nowhere
/// inherited that itself, and stays unbound.
pub(super) fn start_unpinned<T>(start: impl FnOnce() -> T) -> T {
    let Some(all) = &*ALL else { return start() };
    let pinned = sched_getaffinity(None).ok().filter(|_| IS_PINNED.get());
    let _ = sched_setaffinity(None, all);
    let started = start();
    if let Some(pinned) = pinned {
        let _ = sched_setaffinity(None, &pinned);
    }
    started
}

/// How thread and target have got on with the scheduler up to now.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    thread: Scheduled,
    target: Scheduled,
}

impl Figures {
    /// Time for which others kept them from computing, at least. Who has woken the other may wait while that one computes: that is no
    /// crowd.
    fn crowded_since(&self, before: &Figures) -> Duration {
        let since = |now: Duration, before: Duration| now.saturating_sub(before);
        let computed = |now: &Scheduled, before: &Scheduled| since(now.computed, before.computed);
        let waited = |now: &Scheduled, before: &Scheduled| since(now.waited, before.waited);
        since(waited(&self.thread, &before.thread), computed(&self.target, &before.target))
            + since(waited(&self.target, &before.target), computed(&self.thread, &before.thread))
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unpinned { until: Instant },
    Pinned { processor: usize, looked: Instant, before: Figures },
}

/// A place for a target and the thread that made it.
#[derive(Debug)]
pub(super) struct CpuPin {
    target: Pid,
    thread: ThreadId,
    state: State,
    pause: Duration,
}

impl CpuPin {
    /// Nothing happens before the first turns.
    pub(super) fn new(target: Pid) -> Self {
        let state = State::Unpinned { until: Instant::now() + FIRST };
        CpuPin { target, thread: thread::current().id(), state, pause: SHORTEST_PAUSE }
    }

    /// To be called between two turns.
    pub(super) fn turn(&mut self) {
        let now = Instant::now();
        match self.state {
            State::Unpinned { until } if now >= until => self.pin(now),
            State::Pinned { processor, looked, before } if now >= looked + LOOK => {
                let figures = self.figures();
                if figures.is_none_or(|figures| figures.crowded_since(&before) > (now - looked) / CROWDED) {
                    self.unpin();
                    self.state = State::Unpinned { until: now + self.pause };
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                } else if let Some(before) = figures {
                    self.state = State::Pinned { processor, looked: now, before };
                }
            }
            State::Unpinned { .. } | State::Pinned { .. } => {}
        }
    }

    /// `None` if the kernel does not say.
    fn figures(&self) -> Option<Figures> {
        let target = self.target.as_raw_nonzero().to_string();
        Some(Figures { thread: process::scheduled("thread-self")?, target: process::scheduled(&target)? })
    }

    fn pin(&mut self, now: Instant) {
        self.state = State::Unpinned { until: now + LONGEST_PAUSE };
        if IS_PINNED.get() || thread::current().id() != self.thread {
            return;
        }
        let (Some(before), Some(processor)) = (self.figures(), claim()) else { return };
        IS_PINNED.set(true);
        let mut only = CpuSet::new();
        only.set(processor);
        self.state = State::Pinned { processor, looked: now, before };
        if sched_setaffinity(Some(self.target), &only).and_then(|()| sched_setaffinity(None, &only)).is_err() {
            self.unpin();
            self.state = State::Unpinned { until: now + LONGEST_PAUSE };
        }
    }

    fn unpin(&self) {
        let State::Pinned { processor, .. } = self.state else { return };
        if let Some(all) = &*ALL {
            let _ = sched_setaffinity(Some(self.target), all);
            // A thread that is over has nothing to rise from.
            if thread::current().id() == self.thread {
                let _ = sched_setaffinity(None, all);
                IS_PINNED.set(false);
            }
        }
        taken().retain(|&other| other != processor);
    }
}

impl Drop for CpuPin {
    fn drop(&mut self) {
        self.unpin();
    }
}

/// Takes a processor that nobody sits on: the present one if it is free. With a single one there is nothing to choose.
fn claim() -> Option<usize> {
    let all = (*ALL).as_ref().filter(|all| all.count() > 1)?;
    let mut taken = taken();
    let is_free = |processor: &usize| all.is_set(*processor) && !taken.contains(processor);
    let present = process::present_processor().filter(is_free);
    let processor = present.or_else(|| (0..CpuSet::MAX_CPU).find(is_free))?;
    taken.push(processor);
    Some(processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(computed: u64, waited: u64) -> Scheduled {
        Scheduled { computed: Duration::from_millis(computed), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn waiting_for_each_other_is_no_crowd() {
        let before = Figures { thread: scheduled(100, 10), target: scheduled(50, 5) };
        let alone = Figures { thread: scheduled(115, 15), target: scheduled(55, 6) };
        assert_eq!(alone.crowded_since(&before), Duration::ZERO);
        let crowded = Figures { thread: scheduled(107, 20), target: scheduled(53, 6) };
        assert_eq!(crowded.crowded_since(&before), Duration::from_millis(7));
        let target_kept = Figures { thread: scheduled(101, 10), target: scheduled(60, 15) };
        assert_eq!(target_kept.crowded_since(&before), Duration::from_millis(9));
    }

    #[test]
    fn nobody_sits_on_a_processor_that_is_taken() {
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
