//! JSON against its published schema, SARIF against the official one.

use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_model::finding::{PredictionStats, Verdict};
use raddle_report::bundle::ReportBundle;
use raddle_report::sarif;
use serde_json::{Value, json};

use super::sample;

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_valid(validator: &jsonschema::Validator, document: &Value) {
    let wrong: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n").chars().take(4000).collect::<String>());
}

fn runs() -> Vec<ReportBundle> {
    let mut runs: Vec<ReportBundle> = sample::hostile().iter().map(|name| sample::run(name)).collect();
    runs.push(sample::nothing(Verdict::Verified));
    runs.push(sample::nothing(Verdict::Incomplete));
    runs
}

fn published() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn reports_keep_to_the_published_schema() {
    let validator = validator(&published());
    for mut run in runs() {
        assert_valid(&validator, &serde_json::to_value(&run.report).unwrap());
        run.report.reason = None;
        run.report.stats.prediction = Some(PredictionStats::default());
        run.report.findings.iter_mut().for_each(|finding| finding.confirmed = Some(true));
        assert_valid(&validator, &serde_json::to_value(&run.report).unwrap());
    }
}

#[test]
fn the_published_schema_refuses_what_is_no_report() {
    let validator = validator(&published());
    let good = serde_json::to_value(&sample::run("x").report).unwrap();
    let mut wrong = vec![json!({}), json!([])];
    for (pointer, value) in [
        ("/schema", json!(2)),
        ("/verdict", json!("maybe")),
        ("/findings/0/kind", json!("bug")),
        ("/findings/0/id", json!("nonsense")),
        ("/findings/0/accesses/0/size", json!(-1)),
        ("/findings/0/surprise", json!(1)),
        ("/stats/executions", json!("many")),
    ] {
        let mut bad = good.clone();
        match bad.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => drop(bad["findings"][0].as_object_mut().unwrap().insert("surprise".into(), value)),
        }
        wrong.push(bad);
    }
    for document in &wrong {
        assert!(!validator.is_valid(document), "{document}");
    }
    assert!(validator.is_valid(&good));
}

/// The official schema comes with a package that the tests depend on.
fn official() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut command = Command::new(cargo);
    // Packages for other systems were not fetched.
    command.args(["metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]);
    command.args(["--offline", "--locked", "--manifest-path"]).arg(manifest);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == "serde-sarif");
    let manifest = PathBuf::from(package.unwrap()["manifest_path"].as_str().unwrap());
    let schema = manifest.with_file_name("src").join("schema.json");
    // Its pattern for names of languages, which are not used here, has a bracket too many.
    let text = std::fs::read_to_string(schema).unwrap().replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn sarif_keeps_to_the_official_schema() {
    let schema = official();
    assert!(schema["title"].as_str().unwrap().contains("Version 2.1.0"), "{}", schema["title"]);
    let validator = validator(&schema);
    for run in runs() {
        let document = sarif::render(&run);
        assert_valid(&validator, &document);
        let _: serde_sarif::sarif::Sarif = serde_json::from_value(document).unwrap();
    }
    let mut bad = sarif::render(&sample::run("x"));
    bad["runs"][0]["results"][0]["level"] = json!("terrible");
    assert!(!validator.is_valid(&bad));
}

#[test]
fn sarif_has_one_code_flow_whose_order_runs_through_all_threads() {
    let document = sarif::render(&sample::run("x"));
    let flows = &document["runs"][0]["results"][0]["codeFlows"];
    assert_eq!(flows.as_array().unwrap().len(), 1);
    let threads = flows[0]["threadFlows"].as_array().unwrap();
    assert_eq!(threads.len(), 3);
    let mut order: Vec<u64> = threads
        .iter()
        .flat_map(|thread| thread["locations"].as_array().unwrap())
        .map(|step| step["executionOrder"].as_u64().unwrap())
        .collect();
    order.sort_unstable();
    assert_eq!(order, (1..=14).collect::<Vec<u64>>());
}
