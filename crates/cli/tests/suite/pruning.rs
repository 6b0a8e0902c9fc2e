//! Pruning through the whole pipeline: generated C programs, built with clang, analysed, searched;
//! and what happens without facts.

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::analyser::analyser;
use crate::common::{Place, finish, for_each, raddle};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::restart::optimal_with_dpor_fallback;
use raddle_explore::{WorkerPool, explore};
use raddle_model::RaceDetector;
use raddle_testkit::effort::is_more;
use raddle_testkit::guarded::{Class, generate};
use raddle_testkit::print::print;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
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
fn is_racy(program: &AbstractProgram) -> Option<bool> {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let mut detector = RaceDetector::new();
    let mut found = false;
    let mut strategy = MaxExecutions::new(optimal_with_dpor_fallback(0), 1000);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        found = found || !detector.races(execution).is_empty();
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (found || outcome.unwrap().incomplete.is_none()).then_some(found)
}

/// What came of the generated programs.
#[derive(Default)]
struct Counts {
    racy: AtomicU64,
    free: AtomicU64,
    pruned: AtomicU64,
}

/// Compares what is said about one program with what an exhaustive search in memory finds.
fn compare(class: Class, forks: bool, seed: u64, counts: &Counts) -> Result<(), String> {
    let program = generate(seed, class, forks);
    let Some(expected) = is_racy(&program) else { return Ok(()) };
    let place = Place::new();
    place.write("prog.c", print(&program).text);
    build(&place, "clang-19");
    for strategy in ["pdp", "dhtc"] {
        let report = check(&place, &["--strategy", strategy, "--stop-at-first", "prog"]);
        let verdict = if expected { "bug" } else { "verified" };
        let limits = report["limits"].as_array().map(Vec::len);
        if report["property"] != "race" || report["verdict"] != verdict || limits != Some(0) {
            let text = print(&program).text;
            return Err(format!("{class:?} {forks} {seed} {strategy}, not {verdict}: {report:#}\n{text}"));
        }
        let skipped = report["stats"]["prune"]["skipped"].as_u64().unwrap_or(0);
        counts.pruned.fetch_add(skipped, Ordering::Relaxed);
    }
    (if expected { &counts.racy } else { &counts.free }).fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// 48 programs, or 504 with `--more`.
#[test]
fn generated_programs_through_the_whole_pipeline() {
    analyser();
    let each = if is_more() { 21 } else { 2 };
    let kinds = Class::ALL.iter().flat_map(|&class| [(class, false), (class, true)]);
    let all: Vec<(Class, bool, u64)> =
        kinds.flat_map(|(class, forks)| (0..each).map(move |seed| (class, forks, seed))).collect();
    let counts = Counts::default();
    for_each(&all, |&(class, forks, seed)| compare(class, forks, seed, &counts));
    let (racy, free, pruned) = (counts.racy.into_inner(), counts.free.into_inner(), counts.pruned.into_inner());
    println!("{racy} with a race, {free} without, {pruned} backtracks left out");
    assert!(racy >= 10 && free >= 10 && pruned > 10, "{racy} {free} {pruned}");
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

/// Translation units that are compiled one by one, one of them in an archive: plugins of other
/// LLVMs that `ar` and `nm` may load do not see the bitcode, the analyser does.
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
    // An identification block that speaks of a later epoch is refused as bitcode of a newer LLVM
    // is.
    bytes[magic + 24..magic + 400].fill(0xff);
    place.write_program("prog", bytes);
    let report = check(&place, &["--strategy", "pdp", "prog"]);
    assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &2.into()), "{report:#}");
    assert!(report["limits"][0].as_str().unwrap().contains("bitcode"), "{report:#}");
}

/// Facts that no analyser would give: the search goes on without them.
#[test]
fn an_analyser_that_fails_costs_nothing_but_pruning() {
    let place = Place::new();
    place.write("prog.c", COUNTER);
    build(&place, "gcc");
    // A copy of the command looks for the analyser beside itself.
    std::fs::create_dir(place.path("bin")).unwrap();
    place.write_program("bin/raddle", std::fs::read(raddle()).unwrap());
    for (script, words) in [
        ("echo '{\"version\": 1, \"nodes\": 7}'", "damaged"),
        ("echo nonsense", "damaged"),
        ("echo 'raddle-analyze: LLVM 19 cannot read it' >&2; exit 2", "LLVM 19 cannot read it"),
        ("kill -9 $$", "signal: 9"),
    ] {
        place.write_program("bin/raddle-analyze", format!("#!/bin/sh\n{script}\n"));
        let mut command = Command::new(place.path("bin/raddle"));
        let done =
            finish(command.current_dir(place.path(".")).args(["check", "--json", "-", "--strategy", "dhtc", "prog"]));
        let report: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.all()));
        assert_eq!((&report["verdict"], &report["stats"]["executions"]), (&"verified".into(), &2.into()), "{report:#}");
        let limit = report["limits"][0].as_str().unwrap();
        assert!(limit.contains("nothing was pruned") && limit.contains(words), "{limit}");
    }
}

/// More than 10,000 lines in few seconds and little memory, by limits that the system sets.
#[test]
fn a_large_program_is_analysed_in_seconds() {
    use std::fmt::Write as _;
    let place = Place::new();
    let mut text = String::from("#include <pthread.h>\n#include <stdlib.h>\n");
    text += "struct node { struct node *next; int key, value[4]; void (*visit)(struct node *); };\n";
    for lock in 0..20 {
        let _ = writeln!(
            text,
            "static pthread_mutex_t m{lock} = PTHREAD_MUTEX_INITIALIZER; int g{lock}; struct node *l{lock};"
        );
    }
    const FUNCTIONS: usize = 360;
    for number in 0..FUNCTIONS {
        let _ = writeln!(text, "static int f{number}(struct node *n, int depth);");
    }
    for number in 0..FUNCTIONS {
        let (lock, one, two) = (number % 20, number * 7919 % FUNCTIONS, number * 104_729 % FUNCTIONS);
        let _ = writeln!(
            text,
            "static void visit{number}(struct node *n)\n{{\n    n->value[{}] += n->key;\n    if (n->next)\n        \
             n->next->key ^= {number};\n}}\nstatic int f{number}(struct node *n, int depth)\n{{\n    int sum = 0;\n    \
             if (depth <= 0)\n        return 0;\n    pthread_mutex_lock(&m{lock});\n    g{lock} += depth;\n    \
             for (struct node *p = l{lock}; p; p = p->next) {{\n        sum += p->value[depth & 3];\n        \
             if (p->visit)\n            p->visit(p);\n    }}\n    pthread_mutex_unlock(&m{lock});\n    \
             if (sum > {number})\n        sum += f{one}(n, depth - 1);\n    else\n        \
             sum -= f{two}(n, depth - 2);\n    \
             if (n->key == {number}) {{\n        struct node *fresh = calloc(1, sizeof *fresh);\n        \
             fresh->visit = visit{number};\n        fresh->next = l{lock};\n        l{lock} = fresh;\n    }}\n    \
             return sum;\n}}",
            number % 4
        );
    }
    text += "static void *work(void *arg) { struct node n = { 0 }; n.key = 1; f0(&n, 3); return arg; }\n";
    text += "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); return 0; }\n";
    assert!(text.lines().count() > 10_000, "{} lines", text.lines().count());
    place.write("prog.c", text);
    build(&place, "clang-19");
    let limits = format!("ulimit -t 5 -v 1048576; exec '{}' prog", analyser().display());
    let done = finish(Command::new("sh").current_dir(place.path(".")).args(["-c", &limits]));
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
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
