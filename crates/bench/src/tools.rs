//! Compiling programs and measuring runs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_exec::{NativeTarget, Options, RestoreMode};
use raddle_model::{Execution, Request, Target};
use raddle_vocab::policy::Policy;

/// An error that ends a benchmark.
pub type BenchError = Box<dyn std::error::Error>;

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command that was built.
pub fn raddle() -> PathBuf {
    root().join("target/release/raddle")
}

/// Compiles a program of `bench/` with `raddle cc`.
pub fn compile(source: &str, flags: &[&str], into: &Path) -> Result<PathBuf, BenchError> {
    let program = into.join(Path::new(source).file_stem().unwrap_or_default());
    let source = root().join("bench").join(source);
    let wrapper = if source.extension().is_some_and(|end| end == "cpp") { "c++" } else { "cc" };
    let mut command = Command::new(raddle());
    command.arg(wrapper).arg("-O2").args(flags).arg(&source).arg("-o").arg(&program).arg("-pthread");
    let status = command.status()?;
    if !status.success() {
        return Err(format!("cannot compile {}", source.display()).into());
    }
    Ok(program)
}

/// Microseconds per run of the same default schedule, measured by the target: the median of some
/// batches.
pub fn microseconds_per_run(program: &Path, mode: RestoreMode, runs: usize) -> Result<f64, BenchError> {
    let mut target = NativeTarget::start(Options { mode, ..options(program)? })?;
    let mut execution = Execution::empty();
    let mut batches = Vec::new();
    for _ in 0..8 {
        let before = target.statistics().nanoseconds;
        for _ in 0..runs / 8 {
            target.submit(Request { schedule: Vec::new(), policy: Policy::LeastRank, max_events: 1_000_000 });
        }
        for _ in 0..runs / 8 {
            target.finish(&mut execution)?;
        }
        batches.push((target.statistics().nanoseconds - before) as f64 / (runs / 8) as f64 / 1000.0);
    }
    batches.sort_by(f64::total_cmp);
    Ok(batches[batches.len() / 2])
}

/// Options for a target with raddle's runtime.
pub fn options(program: &Path) -> Result<Options, BenchError> {
    Ok(raddle_engine::Program::new(program).target_options()?)
}

/// Events of the default run.
pub fn events(program: &Path) -> Result<u64, BenchError> {
    let mut target = NativeTarget::start(options(program)?)?;
    let mut execution = Execution::empty();
    target.submit(Request { schedule: Vec::new(), policy: Policy::LeastRank, max_events: 1_000_000 });
    target.finish(&mut execution)?;
    Ok(execution.recorded)
}

/// Whether the command is on the path.
pub fn has(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}

/// The number after some words.
pub fn number_behind(text: &str, words: &str) -> Option<u64> {
    let rest = &text[text.find(words)? + words.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Calls `work` for each number below `count` on all processors. The results are in the order of
/// the numbers.
pub fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let some = || {
        let numbers =
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&number| number < count);
        numbers.map(|number| (number, work(number))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, |number| number.get().min(count));
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(some)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<(usize, T)>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, answer)| answer).collect()
}
