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
