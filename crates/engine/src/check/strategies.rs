//! The strategy that the options ask for, inside the bounds that they set.

use raddle_explore::Strategy;
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::dhtc::dhtc;
use raddle_explore::dpor::Dpor;
use raddle_explore::optimal::Optimal;
use raddle_explore::pdp::{Knowledge, pdp};
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::weak::Weak;

use crate::options::{CheckOptions, StrategyName};

/// Runs of a sampling strategy that has no other bound.
const SAMPLES: u64 = 10_000;
/// Memory for the states that a search remembers, where the system does not say how much is free.
const CACHE_BYTES: u64 = 1 << 30;
/// Bug depth that `pct` aims at.
const PCT_DEPTH: u32 = 3;

/// The strategy with its bounds. `is_shared`: several targets work on it.
pub fn build(options: &CheckOptions, knowledge: Option<Knowledge>, is_shared: bool) -> Box<dyn Strategy> {
    if options.memory.is_weak() {
        let memory = options.memory;
        let search = RestartOnSpinloop::new(move |_| Box::new(Weak::new(memory)));
        // What one target learns of spin loops the others do not know.
        let search = if is_shared { search.preceded_by(Weak::new(memory)) } else { search };
        return within_bounds(options, Box::new(search));
    }
    let strategy = match options.preemptions.and_then(|bound| bounded(options, bound)) {
        Some(strategy) => strategy,
        None => of_name(options, options.strategy, knowledge, is_shared),
    };
    within_bounds(options, strategy)
}

/// The strategy of this name without bounds.
pub fn of_name(
    options: &CheckOptions,
    name: StrategyName,
    knowledge: Option<Knowledge>,
    is_shared: bool,
) -> Box<dyn Strategy> {
    if is_shared { shared(options, name, knowledge) } else { unbounded(options, name, knowledge) }
}

/// A search of all schedules with at most so many preemptions.
pub fn within_preemptions(spurious: u32, bound: u32) -> RestartOnSpinloop {
    RestartOnSpinloop::new(move |_| Box::new(Dfs::of_traces(spurious).bounded(bound)))
}

/// Whether a search by this strategy may recognise states.
pub fn may_match_states(name: StrategyName) -> bool {
    matches!(name, StrategyName::Auto | StrategyName::Stateful)
}

/// A search that recognises states.
pub fn matching_states(options: &CheckOptions) -> RestartOnSpinloop {
    let cache = usize::try_from(options.cache.unwrap_or_else(free_memory_quarter)).unwrap_or(usize::MAX);
    let spurious = options.spurious;
    RestartOnSpinloop::new(move |_| Box::new(Dpor::matching_states(spurious, cache)))
}

/// The strategy with a bound on preemptions; `None` for those that have no such bound. The options
/// refuse a bound for them.
fn bounded(options: &CheckOptions, bound: u32) -> Option<Box<dyn Strategy>> {
    let spurious = options.spurious;
    let search: fn(u32) -> Dfs = match options.strategy {
        StrategyName::Dfs => Dfs::new,
        // What can be left out without a bound is not what can be left out with one.
        StrategyName::Auto | StrategyName::Optimal | StrategyName::Dpor | StrategyName::Stateful => Dfs::of_traces,
        StrategyName::Random | StrategyName::Pct | StrategyName::Pos | StrategyName::Pdp | StrategyName::Dhtc => {
            return None;
        }
    };
    Some(Box::new(RestartOnSpinloop::new(move |_| Box::new(search(spurious).bounded(bound)))))
}

fn within_bounds(options: &CheckOptions, mut strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
    strategy = Box::new(MaxEvents::new(strategy, options.max_events));
    let unbounded = options.max_executions.is_none() && options.time_limit.is_none();
    let samples = (unbounded && options.strategy.samples()).then_some(SAMPLES);
    if let Some(limit) = options.max_executions.or(samples) {
        strategy = Box::new(MaxExecutions::new(strategy, limit));
    }
    Box::new(TimeLimit::new(strategy, options.time_limit))
}

/// The strategy for several targets, which starts again with one target where the program shows
/// busy waiting.
fn shared(options: &CheckOptions, name: StrategyName, knowledge: Option<Knowledge>) -> Box<dyn Strategy> {
    let spurious = options.spurious;
    let samples = |sampling: Sampling| -> Box<dyn Strategy> {
        Box::new(RestartOnSpinloop::of_shared_samples(move || Box::new(sampling.clone())))
    };
    match name {
        StrategyName::Auto | StrategyName::Optimal => {
            Box::new(optimal_with_dpor_fallback(spurious).preceded_by(Optimal::new(spurious)))
        }
        StrategyName::Random => samples(Sampling::random(options.seed)),
        StrategyName::Pct => samples(Sampling::pct(options.seed, PCT_DEPTH)),
        StrategyName::Pos => samples(Sampling::pos(options.seed)),
        // These cannot be shared.
        StrategyName::Stateful | StrategyName::Dpor | StrategyName::Dfs | StrategyName::Pdp | StrategyName::Dhtc => {
            unbounded(options, name, knowledge)
        }
    }
}

/// The strategy without a bound on preemptions, for one target.
fn unbounded(options: &CheckOptions, name: StrategyName, knowledge: Option<Knowledge>) -> Box<dyn Strategy> {
    let spurious = options.spurious;
    match name {
        StrategyName::Auto | StrategyName::Optimal => Box::new(optimal_with_dpor_fallback(spurious)),
        StrategyName::Stateful => Box::new(matching_states(options)),
        StrategyName::Dpor => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dpor::new(spurious)))),
        StrategyName::Dfs => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::new(spurious)))),
        StrategyName::Pdp => Box::new(pdp(knowledge, spurious)),
        StrategyName::Dhtc => Box::new(dhtc(knowledge, spurious)),
        StrategyName::Random => Box::new(Sampling::random(options.seed)),
        StrategyName::Pct => Box::new(Sampling::pct(options.seed, PCT_DEPTH)),
        StrategyName::Pos => Box::new(Sampling::pos(options.seed)),
    }
}

/// A quarter of the memory that the system has left.
pub fn free_memory_quarter() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = free.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.map_or(CACHE_BYTES, |kilobytes| kilobytes.saturating_mul(1024) / 4)
}
