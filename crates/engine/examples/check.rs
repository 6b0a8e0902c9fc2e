//! Compiles a C program in which two threads race, checks it, and prints what was found.

use raddle_engine::{Checker, Sources, StrategyName};

const PROGRAM: &str = include_str!("race.c");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let source = directory.path().join("race.c");
    std::fs::write(&source, PROGRAM)?;
    let program = Sources::new([source]).compile_into(directory.path())?;
    let mut checker = Checker::new(program).strategy(StrategyName::Optimal).jobs(2).directory(directory.path());
    let report = checker.run(&mut ())?;
    println!("{:?} after {} executions", report.verdict, report.stats.executions);
    for finding in &report.findings {
        println!("{}: {}", finding.id, finding.message);
        for access in &finding.accesses {
            println!("  {} by {} in line {:?}", access.op, access.thread, access.place.line);
        }
    }
    Ok(())
}
