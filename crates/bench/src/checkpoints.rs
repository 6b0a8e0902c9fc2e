//! Checkpoints: what they gain, and what they cost for programs that gain nothing.

use std::ops::ControlFlow;
use std::path::Path;

use raddle_exec::{Checkpoints, NativeTarget, Options};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::optimal::Optimal;
use raddle_explore::{WorkerPool, explore};

use crate::tools::{self, BenchError, compile};

/// Executions of a search, at most.
const EXECUTIONS: u64 = 5000;
/// Repetitions, of which the fastest counts.
const TIMES: usize = 3;
/// Programs with their definitions.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("phases", &[]),
    ("phases", &["-DENTRIES=2000000", "-DROUNDS=1"]),
    ("local_work", &["-DN=5", "-DITERATIONS=100000"]),
    ("local_work", &["-DN=6", "-DITERATIONS=5000"]),
    ("indexer_mutex", &["-DN=13"]),
    ("buffer_two_conditions", &[]),
    ("locked_increments", &["-DN=7"]),
];

/// Figures of a search.
struct SearchTimes {
    /// Microseconds of the target per run.
    microseconds: f64,
    executions: u64,
    /// Share of the runs that started from a checkpoint.
    resumed: (u64, u64),
}

/// Prints the table.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    println!(
        "checkpoints: microseconds of the target per run, from the root, from checkpoints, and as it chooses itself"
    );
    for (source, defines) in PROGRAMS {
        let program = compile(&format!("programs/{source}.c"), defines, place.path())?;
        let mut results = Vec::new();
        for checkpoints in [Checkpoints::Never, Checkpoints::Always, Checkpoints::WherePaying] {
            results.push(best(&program, checkpoints)?);
        }
        let title = format!("{source} {}", defines.join(" "));
        let [never, always, chosen] = &results[..] else { continue };
        if never.executions != always.executions || never.executions != chosen.executions {
            return Err(format!("{title}: other executions with checkpoints").into());
        }
        println!(
            "  {title:<46} {:>6} runs {:>10.1} {:>10.1} {:>10.1}   resumed: {:>5} {:>5}",
            chosen.resumed.1,
            never.microseconds,
            always.microseconds,
            chosen.microseconds,
            always.resumed.0,
            chosen.resumed.0,
        );
    }
    Ok(())
}

fn best(program: &Path, checkpoints: Checkpoints) -> Result<SearchTimes, BenchError> {
    let mut best = search(program, checkpoints)?;
    for _ in 1..TIMES {
        let next = search(program, checkpoints)?;
        if next.microseconds < best.microseconds {
            best = next;
        }
    }
    Ok(best)
}

fn search(program: &Path, checkpoints: Checkpoints) -> Result<SearchTimes, BenchError> {
    let mut target = NativeTarget::start(Options { checkpoints, ..tools::options(program)? })?;
    let mut strategy = MaxExecutions::new(Optimal::new(0), EXECUTIONS);
    let mut executions = 0;
    explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| {
        executions += 1;
        ControlFlow::Continue(())
    })?;
    let statistics = target.statistics();
    let microseconds = statistics.nanoseconds as f64 / statistics.runs.max(1) as f64 / 1e3;
    Ok(SearchTimes { microseconds, executions, resumed: (statistics.resumed, statistics.runs) })
}
