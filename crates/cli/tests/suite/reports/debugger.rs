//! A witness in gdb, with the commands over the threads of the program.

use std::fs::File;

use raddle_testkit::tools::require;

use crate::common::{Place, finish, raddle};

/// gdb reads its commands from standard input where there is no terminal.
fn debugged(place: &Place, words: &[&str], commands: &str) -> String {
    debugged_finding(place, "r1", words, &format!("{commands}\nkill"))
}

fn debugged_finding(place: &Place, id: &str, words: &[&str], commands: &str) -> String {
    require("gdb");
    let input = place.write("commands", format!("{commands}\nquit\n"));
    let mut command = place.command(raddle());
    command.args(["replay", id, "--gdb"]).args(words).stdin(File::open(input).unwrap());
    let done = finish(&mut command);
    assert_eq!(place.left_behind(), Vec::<String>::new());
    done.all()
}

#[test]
fn gdb_stops_right_before_the_accesses_and_knows_the_threads() {
    let (place, _) = super::checked(&["--quiet"]);
    let said = debugged(&place, &[], "raddle where\nraddle where T0\nraddle switch T0\nbacktrace\nraddle threads");
    assert!(said.contains("T1     at an access           withdraw at"), "{said}");
    assert!(said.contains("* T2     at an access "), "{said}");
    assert!(!said.contains("/rustc/"), "no frames of the runtime: {said}");
    assert!(said.contains("bank.c:18"), "{said}");
    assert!(said.contains("before join") && said.contains("main at"), "{said}");
    assert!(said.contains("T0 in main at") && said.contains("bank.c:34"), "{said}");
}

#[test]
fn gdb_goes_from_event_to_event() {
    let (place, _) = super::checked(&["--quiet"]);
    let said = debugged(&place, &["--break-at", "3"], "raddle next\nraddle next\nraddle switch T9\nraddle where");
    assert!(said.contains("stopped before event 3"), "{said}");
    assert!(said.contains("event 4") && said.contains("event 5"), "{said}");
    assert!(said.contains("there is no thread T9; there are T0, T1, T2"), "{said}");
}

/// A place in which a program was checked that has this finding.
fn found(source: &str) -> Place {
    let place = Place::new();
    place.write("program.c", source);
    let done = place.raddle(["check", "--quiet", "program.c"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    place
}

const DEADLOCK: &str = "\
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *p) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return p;
}
static void *two(void *p) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return p;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, one, 0);
  pthread_create(&t, 0, two, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
}
";

#[test]
fn gdb_stops_in_a_deadlock_with_all_threads_in_place() {
    let place = found(DEADLOCK);
    let said = debugged_finding(&place, "d1", &[], "raddle where T1\nraddle where T2\ncontinue");
    assert!(said.contains("stopped where the schedule ends"), "{said}");
    for words in ["T1     before lock", "T2     before lock", "T0     before join", "one at", "program.c:5"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("Traceback"), "{said}");
}

#[test]
fn gdb_stops_at_a_failure_with_its_stack() {
    let place = found(
        "#include <assert.h>\n#include <pthread.h>\nstatic int key;\n\
         static void check(int key) {\n  assert(key == 7);\n}\n\
         static void *work(void *p) {\n  check(8);\n  return p;\n}\n\
         int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n  pthread_join(t, 0);\n  \
         return key;\n}\n",
    );
    let said = debugged_finding(&place, "a1", &[], "print key\nbacktrace\nraddle where");
    assert!(said.contains("raddle: stopped at the failure") && said.contains("* T1     fails"), "{said}");
    assert!(said.contains("$1 = 8"), "the frame of the assertion is selected: {said}");
    assert!(said.contains("check (key=8)") && said.contains("program.c:5"), "{said}");
    // `backtrace` and `raddle where` have the same numbers.
    let number = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let frames: Vec<_> = said.lines().filter(|line| line.contains("work ") && line.contains('#')).map(number).collect();
    assert!(frames.len() >= 2 && frames.iter().all(|frame| *frame == frames[0]), "{frames:?}: {said}");
}

#[test]
fn gdb_stops_at_a_use_after_free() {
    let place = found(
        "#include <pthread.h>\n#include <stdlib.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static int *block;\n\
         static void *work(void *p) {\n  pthread_mutex_lock(&m);\n  *block = 1;\n  pthread_mutex_unlock(&m);\n  \
         return p;\n}\n\
         int main(void) {\n  pthread_t t;\n  block = malloc(4);\n  pthread_create(&t, 0, work, 0);\n  \
         pthread_mutex_lock(&m);\n  free(block);\n  pthread_mutex_unlock(&m);\n  pthread_join(t, 0);\n}\n",
    );
    let said = debugged_finding(&place, "h1", &[], "backtrace");
    assert!(said.contains("* T1     at an access") && said.contains("program.c:7"), "{said}");
}

/// The witness of a bug that was fixed says so, also behind a check that finds nothing any more.
#[test]
fn the_witness_of_a_fixed_bug_says_so() {
    let place = found(DEADLOCK);
    let fixed = DEADLOCK.replace(
        "  pthread_mutex_lock(&b);\n  pthread_mutex_lock(&a);\n",
        "  pthread_mutex_lock(&a);\n  pthread_mutex_lock(&b);\n",
    );
    place.write("program.c", &fixed);
    let replay = place.raddle(["replay", "d1", "--rebuild"]);
    assert!(replay.stdout.contains("not reproduced: the program ended without d1"), "{}", replay.all());
    assert_eq!(replay.code(), Some(3), "{}", replay.all());
    let check = place.raddle(["check", "program.c"]);
    assert_eq!(check.code(), Some(0), "{}", check.all());
    for name in ["d1", "program/d1"] {
        let replay = place.raddle(["replay", name]);
        assert!(replay.stdout.contains("a witness of an earlier check"), "{}", replay.all());
        assert!(replay.stdout.contains("not reproduced"), "{}", replay.all());
    }
    let missing = place.raddle(["show", "r99"]);
    assert!(missing.stderr.contains("no finding r99"), "{}", missing.all());
}
