//! Journals of interrupted searches: the file, and the searches in its records.

use std::ops::ControlFlow;

use raddle_exec::SpinFacts;
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::dpor::Dpor;
use raddle_explore::driver::{ResumedSearch, SearchProgress, Watcher, explore_watched};
use raddle_explore::pdp;
use raddle_explore::pool::RunOutcome;
use raddle_explore::portion::Portions;
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::saved::Loader;
use raddle_explore::{Classification, Strategy, WorkerPool};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{Granularity, MemoryTarget};

/// Larger searches test nothing new.
const MAX_BYTES: usize = 1 << 16;
/// Runs that a search makes once it goes on.
const RUNS: u32 = 24;
/// Events of a run.
const EVENTS: u64 = 1000;
/// The program that is searched.
const PROGRAM: u64 = 11;

/// Reads the bytes as a file, as what is known of spin loops, and as a search that goes on: the
/// first byte says with which strategy.
pub fn journal(data: &[u8]) {
    let data = &data[..data.len().min(MAX_BYTES)];
    let _ = raddle_journal::parse(data);
    let _ = SpinFacts::from_bytes(data);
    let Some((&which, bytes)) = data.split_first() else { return };
    let mut strategy = strategy(which);
    if let Ok(resumed) = ResumedSearch::load(&mut Loader::new(bytes), &mut *strategy) {
        let mut target = MemoryTarget::with(&generate(PROGRAM, &knobs()), Granularity::Sync, 0, 4).with_keys();
        let mut pool = WorkerPool::of_one(&mut target);
        let _ = explore_watched(&mut *strategy, &mut pool, &mut AFew(RUNS), Some(resumed));
    }
}

fn knobs() -> Knobs {
    Knobs { threads: 3, length: 4, atomics: true, awaits: true, ..Knobs::drawn(PROGRAM, 3, 4) }
}

/// A strategy in its bounds.
fn strategy(which: u8) -> Box<dyn Strategy> {
    let inner: Box<dyn Strategy> = match which % 7 {
        0 => Box::new(optimal_with_dpor_fallback(0)),
        1 => Box::new(RestartOnSpinloop::new(|_| Box::new(Dpor::new(0)))),
        2 => Box::new(RestartOnSpinloop::new(|_| Box::new(Dpor::matching_states(0, 1 << 16)))),
        3 => Box::new(Dfs::of_traces(0).bounded(1)),
        4 => Box::new(Sampling::pct(1, 3)),
        5 => Box::new(pdp::unpruned(0)),
        _ => Box::new(Portions::new(Dfs::new(0))),
    };
    Box::new(TimeLimit::new(MaxExecutions::new(MaxEvents::new(inner, EVENTS), 1000), None))
}

/// Ends a search after so many runs.
struct AFew(u32);

impl Watcher<MemoryTarget> for AFew {
    fn see(&mut self, _: &RunOutcome<'_>, _: Classification, _: &SearchProgress) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
