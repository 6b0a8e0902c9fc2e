//! A panic of raddle itself: the user is told what to report, and keeps what was found.

use crate::common::{Done, Place, finish, raddle};

/// A race, and enough schedules that further workers are started.
const PROGRAM: &str = "\
#include <pthread.h>
static int counter;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
  counter = counter + 1;
  for (int i = 0; i < 4; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
  return unused;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
";

fn check(place: &Place, which: &str) -> Done {
    place.write("race.c", PROGRAM);
    let mut command = place.command(raddle());
    command
        .args(["check", "--jobs", "2", "--strategy", "optimal", "--json", "report.json", "race.c"])
        .env("RADDLE_TEST_PANIC", which);
    finish(&mut command)
}

fn keeps_findings(which: &str) {
    let place = Place::new();
    let done = check(&place, which);
    assert_eq!(done.code(), Some(2), "{}", done.all());
    for word in ["bug in raddle: a test wants this panic", "version  0.", "command  ", "check --jobs 2", ".rs:"] {
        assert!(done.stderr.contains(word), "{word} is missing: {}", done.all());
    }
    assert!(done.stdout.contains("data race on `counter`"), "{}", done.all());
    for path in ["report.json", ".raddle/race/report.json"] {
        let report = std::fs::read_to_string(place.path(path)).unwrap();
        assert!(report.contains("\"code\": \"panic\""), "{report}");
        assert!(report.contains("data race on `counter`"), "{report}");
    }
}

#[test]
fn a_panic_of_the_search_keeps_findings() {
    keeps_findings("search");
}

#[test]
fn a_panic_of_a_worker_keeps_findings() {
    keeps_findings("worker");
}
