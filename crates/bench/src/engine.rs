//! Cost of a run with a snapshot and with a fork, and cost of a memory access.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use raddle_exec::{NativeTarget, RestoreMode};
use raddle_model::{Execution, Request, Target};
use raddle_vocab::policy::Policy;

use crate::tools::{self, BenchError};

/// Prints the tables.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    println!("engine: microseconds per run, as the target measures them");
    println!("{:<34} {:>9} {:>9} {:>9}", "program", "snapshot", "fork", "ratio");
    for (name, source) in [("2 threads", "engine/small.c"), ("4 threads", "engine/larger.c")] {
        let program = tools::compile(source, &[], place.path())?;
        let label = format!("{name}, {} events", tools::events(&program)?);
        compare(&label, &program)?;
    }
    let without = tools::microseconds_per_run(&with_heap(4096, place.path())?, RestoreMode::Snapshot, 8000)?;
    let with = tools::microseconds_per_run(&with_heap(100 << 20, place.path())?, RestoreMode::Snapshot, 8000)?;
    println!("{:<34} {with:>9.2} {:>9} {:>9.2}", "2 threads, 100 MB heap", "", with / without);
    println!("  (ratio of the last line: against the same program without the heap)");
    access(place.path())
}

/// A program with a library that fills `bytes` bytes of heap.
fn with_heap(bytes: usize, place: &Path) -> Result<PathBuf, BenchError> {
    let directory = place.join(format!("heap-{bytes}"));
    std::fs::create_dir(&directory)?;
    let library = directory.join("libheap.so");
    let source = tools::root().join("bench/engine/heap_library.c");
    let size = format!("-DBYTES={bytes}");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", &size]).arg(&source).arg("-o").arg(&library);
    if !gcc.status()?.success() {
        return Err("gcc cannot compile heap_library.c".into());
    }
    let (library, path) = (library.display().to_string(), format!("-Wl,-rpath,{}", directory.display()));
    let needed = ["-Wl,--push-state,--no-as-needed", &library, "-Wl,--pop-state", &path];
    tools::compile("engine/heap.c", &needed, &directory)
}

fn compare(label: &str, program: &Path) -> Result<(), BenchError> {
    let snapshot = tools::microseconds_per_run(program, RestoreMode::Snapshot, 16_000)?;
    let fork = tools::microseconds_per_run(program, RestoreMode::Fork, 400)?;
    println!("{label:<34} {snapshot:>9.2} {fork:>9.2} {:>9.1}", fork / snapshot);
    Ok(())
}

/// A hot loop: uninstrumented, with ThreadSanitizer, and with raddle.
fn access(place: &Path) -> Result<(), BenchError> {
    let source = tools::root().join("bench/engine/hot.c");
    let plain = native(&source, &[], place)?;
    let sanitizer = native(&source, &["-fsanitize=thread"], place)?;
    let program = tools::compile("engine/hot.c", &[], place)?;
    let mut target = NativeTarget::start(tools::options(&program)?)?;
    let mut execution = Execution::empty();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        target.submit(Request { schedule: Vec::new(), policy: Policy::LeastRank, max_events: u64::MAX });
        target.finish(&mut execution)?;
        best = best.min(begun.elapsed().as_secs_f64() * 1e9 / 1e7);
    }
    println!("nanoseconds per access, 10 million: plain {plain:.2}, ThreadSanitizer {sanitizer:.2}, raddle {best:.2}");
    println!("  raddle / ThreadSanitizer: {:.2}", best / sanitizer);
    Ok(())
}

/// Compiles with gcc and lets the program measure itself: the best of five.
fn native(source: &Path, flags: &[&str], place: &Path) -> Result<f64, BenchError> {
    let program = place.join("hot-native");
    let built =
        Command::new("gcc").args(["-O2", "-pthread"]).args(flags).arg(source).arg("-o").arg(&program).status()?;
    if !built.success() {
        return Err("gcc cannot compile hot.c: is its ThreadSanitizer library (libtsan) installed?".into());
    }
    let mut best = f64::MAX;
    for _ in 0..5 {
        let output = Command::new(&program).output()?;
        best = best.min(String::from_utf8_lossy(&output.stdout).trim().parse()?);
    }
    Ok(best)
}
