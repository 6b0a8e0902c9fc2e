//! The page in Chromium, driven by Playwright: what a person sees and does.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use raddle_testkit::tools::require;

use crate::common::{Done, Place, finish, kept};

/// Of this version: a later one may want a later Node.
const PACKAGE: &str = "playwright-core@1.65.0";

/// Playwright, installed once by the package manager of Node.
fn playwright() -> std::path::PathBuf {
    // Tests run side by side, installations must not.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = kept("playwright");
    let module = directory.join("node_modules/playwright-core");
    let complete = directory.join("complete");
    if !complete.exists() {
        require("npm");
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&directory);
        let done = finish(command.arg(PACKAGE));
        assert!(done.status.success(), "{}", done.all());
        std::fs::write(complete, "").unwrap();
    }
    module
}

/// Runs a script in a browser; it gets the page's address as its argument.
pub fn drive(script: &str, address: &str) -> Done {
    require("node");
    require("chromium");
    let place = Place::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/reports").join(script);
    let mut command = place.command("node");
    command.env("PLAYWRIGHT", playwright()).arg(path).arg(address);
    let done = finish(&mut command);
    assert!(done.status.success(), "{}", done.all());
    done
}

#[test]
fn a_person_can_use_the_page() {
    let (place, done) = super::checked(&["--quiet", "--html", "report.html"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let done = drive("page.js", &format!("file://{}", place.path("report.html").display()));
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}

/// One missing lock at six places is one tab.
#[test]
fn the_page_folds_what_follows() {
    let place = Place::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/groups/struct_without_lock.c");
    std::fs::copy(case, place.path("account.c")).unwrap();
    let done = place.raddle(["check", "--quiet", "--html", "report.html", "account.c"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    assert!(done.stdout.contains("bug account: 1 error (5 more places follow from it)"), "{}", done.all());
    let again = place.raddle(["report"]);
    let told =
        |text: &str| text.lines().filter(|line| !line.contains("report in")).map(String::from).collect::<Vec<_>>();
    assert_eq!(told(&again.stdout), told(&done.stdout));
    let done = drive("groups.js", &format!("file://{}", place.path("report.html").display()));
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}

/// Threads, locks, and the circle of arrows between them.
#[test]
fn the_page_draws_who_waits_for_what() {
    let place = Place::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/deadlock/three_cycle.c");
    std::fs::copy(case, place.path("three.c")).unwrap();
    let done = place.raddle(["check", "--quiet", "--html", "report.html", "three.c"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let done = drive("waits.js", &format!("file://{}", place.path("report.html").display()));
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}

/// A report without remarks has nothing below its figures.
#[test]
fn the_page_says_nothing_where_there_is_nothing_to_say() {
    let place = Place::new();
    let text = "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }\n";
    std::fs::write(place.path("relock.c"), text).unwrap();
    let done = place.raddle(["check", "--quiet", "--html", "report.html", "relock.c"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let done = drive("nothing.js", &format!("file://{}", place.path("report.html").display()));
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}

/// Ten thousand events, hostile names everywhere.
#[test]
fn long_and_hostile_stories_neither_lag_nor_run() {
    let (place, _) = super::checked(&["--quiet"]);
    let directory = place.path(".raddle/bank");
    let evil = "<img src=x onerror='window.owned=1'></script><script>window.owned=1</script>\"\n\u{202e}";
    let story = std::fs::read_to_string(directory.join("r1.story.json")).unwrap();
    let mut story: serde_json::Value = serde_json::from_str(&story).unwrap();
    let lock = story["events"].as_array().unwrap().iter().find(|event| event["op"] == "lock").unwrap().clone();
    let many: Vec<serde_json::Value> = (0..10_000)
        .map(|number| {
            let mut event = lock.clone();
            event["thread"] = serde_json::json!(number / 7 % 3);
            event["text"] = serde_json::json!(format!("{number} {evil}"));
            event["value"] = serde_json::json!(evil);
            event
        })
        .collect();
    story["events"].as_array_mut().unwrap().splice(5..5, many);
    story["threads"][1]["name"] = serde_json::json!(evil);
    story["objects"][0] = serde_json::json!(evil.repeat(100));
    std::fs::write(directory.join("r1.story.json"), story.to_string()).unwrap();
    let report = std::fs::read_to_string(directory.join("report.json")).unwrap();
    let mut report: serde_json::Value = serde_json::from_str(&report).unwrap();
    report["findings"][0]["message"] = serde_json::json!(evil);
    report["findings"][0]["accesses"][0]["stack"][0]["function"] = serde_json::json!(evil);
    report["program"] = serde_json::json!(evil);
    std::fs::write(directory.join("report.json"), report.to_string()).unwrap();
    let done = place.raddle(["report", "--format", "html", "--output", "long.html"]);
    assert_eq!(done.code(), Some(0), "{}", done.all());
    let done = drive("long.js", &format!("file://{}", place.path("long.html").display()));
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}
