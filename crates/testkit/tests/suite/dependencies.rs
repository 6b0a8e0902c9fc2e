//! The dependencies between the crates are exactly those that `docs/architecture.md` draws.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::{read, root};

/// Crates, each with those that it depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The first block of the page that starts with this line: `crate -> crate, crate`, a line each.
const DRAWN: &str = "```layers";
/// Test support: shipped crates must not depend on it.
const TEST_SUPPORT: &str = "testkit";
/// Bodies of fuzz targets, which are tests, too.
const NOT_SHIPPED: &str = "fuzzing";

fn drawn() -> Graph {
    let page = read(&root().join("docs/architecture.md"));
    let block = page.lines().skip_while(|line| *line != DRAWN).skip(1).take_while(|line| *line != "```");
    let edge = |line: &str| {
        let (name, targets) = line.split_once("->").unwrap_or((line, ""));
        let targets = targets.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty());
        (name.trim().to_string(), targets.collect())
    };
    block.filter(|line| !line.trim().is_empty()).map(edge).collect()
}

/// What cargo says: dependencies of the crates and of their build scripts, not of their tests.
fn real() -> Graph {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().iter().map(dependencies_of).collect()
}

fn dependencies_of(package: &Value) -> (String, BTreeSet<String>) {
    let short =
        |package: &Value| package["name"].as_str().and_then(|name| name.strip_prefix("raddle-")).map(String::from);
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let needed = dependencies.filter(|dependency| dependency["kind"] != "dev").filter_map(short);
    (short(package).expect("every package is called raddle-…"), needed.collect())
}

#[test]
fn dependencies_are_those_drawn() {
    let (drawn, real) = (drawn(), real());
    assert!(!drawn.is_empty(), "docs/architecture.md has no block {DRAWN}");
    for (name, needs) in &real {
        let shown = drawn.get(name).unwrap_or_else(|| panic!("docs/architecture.md does not draw {name}"));
        assert_eq!(needs, shown, "{name}: cargo's dependencies (left) and those drawn (right)");
    }
    for name in drawn.keys() {
        assert!(real.contains_key(name), "docs/architecture.md draws {name}, which does not exist");
    }
}

#[test]
fn shipped_crates_do_not_depend_on_test_support() {
    for (name, needs) in real().into_iter().filter(|(name, _)| name != NOT_SHIPPED) {
        assert!(!needs.contains(TEST_SUPPORT), "{name} depends on {TEST_SUPPORT}");
    }
}
