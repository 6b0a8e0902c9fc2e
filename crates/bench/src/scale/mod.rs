//! One search by many workers: what sharing costs on this machine, and what it would give on more.
//!
//! Sizes of work items, the cost of one worker against a search by one process, and the time
//! between two tasks are measured. The speed of up to 1,024 workers is simulated: search trees are
//! recorded, and workers divide them as they do, with the times that were measured between two
//! tasks.

mod measure;
mod simulate;
mod tree;

use serde_json::{Value, json};

use crate::chart;
use crate::tools::{self, BenchError};
use simulate::{Costs, simulate};
use tree::RecordedTree;

/// Programs with search trees of different shapes, and how they are compiled.
const PROGRAMS: [(&str, &str); 3] =
    [("programs/readers.c", "-DN=13"), ("programs/account.c", "-DN=5"), ("programs/indexer_cas.c", "-DN=15")];
/// Numbers of workers: powers of two.
const MOST_DOUBLINGS: u32 = 10;
/// What a search takes that is simulated, with one worker, in seconds.
const TEN_MINUTES: f64 = 600.0;
const TWO_HOURS: f64 = 7200.0;

/// Prints the tables and writes the figures.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    let out = tools::root().join("target/bench");
    std::fs::create_dir_all(&out)?;
    let mut figures = Vec::new();
    let mut costs = Costs { between: 0.002, store: 0.001 };
    if tools::has("nats-server") {
        let program = tools::compile("programs/account.c", &["-DN=6"], place.path())?;
        let measured = measure::run(&program, place.path())?;
        costs.between = measured["between_tasks"].as_f64().unwrap_or(costs.between);
        figures.push(measured);
    } else {
        println!("scale: nats-server is not installed: nothing is measured, 2 ms are taken between two tasks");
    }
    println!("simulated: speed-up over one worker, for searches of ten minutes and of two hours");
    let header: Vec<String> = (0..=MOST_DOUBLINGS).map(|power| format!("{:>6}", 1u64 << power)).collect();
    println!("{:<24} {:>8} {:>9} {}", "program", "items", "seconds", header.join(" "));
    let mut curves: Vec<(String, Vec<(u64, f64)>)> = Vec::new();
    for (source, flag) in PROGRAMS {
        let program = tools::compile(source, &[flag], place.path())?;
        let tree = RecordedTree::record(&program)?;
        for seconds in [TEN_MINUTES, TWO_HOURS] {
            let (row, curve) = curve(source, &tree, seconds, costs);
            figures.push(row);
            curves.push((format!("{source} {seconds} s"), curve));
        }
    }
    let series: Vec<(&str, Vec<(u64, f64)>)> = curves.iter().map(|(name, points)| (&**name, points.clone())).collect();
    std::fs::write(out.join("scale.svg"), chart::lines(&series, "workers: two to this power"))?;
    std::fs::write(out.join("scale.json"), serde_json::to_vec_pretty(&figures)?)?;
    println!("figures: {0}/scale.json, chart: {0}/scale.svg", out.display());
    Ok(())
}

/// The speed-up of a search with so many seconds of work.
fn curve(source: &str, tree: &RecordedTree, seconds: f64, costs: Costs) -> (Value, Vec<(u64, f64)>) {
    let mut points = Vec::new();
    let mut rows = Vec::new();
    let mut one = 0.0;
    for power in 0..=MOST_DOUBLINGS {
        let workers = 1usize << power;
        let run = simulate(tree, workers, seconds, costs);
        if workers == 1 {
            one = run.seconds;
        }
        let speedup = one / run.seconds;
        points.push((u64::from(power), speedup));
        rows.push(json!({
            "workers": workers, "seconds": run.seconds, "tasks": run.tasks, "speedup": speedup,
            "efficiency": speedup / workers as f64,
        }));
    }
    let shown: Vec<String> = points.iter().map(|(_, speedup)| format!("{speedup:>6.1}")).collect();
    println!("{source:<24} {:>8} {seconds:>9} {}", tree.len(), shown.join(" "));
    let items = json!({ "count": tree.len(), "bytes_alone": tree.bytes_alone, "bytes_together": tree.bytes_together });
    (json!({ "program": source, "work_seconds": seconds, "items": items, "runs": rows }), points)
}
