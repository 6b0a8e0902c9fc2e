//! The tests that ctest knows in a build directory of CMake.

use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_engine::frameworks::Framework;
use raddle_exec::elf::{self, Instrumentation};
use serde_json::Value;

use super::{TestRun, cases};
use crate::error::{CommandError, say};

/// The tests of programs that were built with raddle. A program with a test framework that is run
/// as a whole counts by its test cases.
///
/// # Errors
/// If ctest cannot be run, or knows no such test.
pub(super) fn list(build: &Path) -> Result<Vec<TestRun>, CommandError> {
    let wrong = |what: String| CommandError(format!("{}: {what}", build.display()));
    let output = Command::new("ctest").arg("--show-only=json-v1").current_dir(build).output();
    let output = output.map_err(|error| wrong(format!("ctest cannot be run: {error}")))?;
    let listing: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| wrong("ctest lists no tests: is it a build directory of CMake?".into()))?;
    let mut all = Vec::new();
    for test in parse(&listing) {
        match elf::check(&test.program) {
            Ok(Instrumentation::Hooks) => {}
            _ => {
                say(&format!("raddle: skipped {}: {} was not built with raddle", test.title, test.program.display()));
                continue;
            }
        }
        match Framework::of_program(&test.program)? {
            Some(framework) if test.args.is_empty() => {
                let whole = test.title.clone();
                let parts = cases(&test, framework)?.into_iter();
                all.extend(parts.map(|part| TestRun { title: format!("{whole}/{}", part.title), ..part }));
            }
            framework => {
                let mut test = test;
                test.args.extend(framework.into_iter().flat_map(Framework::options).map(Into::into));
                all.push(TestRun { framework, ..test });
            }
        }
    }
    if all.is_empty() { Err(wrong("no test is a program that was built with raddle".into())) } else { Ok(all) }
}

/// The tests of a listing that are not disabled.
fn parse(listing: &Value) -> Vec<TestRun> {
    let tests = listing["tests"].as_array().into_iter().flatten();
    tests.filter_map(one).collect()
}

fn one(test: &Value) -> Option<TestRun> {
    let name = test["name"].as_str()?;
    let mut words = test["command"].as_array()?.iter().filter_map(Value::as_str);
    let program = PathBuf::from(words.next()?);
    let property = |name: &str| {
        let mut all = test["properties"].as_array().into_iter().flatten();
        all.find(|property| property["name"] == name).map(|property| &property["value"])
    };
    if property("DISABLED").is_some_and(|value| value == true) {
        return None;
    }
    let variables = property("ENVIRONMENT").and_then(Value::as_array).into_iter().flatten();
    let variable = |value: &Value| value.as_str()?.split_once('=').map(|(name, value)| (name.into(), value.into()));
    Some(TestRun {
        name: name.into(),
        title: name.into(),
        program,
        args: words.map(Into::into).collect(),
        env: variables.filter_map(variable).collect(),
        cwd: property("WORKING_DIRECTORY").and_then(Value::as_str).map(PathBuf::from),
        ..TestRun::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_listing_is_understood() {
        let listing = json!({"tests": [
            {"name": "pool", "command": ["/b/pool_test", "-x"], "properties": [
                {"name": "ENVIRONMENT", "value": ["A=b=c", "nonsense"]},
                {"name": "WORKING_DIRECTORY", "value": "/b"},
            ]},
            {"name": "off", "command": ["/b/off"], "properties": [{"name": "DISABLED", "value": true}]},
            {"name": "not built"},
        ]});
        let tests = parse(&listing);
        assert_eq!(tests.len(), 1);
        assert_eq!((tests[0].title.as_str(), tests[0].args.len()), ("pool", 1));
        assert_eq!(tests[0].env, [("A".into(), "b=c".into())]);
        assert_eq!(tests[0].cwd.as_deref(), Some(Path::new("/b")));
        assert!(parse(&json!("x")).is_empty());
    }
}
