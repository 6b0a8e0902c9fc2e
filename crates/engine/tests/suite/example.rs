//! The example program does what it says.

use std::path::PathBuf;
use std::process::Command;

/// The example, which `cargo test` builds together with this test.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is missing: run `cargo build -p raddle-engine --examples`", path.display());
    path
}

#[test]
fn a_check_takes_a_few_lines() {
    let output = Command::new(example("check")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Bug after 1 executions", "{text}");
    assert!(lines[1].starts_with("r1: data race on `counter`: "), "{text}");
    let places = &lines[2..];
    assert_eq!(places.len(), 2, "{text}");
    assert!(places.iter().all(|line| line.contains(" in line Some(3)")), "{text}");
    assert!(places.iter().any(|line| line.starts_with("  write by T")), "{text}");
}
