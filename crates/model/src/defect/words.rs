//! The fixed words by which findings are told apart.

use raddle_vocab::{DESCRIPTORS, MappingChange, Misuse};

use crate::race::{Race, Touching};

/// What a dead frame is that is the thread-local storage of a thread.
pub const OF_ENDED_THREAD: &str = "a thread-local variable of a thread that has ended";

/// The word for a misuse.
#[must_use]
pub fn misuse(which: Misuse) -> &'static str {
    match which {
        Misuse::MutexUninitialised => "mutex-uninitialised",
        Misuse::MutexDestroyed => "mutex-destroyed",
        Misuse::LockNotFree => "lock-not-free",
        Misuse::UnlockNotOwner => "unlock-not-owner",
        Misuse::UnlockNotLocked => "unlock-not-locked",
        Misuse::DestroyLocked => "destroy-locked",
        Misuse::CondUninitialised => "cond-uninitialised",
        Misuse::CondDestroyed => "cond-destroyed",
        Misuse::CondTwoMutexes => "cond-two-mutexes",
        Misuse::CondWaitUnlocked => "cond-wait-unlocked",
        Misuse::DestroyWaited => "destroy-waited",
        Misuse::JoinTwice => "join-twice",
        Misuse::JoinDetached => "join-detached",
        Misuse::JoinSelf => "join-self",
        Misuse::BarrierCount => "barrier-count",
        Misuse::RwUninitialised => "rwlock-uninitialised",
        Misuse::RwDestroyed => "rwlock-destroyed",
        Misuse::RwDestroyLocked => "rwlock-destroy-locked",
        Misuse::RwUnlockNotHeld => "rwlock-unlock-not-held",
        Misuse::SemUninitialised => "sem-uninitialised",
        Misuse::SemDestroyed => "sem-destroyed",
        Misuse::SemDestroyWaited => "sem-destroy-waited",
        Misuse::BarrierUninitialised => "barrier-uninitialised",
        Misuse::BarrierDestroyed => "barrier-destroyed",
        Misuse::BarrierDestroyWaited => "barrier-destroy-waited",
        Misuse::FreeLocked => "free-locked",
        Misuse::ReinitInUse => "reinit-in-use",
        Misuse::SemOverflow => "sem-overflow",
        Misuse::BadFree => "bad-free",
        Misuse::Leak => "leak",
        Misuse::BadThread => "bad-thread",
        Misuse::AsyncSignalUnsafe => "async-signal-unsafe",
        Misuse::SignalErrno => "signal-errno",
        Misuse::DeadFrame => "use-after-return",
        Misuse::MismatchedFree => "alloc-dealloc-mismatch",
    }
}

/// The name of a signal, as Linux numbers them on x86-64.
#[must_use]
pub fn signal(number: u64) -> &'static str {
    match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => "signal",
    }
}

/// What sort of race it is.
#[must_use]
pub fn race(race: &Race) -> &'static str {
    let sides = [race.first.what, race.second.what];
    let has = |what: &[Touching]| sides.iter().any(|side| what.contains(side));
    // What is gone matters most.
    let mapping = sides.into_iter().filter_map(Touching::mapping).min();
    if DESCRIPTORS.contains(&race.addr) {
        "descriptor"
    } else if has(&[Touching::Free]) {
        "use-after-free"
    } else if let Some(change) = mapping {
        match change {
            MappingChange::Unmap => "use-after-unmap",
            MappingChange::ThreadEnd => "use-after-return",
            MappingChange::Replace | MappingChange::Discard => "replaced",
            _ => "protection",
        }
    } else if has(&[Touching::Make]) {
        "init-destroy"
    } else if has(&[Touching::Use]) {
        "object-overwritten"
    } else if has(&[Touching::AtomicRead, Touching::AtomicWrite]) {
        "atomic-plain"
    } else if has(&[Touching::Read]) {
        "read-write"
    } else {
        "write-write"
    }
}
