//! Operations in words.

use raddle_model::Event;
use raddle_vocab::{OpKind, Outcome};

/// Gives the names that phrases need.
pub trait Namer {
    /// Name of the object at an address.
    fn object(&self, address: u64) -> String;
    /// Name of a thread by its run-local number.
    fn thread(&self, number: u64) -> String;
}

/// The fixed word for an operation, as the JSON report uses it.
#[must_use]
pub fn word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::ThreadStart => "start",
        OpKind::ThreadEnd => "end",
        OpKind::Create => "create",
        OpKind::Join => "join",
        OpKind::Detach => "detach",
        OpKind::Exit => "exit",
        OpKind::MutexInit => "mutex-init",
        OpKind::MutexDestroy => "mutex-destroy",
        OpKind::Lock => "lock",
        OpKind::TryLock => "try-lock",
        OpKind::TimedLock => "timed-lock",
        OpKind::Unlock => "unlock",
        OpKind::RwInit => "rwlock-init",
        OpKind::RwDestroy => "rwlock-destroy",
        OpKind::ReadLock => "read-lock",
        OpKind::TryReadLock => "try-read-lock",
        OpKind::TimedReadLock => "timed-read-lock",
        OpKind::WriteLock => "write-lock",
        OpKind::TryWriteLock => "try-write-lock",
        OpKind::TimedWriteLock => "timed-write-lock",
        OpKind::RwUnlock => "rw-unlock",
        OpKind::CondInit => "cond-init",
        OpKind::CondDestroy => "cond-destroy",
        OpKind::CondWait | OpKind::CondReacquire => "cond-wait",
        OpKind::CondTimedWait => "cond-timed-wait",
        OpKind::Signal => "signal",
        OpKind::Broadcast => "broadcast",
        OpKind::SemInit => "sem-init",
        OpKind::SemDestroy => "sem-destroy",
        OpKind::SemWait => "sem-wait",
        OpKind::SemTryWait => "sem-try-wait",
        OpKind::SemTimedWait => "sem-timed-wait",
        OpKind::SemPost => "sem-post",
        OpKind::BarrierInit => "barrier-init",
        OpKind::BarrierDestroy => "barrier-destroy",
        OpKind::BarrierArrive | OpKind::BarrierLeave => "barrier-wait",
        OpKind::OnceBegin => "once",
        OpKind::OnceEnd => "once-end",
        OpKind::OnceAbort => "once-abort",
        OpKind::AtomicLoad => "atomic-load",
        OpKind::AtomicStore => "atomic-store",
        OpKind::AtomicRmw => "atomic-rmw",
        OpKind::AtomicCas => "atomic-cas",
        OpKind::Fence => "fence",
        OpKind::FutexWait | OpKind::FutexTimedWait | OpKind::FutexResume => "futex-wait",
        OpKind::FutexWake => "futex-wake",
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Free => "free",
        OpKind::Io => "io",
    }
}

/// What a step did, with the names of what it did it to.
#[must_use]
pub fn phrase(step: &Event, names: &dyn Namer) -> String {
    let object = || names.object(step.obj);
    match step.kind {
        OpKind::Create | OpKind::Join | OpKind::Detach => format!("{} {}", word(step.kind), names.thread(step.arg)),
        OpKind::ThreadStart | OpKind::ThreadEnd | OpKind::Fence => word(step.kind).to_string(),
        OpKind::Exit => format!("exit({})", step.arg as i32),
        OpKind::CondWait | OpKind::CondTimedWait => {
            format!("{} {}, release {}", word(step.kind), object(), names.object(step.arg))
        }
        OpKind::CondReacquire => format!("{} {}, take {}", woken_by(step.outcome), object(), names.object(step.arg)),
        OpKind::FutexResume => format!("{} {}", woken_by(step.outcome), object()),
        OpKind::Signal | OpKind::Broadcast | OpKind::FutexWake => {
            format!("{} {}{}", word(step.kind), object(), woken(step.value, names))
        }
        OpKind::BarrierArrive => format!("arrive at {}", object()),
        OpKind::BarrierLeave => format!("leave {}", object()),
        OpKind::AtomicLoad => format!("load {} = {}", object(), step.value),
        OpKind::AtomicStore => format!("store {} = {}", object(), step.value),
        OpKind::AtomicRmw => format!("update {}: {} to {}", object(), step.old, step.value),
        OpKind::AtomicCas if step.outcome == Outcome::Done => {
            format!("exchange {}: {} to {}", object(), step.old, step.value)
        }
        OpKind::AtomicCas => format!("exchange {} fails: is {}", object(), step.old),
        OpKind::Io => "input or output".to_string(),
        _ => format!("{} {}{}", word(step.kind), object(), ending(step.outcome)),
    }
}

fn woken_by(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::TimedOut => "time out on",
        Outcome::Spurious => "wake spuriously from",
        _ => "wake from",
    }
}

fn ending(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => ", fails",
        Outcome::TimedOut => ", times out",
        Outcome::Refused => ", refused",
        Outcome::Already => ", done already",
        Outcome::Nested => ", nested",
        _ => "",
    }
}

fn woken(set: u64, names: &dyn Namer) -> String {
    let threads: Vec<String> =
        (0..63).filter(|number| set >> number & 1 == 1).map(|number| names.thread(number)).collect();
    match (threads.is_empty(), set >> 63 == 1) {
        (true, false) => ", nobody waits".to_string(),
        (_, more) => format!(", wakes {}{}", threads.join(", "), if more { " and others" } else { "" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_vocab::MemOrder;

    struct Fixed;
    impl Namer for Fixed {
        fn object(&self, address: u64) -> String {
            format!("o{address}")
        }
        fn thread(&self, number: u64) -> String {
            format!("T{number}")
        }
    }

    fn step(kind: OpKind, outcome: Outcome, value: u64) -> Event {
        Event {
            thread: 1,
            kind,
            outcome,
            order: MemOrder::SeqCst,
            size: 4,
            obj: 7,
            arg: 8,
            value,
            old: 3,
            pc: 0,
            accesses: 0,
        }
    }

    #[test]
    fn phrases_say_what_happened_to_what() {
        let say = |kind, outcome, value| phrase(&step(kind, outcome, value), &Fixed);
        assert_eq!(say(OpKind::Lock, Outcome::Done, 0), "lock o7");
        assert_eq!(say(OpKind::TryLock, Outcome::Failed, 0), "try-lock o7, fails");
        assert_eq!(say(OpKind::Create, Outcome::Done, 0), "create T8");
        assert_eq!(say(OpKind::CondWait, Outcome::Done, 0), "cond-wait o7, release o8");
        assert_eq!(say(OpKind::CondReacquire, Outcome::TimedOut, 0), "time out on o7, take o8");
        assert_eq!(say(OpKind::Signal, Outcome::Done, 0b110), "signal o7, wakes T1, T2");
        assert_eq!(say(OpKind::Signal, Outcome::Done, 0), "signal o7, nobody waits");
        assert_eq!(say(OpKind::Broadcast, Outcome::Done, 1 << 63 | 1), "broadcast o7, wakes T0 and others");
        assert_eq!(say(OpKind::AtomicCas, Outcome::Failed, 0), "exchange o7 fails: is 3");
        assert_eq!(say(OpKind::AtomicRmw, Outcome::Done, 4), "update o7: 3 to 4");
    }

    #[test]
    fn every_operation_has_a_word() {
        for &kind in OpKind::ALL {
            assert!(!word(kind).is_empty());
            assert!(!phrase(&step(kind, Outcome::Done, 1), &Fixed).is_empty());
        }
    }
}
