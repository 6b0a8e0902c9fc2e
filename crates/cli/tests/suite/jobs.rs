//! Reports do not depend on the number of jobs.

use std::path::Path;

use crate::common::{Place, finish, raddle};

/// What targets have learnt of loops in other samples does not change a sample.
#[test]
fn samples_do_not_depend_on_jobs() {
    let place = Place::new();
    for name in ["chase_lev", "conf_loop", "ms_queue"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/lockfree/{name}.c"));
        for strategy in ["pos", "pct", "random"] {
            let figures = ["1", "3"].map(|jobs| {
                let mut command = place.command(raddle());
                command.args(["check", "--quiet", "--strategy", strategy, "--jobs", jobs]);
                command.args(["--max-executions", "2000", "--json", "report.json"]).arg(&source);
                let done = finish(&mut command);
                assert_eq!(done.code(), Some(3), "{}", done.all());
                let report = std::fs::read_to_string(place.path("report.json")).unwrap();
                let report: serde_json::Value = serde_json::from_str(&report).unwrap();
                ["executions", "transitions", "events"].map(|name| report["stats"][name].as_u64().unwrap())
            });
            assert_eq!(figures[0], figures[1], "{name} with {strategy}: 1 and 3 jobs");
        }
    }
}

/// Four threads that each add twice: 8! / 2!^4 orders, so that all workers are started.
const ADDITIONS: &str = "\
#include <pthread.h>
#include <stdatomic.h>
static atomic_int sum;
static void *add(void *arg) {
    atomic_fetch_add_explicit(&sum, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sum, 1, memory_order_relaxed);
    return arg;
}
int main(void) {
    pthread_t thread[4];
    for (int at = 0; at < 4; at++) pthread_create(&thread[at], NULL, add, NULL);
    for (int at = 0; at < 4; at++) pthread_join(thread[at], NULL);
    return 0;
}
";

/// Nor do those of searches under weak memory models, whether the program waits busily or not.
#[test]
fn weak_searches_do_not_depend_on_jobs() {
    let place = Place::new();
    place.write("additions.c", ADDITIONS);
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/weak");
    for (source, count) in [(place.path("additions.c"), Some(2520)), (cases.join("locks.c"), None)] {
        let reports = ["1", "3"].map(|jobs| {
            let mut command = place.command(raddle());
            command.args(["check", "--quiet", "--memory", "rc11", "--jobs", jobs, "--json", "report.json"]);
            let done = finish(command.arg(&source));
            assert_eq!(done.code(), Some(0), "{}", done.all());
            let report = std::fs::read_to_string(place.path("report.json")).unwrap();
            let mut report: serde_json::Value = serde_json::from_str(&report).unwrap();
            report["stats"]["seconds"].take();
            report
        });
        assert_eq!(reports[0], reports[1], "1 and 3 jobs");
        assert!(count.is_none_or(|count: u64| reports[0]["stats"]["executions"] == count), "{}", reports[0]["stats"]);
    }
}
