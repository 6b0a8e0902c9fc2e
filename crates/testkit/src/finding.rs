//! A finding to report.

use raddle_model::finding::{AccessReport, Finding, Kind, ObjectInfo, ObjectKind, Severity};

/// A data race between these accesses on the global variable `balance` of four bytes. It has no
/// witness.
#[must_use]
pub fn race(accesses: Vec<AccessReport>) -> Finding {
    Finding {
        id: "r1".into(),
        severity: Severity::Error,
        kind: Kind::DataRace,
        detail: None,
        message: "data race on balance".into(),
        variable: Some("balance".into()),
        object: Some(ObjectInfo {
            kind: ObjectKind::Global,
            name: Some("balance".into()),
            size: Some(4),
            offset: 0,
            allocated: None,
        }),
        accesses,
        executions_before: 0,
        preemptions: 0,
        witness_kind: None,
        witness: None,
        group: None,
        cause: None,
        confirmed: None,
        stderr: None,
        expectation: None,
    }
}
