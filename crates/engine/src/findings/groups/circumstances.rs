//! What executions tell about findings beside what the findings say.

use std::collections::BTreeSet;

use raddle_model::defect::{Defect, PartPosition};
use raddle_model::{Event, Execution, Operation as _};
use raddle_vocab::OpKind;

/// What is known of one finding.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Of a race: how its two threads stood, first and second.
    pub sides: Vec<Standing>,
    /// Ids of the races that lie behind it: in each execution, those of one of these sets.
    pub behind: Vec<BTreeSet<String>>,
}

/// How a thread stood before its access, in the execution in which a race was met first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it had last waited, or could have taken something over from another thread; 0 for its
    /// start.
    pub wait: u64,
    /// Accesses and events that it had made since then.
    pub since: u32,
    /// Whether it came to its end without waiting again.
    pub is_last: bool,
    /// Whether that last operation was an atomic one, such as the count of a reference that it gave
    /// back.
    pub is_atomic: bool,
}

/// How the threads of a race stood.
pub fn standings(execution: &Execution, defect: &Defect) -> Vec<Standing> {
    if defect.race.is_none() {
        return Vec::new();
    }
    defect.parts.iter().map(|part| standing(execution, part.thread, part.position)).collect()
}

fn standing(execution: &Execution, thread: u16, position: PartPosition) -> Standing {
    let (before, access) = match position {
        PartPosition::Access(number) => (execution.accesses[number as usize].after as usize, Some(number as usize)),
        PartPosition::Event(number) => (number as usize, None),
        PartPosition::Incident(number) => (execution.incidents[number as usize].after as usize, None),
        PartPosition::Pending => (execution.events.len(), None),
    };
    let own = || execution.events.iter().enumerate().filter(|(_, event)| event.thread == thread);
    let last = own().take_while(|(at, _)| *at < before).filter(|(_, event)| may_wait(event)).last();
    let from = last.map_or(0, |(at, _)| at);
    let events = own().filter(|(at, _)| (from..before).contains(at)).count();
    let mut accesses = execution.accesses.iter().enumerate().filter(|(_, access)| access.thread == thread);
    let in_between = |at: usize, after: usize| after > from && after <= before && access.is_none_or(|most| at < most);
    let accesses = accesses.by_ref().filter(|(at, access)| in_between(*at, access.after as usize)).count();
    let waits_again = own().any(|(at, event)| at >= before && may_wait(event) && !ends(event));
    let has_ended = own().next_back().is_some_and(|(_, event)| ends(event));
    Standing {
        wait: last.map_or(0, |(_, event)| event.pc),
        since: (events + accesses) as u32,
        is_last: has_ended && !waits_again,
        is_atomic: last.is_some_and(|(_, event)| event.op.kind().is_atomic_access()),
    }
}

fn ends(event: &Event) -> bool {
    matches!(event.op.kind(), OpKind::ThreadEnd | OpKind::Exit)
}

/// Whether the thread may wait in the operation, or take over what another thread has published.
fn may_wait(event: &Event) -> bool {
    use OpKind as K;
    match event.op.kind() {
        K::Create
        | K::Detach
        | K::MutexInit
        | K::MutexDestroy
        | K::Unlock
        | K::RwInit
        | K::RwDestroy
        | K::RwUnlock
        | K::CondInit
        | K::CondDestroy
        | K::Signal
        | K::Broadcast
        | K::SemInit
        | K::SemDestroy
        | K::SemPost
        | K::BarrierInit
        | K::BarrierDestroy
        | K::OnceEnd
        | K::OnceAbort
        | K::AtomicStore
        | K::FutexWake
        | K::Read
        | K::Write
        | K::Free
        | K::Mapping
        | K::Choose
        | K::CallBegin => false,
        K::ThreadStart
        | K::ThreadEnd
        | K::Join
        | K::Exit
        | K::Lock
        | K::TryLock
        | K::TimedLock
        | K::ReadLock
        | K::TryReadLock
        | K::TimedReadLock
        | K::WriteLock
        | K::TryWriteLock
        | K::TimedWriteLock
        | K::RwAnnounce
        | K::CondWait
        | K::CondTimedWait
        | K::CondReacquire
        | K::CondResume
        | K::SemWait
        | K::SemTryWait
        | K::SemTimedWait
        | K::BarrierArrive
        | K::BarrierLeave
        | K::OnceBegin
        | K::AtomicLoad
        | K::AtomicRmw
        | K::AtomicCas
        | K::Fence
        | K::FutexWait
        | K::FutexTimedWait
        | K::FutexResume
        | K::Io
        | K::Deliver
        | K::HandlerReturn => true,
    }
}
