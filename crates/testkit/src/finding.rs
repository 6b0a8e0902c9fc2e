//! A finding to report.

use raddle_model::finding::{AccessReport, Finding, Kind, ObjectInfo, ObjectKind, Severity};

/// A data race between these accesses on the global variable `balance` of four bytes. It has no
/// witness.
#[must_use]
pub fn race(accesses: Vec<AccessReport>) -> Finding {
    Finding {
        id: "r1".into(),
        message: "data race on balance".into(),
        variable: Some("balance".into()),
        object: Some(ObjectInfo {
            kind: ObjectKind::Global,
            name: Some("balance".into()),
            size: Some(4),
            offset: 0,
            allocated: None,
        }),
        ..Finding::new(Severity::Error, Kind::DataRace, accesses)
    }
}
