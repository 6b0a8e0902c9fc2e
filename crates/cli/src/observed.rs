//! What one execution shows by itself to be wrong, without a search: failures, misuse, threads that wait for ever.

use raddle_exec::recording::{Names, describe_step};
use raddle_model::finding::Kind;
use raddle_model::{Execution, Incident, IncidentKind, PendingState};
use raddle_vocab::{Failure, RunStatus};

/// Something wrong, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Observed {
    /// What sort.
    pub kind: Kind,
    /// A sentence.
    pub text: String,
}

/// Everything wrong with an execution, in the order in which it happened.
pub fn observed(execution: &Execution, names: &dyn Names) -> Vec<Observed> {
    let incidents = execution.incidents.iter().filter_map(|incident| of_incident(incident, execution, names));
    let mut all: Vec<Observed> = incidents.collect();
    all.extend(waiting_for_ever(execution, names));
    all
}

fn of_incident(incident: &Incident, execution: &Execution, names: &dyn Names) -> Option<Observed> {
    let thread = execution.threads.get(usize::from(incident.thread)).map(|thread| thread.path.to_string());
    let thread = thread.unwrap_or_default();
    let place = names.place(incident.pc).filter(|_| incident.pc != 0);
    let at = place.map(|place| format!(" at {place}")).unwrap_or_default();
    let (kind, what) = match incident.kind {
        IncidentKind::Failure(Failure::Assertion) => (Kind::Assertion, format!("assertion failed: {}", incident.text)),
        IncidentKind::Failure(Failure::Abort) => (Kind::Crash, "the program called abort".into()),
        IncidentKind::Failure(Failure::Signal) => (Kind::Crash, format!("crash: {}", incident.text)),
        IncidentKind::Failure(Failure::Exception) => {
            (Kind::Crash, format!("uncaught exception of type {}", raddle_report::symbols::demangle(&incident.text)))
        }
        IncidentKind::Failure(Failure::Assume) => return None,
        IncidentKind::Misuse(misuse) => {
            let object = names.object(incident.obj).map(|name| format!(" of {name}")).unwrap_or_default();
            (Kind::Misuse, format!("misuse{object}: {misuse:?}"))
        }
    };
    Some(Observed { kind, text: format!("{what} (thread {thread}{at})") })
}

/// Threads that nobody will ever wake. Who waits for a thread that failed, or after the process has exited, is at rest.
fn waiting_for_ever(execution: &Execution, names: &dyn Names) -> Vec<Observed> {
    let failed = execution.pending.iter().any(|pending| pending.state == PendingState::Failed);
    if execution.status != RunStatus::Rest || execution.exit.is_some() || failed {
        return Vec::new();
    }
    let list = |state: PendingState| -> Vec<String> {
        let stuck = execution.pending.iter().filter(|pending| pending.state == state);
        stuck.map(|pending| describe_step(&pending.step, execution, names)).collect()
    };
    let mut all = Vec::new();
    for (state, kind, what) in [
        (PendingState::Blocked, Kind::Deadlock, "these threads wait for ever"),
        (PendingState::Awaiting, Kind::Livelock, "these threads go round in a loop for ever"),
    ] {
        let stuck = list(state);
        if !stuck.is_empty() {
            all.push(Observed { kind, text: format!("{}: {what}: {}", kind.word(), stuck.join("; ")) });
        }
    }
    all
}
