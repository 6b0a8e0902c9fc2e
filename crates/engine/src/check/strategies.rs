//! The strategy that the options ask for, inside the bounds that they set.

use raddle_explore::Strategy;
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::dhtc::dhtc;
use raddle_explore::dpor::Dpor;
use raddle_explore::pdp::{Knowledge, Pdp};
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::units::Units;

use crate::options::{CheckOptions, StrategyName};

/// Runs of a sampling strategy that has no other bound.
const SAMPLES: u64 = 10_000;
/// Bug depth that `pct` aims at.
const PCT_DEPTH: u32 = 3;

/// The strategy with its bounds.
pub fn build(options: &CheckOptions, knowledge: Option<Knowledge>) -> Box<dyn Strategy> {
    let spurious = options.spurious;
    let strategy: Box<dyn Strategy> = match (options.strategy, options.preemptions) {
        (StrategyName::Dfs, Some(bound)) => {
            Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::new(spurious).bounded(bound))))
        }
        // What can be left out without a bound is not what can be left out with one.
        (StrategyName::Optimal | StrategyName::Dpor, Some(bound)) => {
            Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::of_traces(spurious).bounded(bound))))
        }
        (name, _) => unbounded(options, name, knowledge),
    };
    within_bounds(options, strategy)
}

/// As [`build`], for several targets.
pub fn build_shared(options: &CheckOptions) -> Box<dyn Strategy> {
    match options.strategy {
        StrategyName::Optimal => within_bounds(options, Box::new(Units::new(options.spurious))),
        _ => build(options, None),
    }
}

fn within_bounds(options: &CheckOptions, mut strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
    strategy = Box::new(MaxEvents::new(strategy, options.max_events));
    let unbounded = options.max_executions.is_none() && options.time_limit.is_none();
    let samples = (unbounded && options.strategy.samples()).then_some(SAMPLES);
    if let Some(limit) = options.max_executions.or(samples) {
        strategy = Box::new(MaxExecutions::new(strategy, limit));
    }
    if let Some(limit) = options.time_limit {
        strategy = Box::new(TimeLimit::new(strategy, limit));
    }
    strategy
}

/// The strategy without a bound on preemptions.
fn unbounded(options: &CheckOptions, name: StrategyName, knowledge: Option<Knowledge>) -> Box<dyn Strategy> {
    let spurious = options.spurious;
    match name {
        StrategyName::Optimal => Box::new(optimal_with_dpor_fallback(spurious)),
        StrategyName::Dpor => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dpor::new(spurious)))),
        StrategyName::Dfs => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::new(spurious)))),
        StrategyName::Random => Box::new(Sampling::random(options.seed)),
        StrategyName::Pct => Box::new(Sampling::pct(options.seed, PCT_DEPTH)),
        StrategyName::Pos => Box::new(Sampling::pos(options.seed)),
        StrategyName::Pdp => Box::new(Pdp::new(knowledge, spurious)),
        StrategyName::Dhtc => Box::new(dhtc(knowledge, spurious)),
    }
}
