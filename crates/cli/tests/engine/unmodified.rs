//! Programs that were not built with raddle: the runtime is loaded into them.

use std::path::PathBuf;
use std::process::Command;

use raddle_testkit::tools::require;

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("a_deadlock_is_found_and_replayed", a_deadlock_is_found_and_replayed),
    ("an_order_of_calls_fails_an_assertion", an_order_of_calls_fails_an_assertion),
    ("a_right_program_is_not_verified", a_right_program_is_not_verified),
    ("what_atomic_operations_order_is_no_race", what_atomic_operations_order_is_no_race),
    ("a_thread_that_spins_is_let_go", a_thread_that_spins_is_let_go),
    ("a_lock_that_is_written_over_unseen_is_named", a_lock_that_is_written_over_unseen_is_named),
    ("polling_is_no_livelock", polling_is_no_livelock),
    ("programs_of_the_system_do_their_work", programs_of_the_system_do_their_work),
    ("children_are_ordinary_programs", children_are_ordinary_programs),
    ("wrong_programs_get_a_sentence", wrong_programs_get_a_sentence),
    ("options_that_need_accesses_are_refused", options_that_need_accesses_are_refused),
];

const DEADLOCK: &str = "#include <pthread.h>\n\
    static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *other(void *arg) {\n\
        pthread_mutex_lock(&b); pthread_mutex_lock(&a);\n\
        pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);\n\
        return arg;\n\
    }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        pthread_create(&thread, 0, other, 0);\n\
        pthread_mutex_lock(&a); pthread_mutex_lock(&b);\n\
        pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);\n\
        return pthread_join(thread, 0);\n\
    }\n";

const ASSERTION: &str = "#include <assert.h>\n#include <pthread.h>\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static int ready;\n\
    static void *other(void *arg) {\n\
        pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m);\n\
        return arg;\n\
    }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        pthread_create(&thread, 0, other, 0);\n\
        pthread_mutex_lock(&m); int seen = ready; pthread_mutex_unlock(&m);\n\
        assert(ORDER);\n\
        (void)seen;\n\
        return pthread_join(thread, 0);\n\
    }\n";

/// The buffer is filled and read by calls of the C library, and ordered by an atomic flag.
const SPINNING: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <string.h>\n\
    static char buffer[64];\n\
    static atomic_int filled;\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *other(void *arg) {\n\
        pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n\
        memset(buffer, *(char *)arg, sizeof buffer);\n\
        atomic_store(&filled, 1);\n\
        return 0;\n\
    }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        char content = 'x', copy[64];\n\
        pthread_create(&thread, 0, other, &content);\n\
        while (!atomic_load(&filled)) WAIT;\n\
        pthread_mutex_lock(&m); memcpy(copy, buffer, sizeof copy); pthread_mutex_unlock(&m);\n\
        pthread_join(thread, 0);\n\
        return copy[63] != 'x';\n\
    }\n";

/// Compiles a program with a plain compiler.
fn plain(place: &Place, text: &str, flags: &[&str]) -> PathBuf {
    std::fs::write(place.path("plain.c"), text).unwrap();
    let status = Command::new("gcc")
        .args(["-O2", "-pthread", "plain.c", "-o", "plain"])
        .args(flags)
        .current_dir(place.path("."))
        .status();
    assert!(status.unwrap().success());
    place.path("plain")
}

/// Verdict, code of the reason, and the kinds of the errors.
fn answer(place: &Place, options: &[&str]) -> (String, String, Vec<String>) {
    let words = ["check", "--json", "report.json", "plain"];
    let done = place.raddle(&words.iter().chain(options).copied().collect::<Vec<_>>());
    let text = std::fs::read_to_string(place.path("report.json")).unwrap_or_else(|_| panic!("{}", done.all()));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let errors = report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] == "error");
    let kinds = errors.map(|finding| of(&finding["kind"])).collect();
    assert_eq!(report["unseen"][0], "plain");
    (of(&report["verdict"]), of(&report["reason"]["code"]), kinds)
}

fn incomplete() -> (String, String, Vec<String>) {
    ("incomplete".into(), "observe-sync".into(), Vec::new())
}

fn a_deadlock_is_found_and_replayed() {
    let place = Place::new();
    plain(&place, DEADLOCK, &[]);
    assert_eq!(answer(&place, &[]), ("bug".into(), "observe-sync".into(), vec!["deadlock".into()]));
    let replayed = place.raddle(&["replay", "d1"]);
    assert_eq!(replayed.status(), Some(1), "{}", replayed.all());
    let predicted = place.raddle(&["predict", "plain"]);
    assert_eq!(predicted.status(), Some(1), "{}", predicted.all());
    assert!(predicted.stdout().contains("deadlock"), "{}", predicted.all());
}

fn an_order_of_calls_fails_an_assertion() {
    let place = Place::new();
    for (assertion, wanted) in [("seen", "bug"), ("!seen", "bug"), ("seen < 2", "incomplete")] {
        plain(&place, &ASSERTION.replace("ORDER", assertion), &[]);
        let (verdict, _, kinds) = answer(&place, &[]);
        assert_eq!(verdict, wanted, "{assertion}");
        assert!(kinds.iter().all(|kind| kind == "assertion"), "{kinds:?}");
    }
}

fn a_right_program_is_not_verified() {
    let place = Place::new();
    plain(&place, &DEADLOCK.replace("lock(&b); pthread_mutex_lock(&a)", "lock(&a); pthread_mutex_lock(&b)"), &[]);
    assert_eq!(answer(&place, &[]), incomplete());
    assert_eq!(answer(&place, &["--observe", "sync", "--jobs", "1"]), incomplete());
    let done = place.raddle(&["check", "plain"]);
    assert_eq!(done.status(), Some(3));
    let claim = "no deadlock, failed assertion or crash in any order of the calls to the thread library";
    assert!(done.stdout().contains(claim), "{}", done.all());
}

fn what_atomic_operations_order_is_no_race() {
    let place = Place::new();
    plain(&place, &SPINNING.replace("WAIT", "pthread_yield()"), &["-D_GNU_SOURCE", "-Dpthread_yield=sched_yield"]);
    let (verdict, _, kinds) = answer(&place, &["--strategy", "random", "--max-executions", "20"]);
    assert_eq!((verdict.as_str(), kinds.len()), ("incomplete", 0));
}

fn a_thread_that_spins_is_let_go() {
    let place = Place::new();
    plain(&place, &SPINNING.replace("WAIT", ""), &[]);
    let done = place.raddle(&["run", "plain"]);
    assert_eq!(done.status(), Some(0), "{}", done.all());
    assert_eq!(answer(&place, &[]).2, Vec::<String>::new());
}

fn a_lock_that_is_written_over_unseen_is_named() {
    let place = Place::new();
    let overwrites = include_str!("../../../../tests/cases/mutex/overwritten_while_held.c");
    plain(&place, overwrites, &[]);
    assert_eq!(answer(&place, &[]), ("incomplete".into(), "not-modelled".into(), Vec::new()));
    let done = place.raddle(&["check", "plain"]);
    assert!(done.stdout().contains("a lock was overwritten while it was held"), "{}", done.all());
    assert!(!done.stdout().contains("bug of raddle"), "{}", done.all());
    plain(&place, include_str!("../../../../tests/cases/race/huge_access.c"), &["-w"]);
    let (verdict, code, kinds) = answer(&place, &[]);
    assert_eq!((verdict.as_str(), code.as_str(), kinds), ("bug", "not-modelled", vec!["crash".into()]));
}

fn polling_is_no_livelock() {
    let place = Place::new();
    plain(&place, &SPINNING.replace("WAIT", "usleep(1)"), &["-include", "unistd.h"]);
    let (verdict, _, kinds) = answer(&place, &["--strategy", "pct", "--max-executions", "20"]);
    assert_eq!((verdict.as_str(), kinds.len()), ("incomplete", 0));
}

fn programs_of_the_system_do_their_work() {
    let place = Place::new();
    require("xz");
    let text: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    std::fs::write(place.path("input"), &text).unwrap();
    let words = ["run", "--quiet", "/usr/bin/xz", "--", "-T2", "--block-size=30000", "-c", "input"];
    let done = place.command().args(words).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::write(place.path("packed.xz"), &done.stdout).unwrap();
    let unpacked = Command::new("xz").args(["-dc", "packed.xz"]).current_dir(place.path(".")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&unpacked.stdout), text);
}

fn children_are_ordinary_programs() {
    let place = Place::new();
    let of = |preload: &str| {
        let words = ["run", "--quiet", "/usr/bin/env"];
        let done = place.command().env("LD_PRELOAD", preload).args(words).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.lines().filter(|line| line.contains("LD_PRELOAD")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(""), Vec::<String>::new());
    assert_eq!(of("libm.so.6"), ["LD_PRELOAD=libm.so.6"]);
}

fn wrong_programs_get_a_sentence() {
    let place = Place::new();
    plain(&place, DEADLOCK, &["-static"]);
    let refused = |words: &[&str], sentence: &str| {
        let done = place.raddle(words);
        assert_eq!(done.status(), Some(2), "{}", done.all());
        assert!(done.stderr().contains(sentence), "{}", done.all());
    };
    refused(&["check", "plain"], "statically linked");
    plain(&place, DEADLOCK, &[]);
    std::fs::write(place.path("hooked.c"), DEADLOCK).unwrap();
    place.build(&place.path("hooked.c"), &[]);
    refused(&["check", "--observe", "sync", "hooked"], "leave --observe sync out");
    refused(&["facts", "plain"], "raddle");
}

fn options_that_need_accesses_are_refused() {
    let place = Place::new();
    plain(&place, DEADLOCK, &[]);
    for options in
        [["--strategy", "pdp"], ["--strategy", "stateful"], ["--granularity", "access"], ["--property", "race"]]
    {
        let done = place.raddle(&["check", options[0], options[1], "plain"]);
        assert_eq!(done.status(), Some(2), "{}", done.all());
        assert!(done.stderr().contains(&options.join(" ")), "{}", done.all());
    }
}
