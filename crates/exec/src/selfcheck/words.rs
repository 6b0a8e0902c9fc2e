//! What two executions differ in, in words.

use raddle_model::{Access, AccessKind, Event, Incident, IncidentKind, Pending, PendingState, ThreadInfo, ThreadPath};
use raddle_vocab::{OpKind, Outcome, RunStatus};

use super::views::Operand;

/// Something that can be told.
pub trait InWords {
    /// It, as part of a sentence.
    fn words(&self) -> String;
}

impl InWords for Event {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl InWords for Access {
    fn words(&self) -> String {
        let what = match self.kind {
            AccessKind::Read => "a read",
            AccessKind::Write => "a write",
            AccessKind::Alloc => "an allocation",
            AccessKind::Free => "a free",
            AccessKind::Mapping(_) => "a change of the mapping",
        };
        format!("{what} of {} bytes at {:#x} by thread {} from {:#x}", self.size, self.addr, self.thread, self.pc)
    }
}

impl InWords for ThreadInfo {
    fn words(&self) -> String {
        format!("{} with the name {}", self.path, self.name.words())
    }
}

impl InWords for ThreadPath {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl InWords for Option<String> {
    fn words(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), |name| format!("`{name}`"))
    }
}

impl InWords for Incident {
    fn words(&self) -> String {
        format!("{} by thread {} at {:#x}", kind_words(self.kind, &self.text), self.thread, self.pc)
    }
}

fn kind_words(kind: IncidentKind, text: &str) -> String {
    let what = match kind {
        IncidentKind::Failure(_) => "a failure",
        IncidentKind::Misuse(_) => "a misuse",
    };
    if text.is_empty() { what.into() } else { format!("{what} ({text})") }
}

impl InWords for Pending {
    fn words(&self) -> String {
        format!("{}, which {}", self.event, self.state.words())
    }
}

/// Status, exit status, where it left the schedule.
impl InWords for (RunStatus, Option<i32>, Option<u32>) {
    fn words(&self) -> String {
        let left = self.2.map_or_else(String::new, |at| format!(", off the schedule at {at}"));
        format!("{}{left}", (self.0, self.1).words())
    }
}

impl InWords for (RunStatus, Option<i32>) {
    fn words(&self) -> String {
        let end = match self.0 {
            RunStatus::Rest => "rest",
            RunStatus::Assumed => "a false assumption",
            RunStatus::Cut | RunStatus::TraceFull | RunStatus::Stopped => "a cut",
            RunStatus::Idle => "rounds without an effect",
            RunStatus::Diverged => "a divergence",
            RunStatus::NeedPool | RunStatus::NeedFresh | RunStatus::Damaged => "a broken run",
        };
        self.1.map_or_else(|| end.into(), |exit| format!("{end} with exit status {exit}"))
    }
}

/// Kind, outcome, object, the other operand, value, old value, place, accesses before it.
impl InWords for (OpKind, Outcome, u64, Operand, Operand, u64, u64, u32) {
    fn words(&self) -> String {
        let (kind, outcome, object, operand, value, old, pc, accesses) = self;
        format!(
            "{} on {object:#x} at {pc:#x} ({} with {}, {}, {old:#x}) behind {accesses} accesses",
            kind.word(),
            outcome.word(),
            operand.words(),
            value.words()
        )
    }
}

impl InWords for Operand {
    fn words(&self) -> String {
        match self {
            Operand::Number(number) => format!("{number:#x}"),
            Operand::Threads(threads) => threads.iter().map(ThreadPath::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

/// The thread's steps before it, and the access.
impl InWords for (usize, Access) {
    fn words(&self) -> String {
        format!("{} behind step {}", self.1.words(), self.0)
    }
}

/// The thread's steps before it, kind, object, place, accesses, text.
impl InWords for (usize, IncidentKind, u64, u64, u32, String) {
    fn words(&self) -> String {
        format!("{} on {:#x} at {:#x} behind step {}", kind_words(self.1, &self.5), self.2, self.3, self.0)
    }
}

/// Operation and object that the thread stands before, and whether it can go on.
impl InWords for (OpKind, u64, PendingState) {
    fn words(&self) -> String {
        format!("{} on {:#x}, which {}", self.0.word(), self.1, self.2.words())
    }
}
