//! `./x bench [apps|check|checkpoints|compare|engine|predict|pruning|scale|verdict]`: benchmarks of
//! raddle. They print ratios of figures from the same run, because machines are shared and noisy.
//! `apps` needs a network, and is run only if it is asked for.

mod apps;
mod chart;
mod check;
mod checkpoints;
mod compare;
mod engine;
mod predict;
mod pruning;
mod scale;
mod tools;
mod verdict;

/// Prints a table.
type Benchmark = fn() -> Result<(), tools::BenchError>;

fn main() {
    let what: Vec<String> = std::env::args().skip(1).collect();
    if what.first().is_some_and(|given| given == "apps") {
        return end(apps::run(&what[1..]));
    }
    let wants = |name: &str| what.is_empty() || what.iter().any(|given| given == name);
    let known = ["apps", "check", "checkpoints", "compare", "engine", "predict", "pruning", "scale", "verdict"];
    if let Some(unknown) = what.iter().find(|given| !known.contains(&given.as_str())) {
        eprintln!("bench: there is no benchmark called {unknown}; there are: {}", known.join(", "));
        std::process::exit(2);
    }
    let all: [(&str, Benchmark); 8] = [
        ("check", check::run),
        ("checkpoints", checkpoints::run),
        ("compare", compare::run),
        ("engine", engine::run),
        ("predict", predict::run),
        ("pruning", pruning::run),
        ("scale", scale::run),
        ("verdict", verdict::run),
    ];
    for (name, run) in all {
        if wants(name) {
            end(run());
        }
    }
}

/// A benchmark that fails ends the program.
fn end(result: Result<(), tools::BenchError>) {
    if let Err(error) = result {
        eprintln!("bench: {error}");
        std::process::exit(1);
    }
}
