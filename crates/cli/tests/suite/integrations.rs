//! raddle inside other people's tools: each example is run with the real tool.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Done, Place, finish, raddle};
use raddle_testkit::tools::require;

/// A copy of the share folder, with raddle and its compiler names in the path.
struct Project {
    place: Place,
}

impl Project {
    fn new() -> Self {
        let place = Place::new();
        let share = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share");
        let status = Command::new("cp").arg("-r").arg(share).arg(place.path("share")).status().unwrap();
        assert!(status.success());
        std::fs::create_dir(place.path("bin")).unwrap();
        for name in ["raddle", "raddle-cc", "raddle-c++"] {
            std::os::unix::fs::symlink(raddle(), place.path("bin").join(name)).unwrap();
        }
        Project { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    fn run(&self, directory: &str, program: &str, args: &[&str]) -> Done {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = self.place.command(program);
        command.current_dir(self.path(directory)).env("PATH", path).args(args);
        finish(&mut command)
    }

    fn succeed(&self, directory: &str, program: &str, args: &[&str]) -> Done {
        let done = self.run(directory, program, args);
        assert_eq!(done.code(), Some(0), "{}", done.all());
        done
    }
}

#[test]
fn cmake_and_ctest() {
    require("cmake");
    let project = Project::new();
    let example = "share/examples/cmake";
    project.succeed(example, "cmake", &["-S", ".", "-B", "plain"]);
    let tests = project.succeed(example, "ctest", &["--test-dir", "plain", "-L", "raddle", "--output-on-failure"]);
    assert!(tests.stdout.contains("100% tests passed, 0 tests failed out of 2"), "{}", tests.all());

    project.succeed(example, "cmake", &["-S", ".", "-B", "wrapped", "-DCMAKE_C_COMPILER=raddle-cc"]);
    project.succeed(example, "cmake", &["--build", "wrapped"]);
    let tests = project.succeed(example, "ctest", &["--test-dir", "wrapped", "--output-on-failure"]);
    assert!(tests.stdout.contains("0 tests failed out of 3"), "{}", tests.all());
    assert!(project.path(example).join("wrapped/raddle/counter_target/report.json").exists());
}

/// A test that finds a bug fails in the eyes of ctest.
#[test]
fn ctest_fails_with_a_bug() {
    require("cmake");
    let project = Project::new();
    let example = project.path("share/examples/cmake");
    let lists = std::fs::read_to_string(example.join("CMakeLists.txt")).unwrap();
    std::fs::write(example.join("CMakeLists.txt"), lists.replace(" WILL_FAIL", "")).unwrap();
    project.succeed("share/examples/cmake", "cmake", &["-S", ".", "-B", "b"]);
    let tests = project.run("share/examples/cmake", "ctest", &["--test-dir", "b", "--output-on-failure"]);
    assert_ne!(tests.code(), Some(0), "{}", tests.all());
    assert!(tests.stdout.contains("counter_without_lock") && tests.stdout.contains("data race on `counter`"));
}

#[test]
fn meson() {
    require("meson");
    require("ninja");
    let project = Project::new();
    project.succeed("share/examples/meson", "meson", &["setup", "build"]);
    let tests = project.succeed("share/examples/meson", "meson", &["test", "-C", "build", "--suite", "raddle"]);
    assert!(tests.stdout.contains("Ok:") && tests.stdout.contains("Fail:               0"), "{}", tests.all());
}

#[test]
fn make() {
    require("make");
    let project = Project::new();
    let example = "share/examples/make";
    let right = project.succeed(example, "make", &["check"]);
    assert!(right.stdout.contains("verified counter"), "{}", right.all());
    let wrong = project.succeed(example, "make", &["check-no-lock"]);
    assert!(wrong.stdout.contains("data race on `counter`"), "{}", wrong.all());
    project.succeed(example, "make", &["CC=raddle-cc", "counter"]);
}

#[test]
fn google_test_gets_a_verdict_for_each_test() {
    require("make");
    let header = Path::new("/usr/include/gtest/gtest.h");
    assert!(header.exists(), "GoogleTest is not installed: install the package libgtest-dev");
    let project = Project::new();
    let example = "share/examples/gtest";
    let done = project.run(example, "make", &["check"]);
    for line in [
        "raddle: test 1/3: verified    Counter.WithLock",
        "raddle: test 2/3: bug         Counter.WithoutLock",
        "raddle: test 3/3: bug         Counter.LosesUpdates",
        "raddle: 3 tests: 1 verified, 2 with a bug, 0 incomplete",
    ] {
        assert!(done.stderr.contains(line), "{line}: {}", done.all());
    }
    assert!(done.stdout.contains("data race on"), "{}", done.all());
    let failed = "failed expectation at tests.cpp:36: Expected equality of these values: counter.load()";
    assert!(done.stdout.contains(failed), "{}", done.all());
    assert!(done.stderr.contains("Error 1"), "make passes the status on: {}", done.all());
    let results = std::fs::read_to_string(project.path(example).join("results.xml")).unwrap();
    assert!(results.contains("tests=\"3\" failures=\"2\""), "{results}");
    assert!(results.contains("<testcase classname=\"Counter\" name=\"WithLock\""), "{results}");
    // One report has all findings, by test case and id.
    let again = project.run(example, "raddle", &["replay", "tests/Counter.LosesUpdates/a1"]);
    assert!(again.stdout.contains("reproduced"), "{}", again.all());
    let short = project.run(example, "raddle", &["replay", "tests/LosesUpdates/a1"]);
    assert_eq!(short.stdout, again.stdout);
    let listed = project.succeed(example, "raddle", &["list"]);
    assert!(listed.stdout.contains("verified    Counter.WithLock"), "{}", listed.all());
    assert!(listed.stdout.contains("tests/Counter.LosesUpdates/a1  error: Counter.LosesUpdates: failed"));
    let json = project.succeed(example, "raddle", &["report", "tests", "--format", "json"]);
    assert!(json.stdout.contains("\"tests\": ["), "{}", json.all());
    let one = ["check", "--gtest", "--test", "*.WithLock", "--quiet", "./tests"];
    let one = project.run(example, "raddle", &one);
    assert!(one.stderr.contains("raddle: 1 tests: 1 verified"), "{}", one.all());
    let refused = project.run(example, "raddle", &["check", "--gtest", "/bin/true"]);
    assert_eq!(refused.code(), Some(2), "{}", refused.all());
    assert!(refused.stderr.contains("lists no test cases of GoogleTest"), "{}", refused.all());
    let unknown = project.run(example, "raddle", &["check", "--framework", "auto", "/bin/true"]);
    assert!(unknown.stderr.contains("uses no test framework that raddle knows"), "{}", unknown.all());
}

/// A large test case does not keep the others waiting, and one that does not end leaves them alone.
#[test]
fn a_first_pass_comes_to_all_test_cases() {
    let project = Project::new();
    let example = "share/examples/gtest";
    let source = "\
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>
TEST(Suite, Large) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; i++) threads.emplace_back([&] { for (int j = 0; j < 20; j++) sum.fetch_xor(sum + j); });
  for (auto &thread : threads) thread.join();
}
TEST(Suite, Wrong) {
  std::atomic<int> value{0};
  std::thread one([&] { value = value + 1; }), two([&] { value = value + 1; });
  one.join(), two.join();
  EXPECT_EQ(value, 2);
}
";
    std::fs::write(project.path(example).join("two.cpp"), source).unwrap();
    let flags = ["c++", "-g", "-O1", "-pthread", "-o", "two", "two.cpp", "-lgtest_main", "-lgtest"];
    project.succeed(example, "raddle", &flags);
    let words = ["check", "--framework", "auto", "--time-limit", "20", "--json", "all.json", "./two"];
    let done = project.run(example, "raddle", &words);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let at = |words: &str| done.stderr.find(words).unwrap_or_else(|| panic!("{words}: {}", done.all()));
    let wrong = at("raddle: test 2/2: bug         Suite.Wrong");
    assert!(wrong < at("raddle: test 1/2: incomplete  Suite.Large"), "{}", done.all());
    at("raddle: 2 tests: 0 verified, 1 with a bug, 1 incomplete");
    let report = std::fs::read_to_string(project.path(example).join("all.json")).unwrap();
    assert!(report.contains("\"strategy\": \"auto\""), "{report}");
    // The only finding of its name needs no more words.
    let names = ["a1", "Suite.Wrong/a1", "two/Suite.Wrong/a1", "two/Wrong/a1"];
    for name in names {
        let replay = project.run(example, "raddle", &["replay", name]);
        assert!(replay.stdout.contains("reproduced: a1"), "{name}: {}", replay.all());
        let show = project.run(example, "raddle", &["show", name, "--step", "1"]);
        assert_eq!(show.code(), Some(0), "{name}: {}", show.all());
    }
}

/// The runner reads a clock before and after a test case. The case has no more states for it than
/// what it tests has.
#[test]
fn states_of_a_test_case_are_recognised() {
    let header = Path::new("/usr/include/gtest/gtest.h");
    assert!(header.exists(), "GoogleTest is not installed: install the package libgtest-dev");
    let project = Project::new();
    let example = "share/examples/gtest";
    let pool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/stateful/timed_by_its_runner.cpp");
    let head = "#include <gtest/gtest.h>\n#define main runs_all\n#include";
    let source = format!("{head} \"{}\"\n#undef main\nTEST(Pool, RunsAll) {{ runs_all(); }}\n", pool.display());
    std::fs::write(project.path(example).join("pool.cpp"), source).unwrap();
    let flags = ["c++", "-g", "-O1", "-pthread", "-o", "pool", "pool.cpp", "-lgtest_main", "-lgtest"];
    project.succeed(example, "raddle", &flags);
    for words in
        [&["check", "--json", "-", "--quiet"][..], &["check", "--json", "-", "--quiet", "--framework", "gtest"]]
    {
        let done = project.succeed(example, "raddle", &[words, &["./pool"]].concat());
        let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let runs = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
        let all = runs("executions") + runs("matched") + runs("blocked");
        assert!(runs("executions") > 0 && all < 900, "{}", report["stats"]);
    }
}

/// Each framework lists its test cases in its own way, and says in its own words what failed.
#[test]
fn other_frameworks_get_verdicts_for_each_test_case() {
    require("make");
    let project = Project::new();
    for (framework, header, package, right, wrong, said) in [
        (
            "catch2",
            "catch2/catch.hpp",
            "catch2",
            "with a lock",
            "loses updates, sometimes",
            "counter.load() == 2 for: 1 == 2",
        ),
        (
            "doctest",
            "doctest/doctest.h",
            "doctest-dev",
            "with a lock",
            "loses updates, sometimes",
            "CHECK( counter.load() == 2 ) is NOT correct!",
        ),
        (
            "boost",
            "boost/test/included/unit_test.hpp",
            "libboost-test-dev",
            "counting/with_a_lock",
            "counting/loses_updates",
            "check counter.load() == 2 has failed",
        ),
    ] {
        let header = Path::new("/usr/include").join(header);
        assert!(header.exists(), "{framework} is not installed: install the package {package}");
        let example = format!("share/examples/{framework}");
        let done = project.run(&example, "make", &["check"]);
        for line in [format!("raddle: test 1/2: verified    {right}"), format!("raddle: test 2/2: bug         {wrong}")]
        {
            assert!(done.stderr.contains(&line), "{line}: {}", done.all());
        }
        let failed = done.stdout.lines().find(|line| line.contains("failed expectation at tests.cpp:"));
        assert!(failed.is_some_and(|line| line.contains(said)), "{said}: {}", done.all());
        assert!(done.stdout.contains("the expectation fails in T0"), "{}", done.all());
        // A verdict for each test case, as in the file that the check writes.
        let kept = project.succeed(&example, "raddle", &["report", "--format", "junit"]).stdout;
        assert!(
            kept.contains("<testsuite name=") && kept.contains("tests=\"2\" failures=\"1\" errors=\"0\""),
            "{kept}"
        );
        assert_eq!(kept.matches("<testcase ").count(), 2, "{kept}");
        assert_eq!(kept.matches("<failure ").count(), 1, "{kept}");
    }
}

/// The commands of the workflow, run as its shell runs them.
#[test]
fn github_actions() {
    let project = Project::new();
    let workflow = std::fs::read_to_string(project.path("share/examples/github-actions.yml")).unwrap();
    let commands: Vec<&str> = workflow.lines().filter_map(|line| line.trim().strip_prefix("run: ")).collect();
    assert_eq!(commands.len(), 1);
    let example = "share/examples";
    project.succeed(example, "bash", &["-e", "-c", commands[0]]);
    let listed: Vec<&str> = workflow.lines().map(str::trim).filter(|line| line.starts_with("raddle.")).collect();
    assert_eq!(listed, ["raddle.html", "raddle.xml"]);
    for file in ["raddle.sarif", "raddle.html", "raddle.xml", ".raddle"] {
        assert!(project.path(example).join(file).exists(), "{file}");
    }
}

/// The tasks for VS Code: their commands run, and the problem matcher takes the lines of a finding
/// apart.
#[test]
fn vscode() {
    let project = Project::new();
    let text = std::fs::read_to_string(project.path("share/examples/vscode/tasks.json")).unwrap();
    let tasks: serde_json::Value = serde_json::from_str(&text).unwrap();
    let run = |label: &str, leave_out: &str| {
        let task = tasks["tasks"].as_array().unwrap().iter().find(|task| task["label"] == label).unwrap();
        let fill = |arg: &str| arg.replace("${input:program}", "bank.c").replace("${input:finding}", "r1");
        let args = task["args"].as_array().unwrap().iter().map(|arg| fill(arg.as_str().unwrap()));
        let args: Vec<String> = args.filter(|arg| arg != leave_out).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        (task.clone(), project.run(".", task["command"].as_str().unwrap(), &args))
    };
    project.succeed(".", "raddle", &["demo"]);
    let (task, checked) = run("raddle: check", "");
    assert_eq!(checked.code(), Some(1), "{}", checked.all());
    project.place.write("said", &checked.stdout);
    let pattern = &task["problemMatcher"]["pattern"];
    let groups = ["file", "line", "column", "severity"].map(|name| format!("\\{}", pattern[name]));
    let take_apart = format!("s/{}/{}/p", pattern["regexp"].as_str().unwrap(), groups.join(" "));
    let problems = project.succeed(".", "sed", &["-nE", &take_apart, "said"]).stdout;
    assert_eq!(problems, "bank.c 18 19 error\nbank.c 18 19 note\nbank.c 15 13 note\n");
    let (_, shown) = run("raddle: step through a finding", "");
    assert!(shown.stdout.contains("T0  start"), "{}", shown.all());
    // Without gdb, which has a test of its own.
    let (_, replayed) = run("raddle: debug a finding in gdb", "--gdb");
    assert!(replayed.stdout.contains("reproduced: r1"), "{}", replayed.all());
}

/// The header does nothing without raddle, in C and C++.
#[test]
fn the_header_is_empty_elsewhere() {
    let project = Project::new();
    let text = "#include \"raddle.h\"\nint x; int main(void) { RADDLE_BENIGN_RACE(&x, sizeof x, \"counter\"); \
                RADDLE_HAPPENS_BEFORE(&x); RADDLE_HAPPENS_AFTER(&x); RADDLE_IGNORE_BEGIN(); x = 1; \
                RADDLE_IGNORE_END(); RADDLE_ASSUME(x == 1); return 0; }\n";
    for (compiler, name) in [("gcc", "a.c"), ("g++", "a.cpp"), ("raddle-cc", "b.c"), ("raddle-c++", "b.cpp")] {
        project.place.write(&format!("share/{name}"), text);
        project.succeed("share", compiler, &["-Wall", "-Wextra", "-Werror", "-pthread", name, "-o", "program"]);
        project.succeed("share", "./program", &[]);
    }
    let checked = project.succeed("share", "raddle", &["check", "./program"]);
    assert!(checked.stdout.contains("verified"), "{}", checked.all());
}
