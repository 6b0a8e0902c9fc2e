//! The strategy that the command line asks for, inside the bounds that it sets.

use std::time::Duration;

use raddle_explore::Strategy;
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::dhtc::dhtc;
use raddle_explore::dpor::Dpor;
use raddle_explore::pdp::{Knowledge, Pdp};
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::units::Units;

use crate::args::{CheckArgs, StrategyName};
use crate::failure::Failure;

/// Runs of a sampling strategy that has no other bound.
const SAMPLES: u64 = 10_000;
/// Bug depth that `pct` aims at.
const PCT_DEPTH: u32 = 3;

/// The strategy with its bounds.
pub fn build(args: &CheckArgs, knowledge: Option<Knowledge>) -> Result<Box<dyn Strategy>, Failure> {
    if args.preemptions.is_some() && samples(args.strategy) {
        return Err(Failure(
            "--preemptions goes with --strategy optimal, dpor or dfs: a sample has no such bound".into(),
        ));
    }
    let spurious = args.spurious;
    let strategy: Box<dyn Strategy> = match (args.strategy, args.preemptions) {
        (StrategyName::Dfs, Some(bound)) => {
            Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::new(spurious).bounded(bound))))
        }
        // What can be left out without a bound is not what can be left out with one.
        (StrategyName::Optimal | StrategyName::Dpor, Some(bound)) => {
            Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::of_traces(spurious).bounded(bound))))
        }
        (StrategyName::Pdp | StrategyName::Dhtc, Some(_)) => {
            return Err(Failure(
                "--preemptions goes with --strategy optimal, dpor or dfs: pruning looks at whole searches".into(),
            ));
        }
        (name, _) => unbounded(args, name, knowledge),
    };
    Ok(within_bounds(args, strategy))
}

/// As [`build`], for several targets.
pub fn build_shared(args: &CheckArgs) -> Result<Box<dyn Strategy>, Failure> {
    match args.strategy {
        StrategyName::Optimal => Ok(within_bounds(args, Box::new(Units::new(args.spurious)))),
        _ => build(args, None),
    }
}

fn within_bounds(args: &CheckArgs, mut strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
    strategy = Box::new(MaxEvents::new(strategy, args.target.max_events));
    let unbounded = args.max_executions.is_none() && args.time_limit.is_none();
    if let Some(limit) = args.max_executions.or((unbounded && samples(args.strategy)).then_some(SAMPLES)) {
        strategy = Box::new(MaxExecutions::new(strategy, limit));
    }
    if let Some(seconds) = args.time_limit {
        strategy = Box::new(TimeLimit::new(strategy, Duration::from_secs_f64(seconds)));
    }
    strategy
}

/// Whether the strategy would go on for ever.
fn samples(name: StrategyName) -> bool {
    matches!(name, StrategyName::Random | StrategyName::Pct | StrategyName::Pos)
}

/// The strategy without a bound on preemptions.
fn unbounded(args: &CheckArgs, name: StrategyName, knowledge: Option<Knowledge>) -> Box<dyn Strategy> {
    let spurious = args.spurious;
    match name {
        StrategyName::Optimal => Box::new(optimal_with_dpor_fallback(spurious)),
        StrategyName::Dpor => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dpor::new(spurious)))),
        StrategyName::Dfs => Box::new(RestartOnSpinloop::new(move |_| Box::new(Dfs::new(spurious)))),
        StrategyName::Random => Box::new(Sampling::random(args.seed)),
        StrategyName::Pct => Box::new(Sampling::pct(args.seed, PCT_DEPTH)),
        StrategyName::Pos => Box::new(Sampling::pos(args.seed)),
        StrategyName::Pdp => Box::new(Pdp::new(knowledge, spurious)),
        StrategyName::Dhtc => Box::new(dhtc(knowledge, spurious)),
    }
}
