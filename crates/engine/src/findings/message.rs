//! A sentence for each sort of defect.

use raddle_model::finding::{AccessReport, Kind};

/// What a sentence needs to know.
pub struct MessageArgs<'a> {
    pub kind: Kind,
    pub detail: &'a str,
    /// The object in question, quoted or described.
    pub object: &'a str,
    /// Condition of an assertion, type of an exception.
    pub text: &'a str,
    /// Address in question.
    pub address: u64,
    pub accesses: &'a [AccessReport],
}

/// The sentence.
pub fn message(args: &MessageArgs<'_>) -> String {
    match args.kind {
        Kind::DataRace => race(args),
        Kind::Deadlock => deadlock(args),
        Kind::Livelock => format!("livelock: {} in a loop that no thread can end", going(args)),
        Kind::Assertion if args.detail == "abort" => format!("{} calls abort", thread(args)),
        Kind::Assertion if args.detail == "exception" => {
            format!("exception of type `{}` is not caught in {}", args.text, thread(args))
        }
        Kind::Assertion if args.detail == "exit-status" => format!("the program ends with exit status {}", args.text),
        Kind::Assertion if args.detail == "script" => {
            let place = args.accesses.first().map_or_else(|| "?".into(), |access| super::builder::at(&access.place));
            format!("{} at {place} expected {}", thread(args), args.text)
        }
        Kind::Assertion => format!("assertion `{}` fails in {}", args.text, thread(args)),
        // For a signal that the program got, the text is its number. Otherwise the text says what
        // ended the run, and no address is known.
        Kind::Crash if args.text == args.detail => format!("{} in {}", args.detail, thread(args)),
        Kind::Crash if args.text.parse::<u64>().is_err() => {
            format!("{} in {}: {}", args.detail, thread(args), args.text)
        }
        Kind::Crash => format!("{} at address {:#x} in {}", args.detail, args.address, thread(args)),
        Kind::Misuse => misuse(args),
        Kind::Memory => memory(args),
    }
}

fn thread<'a>(args: &'a MessageArgs<'_>) -> &'a str {
    args.accesses.first().map_or("a thread", |access| &access.thread)
}

/// `T1 and T2 go round`.
fn going(args: &MessageArgs<'_>) -> String {
    let names: Vec<&str> = args.accesses.iter().map(|access| access.thread.as_str()).collect();
    format!("{} go{} round", listed(&names), if names.len() == 1 { "es" } else { "" })
}

fn listed(names: &[&str]) -> String {
    match names.split_last() {
        None => "no thread".into(),
        Some((last, [])) => (*last).to_string(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

fn race(args: &MessageArgs<'_>) -> String {
    let side = |access: &AccessReport| {
        let place = super::builder::at(&access.place);
        format!("{} by {} at {place}", access.op, access.thread)
    };
    let sides: Vec<String> = args.accesses.iter().map(side).collect();
    let what = match args.detail {
        "use-after-free" | "descriptor" | "use-after-unmap" | "use-after-return" => "race between a use and the end of",
        "protection" => "race between a use and a change of the access rights of",
        "replaced" => "race between a use and the loss of the content of",
        _ => "data race on",
    };
    format!("{what} {}: {}", args.object, sides.join(", "))
}

fn deadlock(args: &MessageArgs<'_>) -> String {
    let waits = |access: &AccessReport| {
        let Some(wait) = &access.waits else { return format!("{} waits", access.thread) };
        match args.detail {
            "cycle" => format!("{} waits for {} (held by {})", access.thread, wait.object, wait.held_by.join(", ")),
            _ => format!("{} waits for {}", access.thread, wait.object),
        }
    };
    let list = args.accesses.iter().map(waits).collect::<Vec<_>>().join(", ");
    match args.detail {
        "relock" if args.accesses.len() > 1 => {
            let first = args.accesses.first().map_or_else(String::new, waits);
            format!("deadlock: {first} in a signal handler, and the thread holds it that the handler interrupts")
        }
        "relock" => format!("deadlock: {list}, which it holds itself"),
        "lost-wakeup" => format!("lost wake-up: {list}, and no thread will signal it"),
        "cycle" => format!("deadlock: {list}"),
        _ => format!("deadlock: {list}, and no thread will ever let them go on"),
    }
}

/// An error in the use of the heap: the access, then the end of the block.
fn memory(args: &MessageArgs<'_>) -> String {
    let place = |access: &AccessReport| super::builder::at(&access.place);
    let first = args.accesses.first().map_or_else(
        || "an access".into(),
        |access| match access.size {
            0 => format!("{} at {}", access.thread, place(access)),
            1 => format!("{} of 1 byte by {} at {}", access.op, access.thread, place(access)),
            size => format!("{} of {size} bytes by {} at {}", access.op, access.thread, place(access)),
        },
    );
    let freed = args.accesses.iter().skip(1).find(|access| access.op == "free");
    let freed = freed.map(|access| format!(", freed by {} at {}", access.thread, place(access))).unwrap_or_default();
    match args.detail {
        "use-after-free" => format!("use after free of {}: {first}{freed}", args.object),
        "out-of-bounds" => format!("out of bounds: {first}, {} {}", args.text, args.object),
        "double-free" => format!("double free of {} by {first}{freed}", args.object),
        "use-after-return" => {
            let at = args.accesses.first().map_or_else(|| "?".into(), place);
            let what = if args.text.is_empty() { "the stack of a function that has returned" } else { args.text };
            format!("use after return: {} at {at} accesses {what}", thread(args))
        }
        "alloc-dealloc-mismatch" => format!("mismatched free of {} by {first}: {}", args.object, args.text),
        "bad-free" => format!("free of what is no heap block by {first}"),
        "leak" => {
            let at = args.accesses.first().map_or_else(|| "?".into(), place);
            format!("memory leak: {}, allocated by {} at {at}", args.text, thread(args))
        }
        detail => format!("{} ({detail})", args.object),
    }
}

fn misuse(args: &MessageArgs<'_>) -> String {
    let (thread, object) = (thread(args), args.object);
    match args.detail {
        "mutex-uninitialised"
        | "cond-uninitialised"
        | "rwlock-uninitialised"
        | "sem-uninitialised"
        | "barrier-uninitialised" => format!("{thread} uses {object}, which was never initialised"),
        "mutex-destroyed" | "cond-destroyed" | "rwlock-destroyed" | "sem-destroyed" | "barrier-destroyed" => {
            format!("{thread} uses {object}, which was destroyed")
        }
        "unlock-not-owner" => format!("{thread} unlocks {object}, which another thread holds"),
        "lock-not-free" => format!("{thread} has acquired {object}, which is held already"),
        "unlock-not-locked" => format!("{thread} unlocks {object}, which no thread holds"),
        "rwlock-unlock-not-held" => format!("{thread} unlocks {object}, which it does not hold"),
        "destroy-locked" | "rwlock-destroy-locked" => format!("{thread} destroys {object}, which is held"),
        "destroy-waited" | "sem-destroy-waited" | "barrier-destroy-waited" => {
            format!("{thread} destroys {object} while threads wait for it")
        }
        "cond-two-mutexes" => format!("threads wait for {object} with different mutexes"),
        "cond-wait-unlocked" => format!("{thread} waits for {object} without holding the mutex"),
        "join-twice" => format!("{thread} joins a thread that was joined before"),
        "join-detached" => format!("{thread} joins or detaches a detached thread"),
        "join-self" => format!("{thread} joins itself"),
        "bad-thread" => format!("{thread} uses a thread handle that names no thread"),
        "async-signal-unsafe" => {
            format!("{thread} calls a function in a signal handler that is not async-signal-safe")
        }
        "signal-errno" => format!("{thread} changes errno in a signal handler and does not restore it"),
        "barrier-count" => format!("{thread} initialises {object} for no thread"),
        "free-locked" => format!("{thread} frees memory that contains {object}, which is held"),
        "reinit-in-use" => format!("{thread} initialises {object}, which is in use"),
        "initialised-twice" => format!("{thread} initialises {object} again, which was not destroyed"),
        "sem-overflow" => format!("{thread} posts {object} beyond its greatest value"),
        "lock-held-at-exit" => format!("{thread} ends while it holds {object}"),
        "main-returns-early" => "main returns while threads run".into(),
        "never-joined" => {
            let child = args.accesses.get(1).map_or("a thread", |access| &access.thread);
            format!("{child} is neither joined nor detached")
        }
        detail if detail.ends_with("-not-destroyed") => format!("{object} is never destroyed"),
        detail => format!("{thread} misuses {object} ({detail})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::finding::{Place, Wait};
    use raddle_vocab::Misuse;

    fn access(thread: &str, op: &str, line: u32) -> AccessReport {
        let place = Place { file: Some("bank.c".into()), line: Some(line), ..Place::default() };
        AccessReport { thread: thread.into(), op: op.into(), place, ..AccessReport::default() }
    }

    fn say(kind: Kind, detail: &str, accesses: &[AccessReport]) -> String {
        say_with(kind, detail, "x > 0", accesses)
    }

    fn say_with(kind: Kind, detail: &str, text: &str, accesses: &[AccessReport]) -> String {
        message(&MessageArgs { kind, detail, object: "`m`", text, address: 16, accesses })
    }

    #[test]
    fn each_kind_has_its_sentence() {
        let two = [access("T1", "write", 14), access("T2", "read", 12)];
        assert_eq!(
            say(Kind::DataRace, "read-write", &two),
            "data race on `m`: write by T1 at bank.c:14, read by T2 at bank.c:12"
        );
        assert_eq!(say(Kind::Assertion, "assert", &two), "assertion `x > 0` fails in T1");
        let exits = say_with(Kind::Assertion, "exit-status", "1", &two);
        assert_eq!(exits, "the program ends with exit status 1");
        assert_eq!(say_with(Kind::Crash, "SIGSEGV", "11", &two), "SIGSEGV at address 0x10 in T1");
        assert_eq!(say_with(Kind::Crash, "SIGXCPU", "it hung", &two), "SIGXCPU in T1: it hung");
        assert_eq!(say_with(Kind::Crash, "SIGBUS", "SIGBUS", &two), "SIGBUS in T1");
        assert_eq!(say(Kind::Livelock, "spin", &two), "livelock: T1 and T2 go round in a loop that no thread can end");
        assert_eq!(say(Kind::Misuse, "unlock-not-owner", &two), "T1 unlocks `m`, which another thread holds");
    }

    #[test]
    fn deadlocks_say_who_waits_for_what() {
        let mut two = [access("T1", "lock", 14), access("T2", "lock", 12)];
        two[0].waits = Some(Wait { object: "b".into(), held_by: vec!["T2".into()] });
        two[1].waits = Some(Wait { object: "a".into(), held_by: vec!["T1".into()] });
        assert_eq!(
            say(Kind::Deadlock, "cycle", &two),
            "deadlock: T1 waits for b (held by T2), T2 waits for a (held by T1)"
        );
        assert_eq!(say(Kind::Deadlock, "relock", &two[..1]), "deadlock: T1 waits for b, which it holds itself");
    }

    /// The last arm is for words of a later version only.
    #[test]
    fn every_misuse_has_its_own_sentence() {
        const OF_MEMORY: [Misuse; 4] = [Misuse::BadFree, Misuse::Leak, Misuse::DeadFrame, Misuse::MismatchedFree];
        let of_library = Misuse::ALL.iter().filter(|&&which| !OF_MEMORY.contains(&which));
        for &which in of_library {
            let word = raddle_model::defect::words::misuse(which);
            let sentence = say(Kind::Misuse, word, &[access("T1", "use", 1)]);
            assert!(!sentence.contains("misuses"), "{word}: {sentence}");
        }
    }
}
