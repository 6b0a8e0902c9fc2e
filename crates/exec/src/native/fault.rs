//! How a target can break.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::process;

/// A target that broke in a way that only a new process mends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TargetFault {
    /// The process is gone.
    Died(#[serde(serialize_with = "put_status", deserialize_with = "take_status")] ExitStatus),
    /// It computed for this long without an event. The address of the instruction at which it was
    /// then, 0 if that is not known.
    Hung(Duration, u64),
    /// It computed for this long without an event, and has no hooks: it may wait for another
    /// thread.
    Spinning(Duration),
    /// It slept in the kernel for this long, in a call that is not modelled.
    Asleep(Duration),
    /// It took more than this many bytes of memory.
    Greedy(u64),
    /// What it wrote into the shared file makes no sense.
    Garbled(String),
}

fn put_status<S: Serializer>(status: &ExitStatus, into: S) -> Result<S::Ok, S::Error> {
    status.into_raw().serialize(into)
}

fn take_status<'de, D: Deserializer<'de>>(from: D) -> Result<ExitStatus, D::Error> {
    i32::deserialize(from).map(ExitStatus::from_raw)
}

impl TargetFault {
    /// The fault as the end of a sentence about the program.
    pub(super) fn describe(&self) -> String {
        match self {
            TargetFault::Died(status) => process::describe(*status),
            TargetFault::Hung(time, _) | TargetFault::Spinning(time) | TargetFault::Asleep(time) => {
                format!("it made no step for {} seconds", time.as_secs_f64().round())
            }
            TargetFault::Greedy(bytes) => format!("it used more than {} MB of memory", bytes >> 20),
            TargetFault::Garbled(what) => format!("it wrote over raddle's records ({what})"),
        }
    }

    /// Whether repeating the run is pointless: it would break in the same way, at the same expense.
    pub(super) fn would_repeat(&self) -> bool {
        match self {
            TargetFault::Hung(..) | TargetFault::Spinning(_) | TargetFault::Asleep(_) | TargetFault::Greedy(_) => true,
            TargetFault::Died(_) | TargetFault::Garbled(_) => false,
        }
    }
}
