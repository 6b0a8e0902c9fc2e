//! Pruning through the whole pipeline: generated C programs, built with clang, analysed, searched; and what happens without facts.

mod common;

use std::ops::ControlFlow;
use std::process::Command;

use common::analyser::analyser;
use common::{Place, finish, raddle};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::careful::careful;
use raddle_explore::explore;
use raddle_explore::memory::guarded::{Class, generate};
use raddle_explore::memory::print::print;
use raddle_explore::memory::{Granularity, MemoryTarget, Program};
use raddle_model::RaceDetector;
use serde_json::Value;

/// The report of a check.
fn check(place: &Place, options: &[&str]) -> Value {
    let done = finish(Command::new(raddle()).current_dir(place.path(".")).args(["check", "--json", "-"]).args(options));
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.all()))
}

fn build(place: &Place, compiler: &str) {
    let mut command = Command::new(raddle());
    command
        .current_dir(place.path("."))
        .env("RADDLE_CC", compiler)
        .args(["cc", "-O0", "-o", "prog", "prog.c", "-pthread"]);
    let done = finish(&mut command);
    assert!(done.status.success(), "{}", done.all());
}

/// Whether the program has a race, by exhaustive search in memory; `None` if that would take long.
fn is_racy(program: &Program) -> Option<bool> {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let mut detector = RaceDetector::new();
    let mut found = false;
    let mut strategy = MaxExecutions::new(careful(0), 1000);
    let outcome = explore(&mut strategy, &mut target, &mut |execution, _, _| {
        found = found || !detector.races(execution).is_empty();
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (found || outcome.unwrap().gap.is_none()).then_some(found)
}

/// 72 programs, 504 with RADDLE_TEST_MORE.
#[test]
fn generated_programs_through_the_whole_pipeline() {
    analyser();
    let each = if std::env::var_os("RADDLE_TEST_MORE").is_some() { 21 } else { 3 };
    let (mut racy, mut free, mut pruned) = (0, 0, 0);
    for class in Class::ALL {
        for forks in [false, true] {
            for seed in 0..each {
                let program = generate(seed, class, forks);
                let Some(expected) = is_racy(&program) else { continue };
                let place = Place::new();
                place.write("prog.c", print(&program).text);
                build(&place, "clang-19");
                for strategy in ["pdp", "dhtc"] {
                    let report = check(&place, &["--strategy", strategy, "--stop-at-first", "prog"]);
                    let context =
                        || format!("{class:?} {forks} {seed} {strategy}: {report:#}\n{}", print(&program).text);
                    assert_eq!(report["property"], "race");
                    assert_eq!(report["verdict"] == "bug", expected, "{}", context());
                    assert!(expected || report["verdict"] == "verified", "{}", context());
                    assert_eq!(report["limits"].as_array().map(Vec::len), Some(0), "{}", context());
                    pruned += report["stats"]["prune"]["skipped"].as_u64().unwrap_or(0);
                }
                if expected { racy += 1 } else { free += 1 }
            }
        }
    }
    println!("{racy} with a race, {free} without, {pruned} backtracks left out");
    assert!(racy >= 15 && free >= 15 && pruned > 20, "{racy} {free} {pruned}");
}

const COUNTER: &str = "\
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *inc(void *arg) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return arg; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, inc, 0);
    pthread_create(&b, 0, inc, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

#[test]
fn without_bitcode_nothing_is_pruned_and_the_answer_is_the_same() {
    analyser();
    let place = Place::new();
    place.write("prog.c", COUNTER);
    build(&place, "gcc");
    let report = check(&place, &["--strategy", "pdp", "prog"]);
    assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &2.into()), "{report:#}");
    assert!(report["limits"][0].as_str().unwrap().contains("carries no bitcode"), "{report:#}");
    build(&place, "clang-19");
    let report = check(&place, &["--strategy", "pdp", "prog"]);
    assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &1.into()), "{report:#}");
}

/// Translation units that are compiled one by one, one of them in an archive: plugins of other LLVMs that `ar` and `nm` may load do
/// not see the bitcode, the analyser does.
#[test]
fn objects_and_archives_carry_bitcode_unseen() {
    analyser();
    let place = Place::new();
    let (counter, main) = COUNTER.split_once("int main").unwrap();
    place.write("counter.c", counter.replace("static void *inc", "void *inc"));
    place.write("main.c", format!("#include <pthread.h>\nvoid *inc(void *);\nint main{main}"));
    let run = |words: &str| {
        let (program, args) = words.split_once(' ').unwrap();
        let program = if program == "raddle" { raddle().as_os_str() } else { program.as_ref() };
        let mut command = Command::new(program);
        command.current_dir(place.path(".")).env("RADDLE_CC", "clang-19").args(args.split(' '));
        let done = finish(&mut command);
        assert!(done.status.success(), "{}", done.all());
        done
    };
    run("raddle cc -c counter.c");
    run("ar rcs libcounter.a counter.o");
    let symbols = run("nm libcounter.a");
    assert!(symbols.stdout.contains("T inc") && symbols.stderr.is_empty(), "{}", symbols.all());
    run("raddle cc -o prog main.c -L. -lcounter -pthread");
    let report = check(&place, &["--strategy", "pdp", "prog"]);
    assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &1.into()), "{report:#}");
    assert_eq!(report["limits"].as_array().map(Vec::len), Some(0), "{report:#}");
}

/// The counts of the papers: accesses that conflict, and those that no lock keeps apart.
#[test]
fn conflicts_and_races_are_counted() {
    analyser();
    for (source, racy) in [(COUNTER.to_string(), false), (COUNTER.replace("pthread_mutex_lock(&m);", ""), true)] {
        let place = Place::new();
        place.write(
            "prog.c",
            source.replace("pthread_mutex_unlock(&m);", if racy { "" } else { "pthread_mutex_unlock(&m);" }),
        );
        build(&place, "clang-19");
        for strategy in ["pdp", "dhtc"] {
            let prune = &check(&place, &["--strategy", strategy, "prog"])["stats"]["prune"];
            let count = |name: &str| prune[name].as_u64().unwrap();
            assert!(count("conflicts") > 0 && (count("races") > 0) == racy, "{strategy}: {prune}");
        }
    }
}

#[test]
fn damaged_bitcode_is_named_and_costs_nothing_but_pruning() {
    analyser();
    let place = Place::new();
    place.write("prog.c", COUNTER);
    build(&place, "clang-19");
    let mut bytes = std::fs::read(place.path("prog")).unwrap();
    let magic = bytes.windows(4).position(|window| window == b"BC\xc0\xde").unwrap();
    // An identification block that speaks of a later epoch is refused as bitcode of a newer LLVM is.
    bytes[magic + 24..magic + 400].fill(0xff);
    std::fs::write(place.path("prog"), bytes).unwrap();
    let report = check(&place, &["--strategy", "pdp", "prog"]);
    assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &2.into()), "{report:#}");
    assert!(report["limits"][0].as_str().unwrap().contains("bitcode"), "{report:#}");
}

#[test]
fn pruning_is_for_races_only() {
    let place = Place::new();
    place.write("prog.c", COUNTER);
    let mut command = Command::new(raddle());
    command.current_dir(place.path(".")).args(["check", "--strategy", "pdp", "--property", "all", "prog.c"]);
    let done = finish(&mut command);
    assert_eq!(done.code(), Some(2), "{}", done.all());
    assert!(done.stderr.contains("data races only"), "{}", done.all());
}

#[test]
fn facts_are_shown() {
    analyser();
    let place = Place::new();
    place.write("prog.c", COUNTER);
    build(&place, "clang-19");
    let facts = |option: &[&str]| {
        let done = finish(Command::new(raddle()).current_dir(place.path(".")).args(["facts", "prog"]).args(option));
        assert_eq!(done.code(), Some(0), "{}", done.all());
        done.stdout
    };
    let text = facts(&[]);
    assert!(text.contains("lock m") && text.contains("write x") && text.contains("create inc"), "{text}");
    assert!(facts(&["--lts"]).contains("digraph \"inc\""));
    let json: Value = serde_json::from_str(&facts(&["--json"])).unwrap();
    assert_eq!(json["version"], 1);
}
