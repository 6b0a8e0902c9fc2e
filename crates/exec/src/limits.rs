//! Messages about what a run did that is not modelled or cannot be undone.

use raddle_wire::{limit, no_key};

/// Each bit of the control block's word with its message.
const SENTENCES: [(u64, &str); 29] = [
    (limit::SOCKET, "a socket was used: what its other end does is not controlled, and cannot be undone between runs"),
    (
        limit::SHARED_MEMORY,
        "memory shared with other processes was used: their accesses are not seen, and it is not restored",
    ),
    (limit::CHILD_PROCESS, "a child process was started: what it does is not controlled"),
    (limit::TIMER, "a timer or a source of signals was used of which not all moments are explored"),
    (limit::CANCEL, "pthread_cancel reached a thread at a point where cancellation is not modelled"),
    (limit::SYSTEM_CALL, "a system call was made that raddle does not know"),
    (
        limit::EXIT_HANDLERS,
        "a run registered more than 2,048 handlers of exit: not every order was tried in which several threads that \
         end the process call the others",
    ),
    (limit::EXIT_EVENTS, "threads went on after the process had exited for longer than --exit-events allows"),
    (
        limit::FILES,
        "a file was changed that is not a private copy, or a directory was listed without what the run changed there",
    ),
    (limit::EXTERNAL_WAIT, "a thread waited in the kernel for something outside the program"),
    (
        limit::DLOPEN,
        "libraries were loaded during the run whose names found no room: what they do is seen only if they were built \
         with raddle",
    ),
    (
        limit::DESCRIPTORS,
        "descriptors above 255, dup2 found by its name, or several members of an epoll queue that are not \
         level-triggered: the order of what threads do with them was not searched",
    ),
    (
        limit::REQUEUE,
        "FUTEX_REQUEUE would have moved threads to another futex; they were woken instead, so that a wake-up that they \
         lack there is not missed",
    ),
    (
        limit::POLLED,
        "a thread polls under a lock that another one only tries, or waits for with a time-out: rounds that make no \
         progress were left out, which that one could have noticed",
    ),
    (limit::THREADS, "a run was ended because it has more than 256 threads"),
    (limit::SEMAPHORES, "a run was ended because it opened more named semaphores than raddle has room for"),
    (limit::ASSEMBLY, "inline assembly that may access memory was executed: its accesses are not seen"),
    (
        limit::INTRINSIC,
        "an intrinsic of the processor accessed memory under a mask or by a list of addresses: its accesses are not \
         seen",
    ),
    (
        limit::IDLE_ROUNDS,
        "a run was stopped because a thread goes round in a loop without an effect while others could run; only a few \
         such rounds are tried",
    ),
    (
        limit::COUNTED_ROUNDS,
        "a run was stopped because a thread waits in a loop that leaves something behind in each round, such as a \
         count or a line of a log; only a few such rounds are tried",
    ),
    (
        limit::TIME_ALONE,
        "threads sleep or wait with time-outs again and again: when the clients were done, a run ended after a few \
         of these rounds",
    ),
    (
        limit::PATHS,
        "a directory was made, moved or removed, or the working directory changed, while another thread used a path \
         through it: not all orders of the two were tried",
    ),
    (
        limit::LARGE_ACCESS,
        "an access to more than 1 MiB, or the end of a larger heap block, was a transition: only its first MiB was \
         compared with other transitions",
    ),
    (
        limit::ATOMIC_CODE,
        "the program has atomic operations that were not seen as such (variables of atomic types whose addresses debug \
         information does not tell, or instructions that are not modelled): their orders were not explored, and no \
         data races were looked for, because plain instructions may be atomic operations of the source, too",
    ),
    (limit::LATE_CODE, "a run loaded a library, or made code: not all that this code accesses was seen"),
    (limit::INSTRUCTION, "a run was ended at an instruction that the emulator does not know"),
    (
        limit::PROTECTION,
        "access rights of memory changed while other threads lived, in a program that handles the faults of accesses \
         that are not allowed: not every order of the two was tried",
    ),
    (
        limit::VIEWS,
        "the same memory was mapped at two addresses: races between accesses by different addresses are not seen",
    ),
    (limit::HEAP, "a thread wanted more memory than threads of a program get that is observed under an emulator"),
];

/// Why states have no keys, in the order of the numbers in [`no_key`].
const WITHOUT_KEY: [&str; 14] = [
    "the run has no snapshot",
    "the kernel's state was changed",
    "something was used that keys do not cover, such as a file",
    "a channel is nearly full",
    "a wait with a time-out was begun, and it is not known what its rounds change",
    "a timer was used",
    "a signal was used",
    "a stream was locked",
    "a named semaphore was used",
    "a thread is inside an atomic section",
    "a thread is in the middle of a round of busy waiting",
    "a thread is in the middle of a transition",
    "a thread is in a call of which not all is known that it goes on with",
    "too much memory differs, or what sockets and channels hold is not known",
];

/// What log lines about keys are asked for by: `RADDLE_LOG=exec::keys=debug`.
const KEYS: &str = "raddle_exec::keys";

/// Logs why the state behind so many events cannot be compared with others.
pub(crate) fn log_no_key(word: u64, events: usize) {
    let reason = (word as u8).checked_sub(no_key::NO_SNAPSHOT).and_then(|at| WITHOUT_KEY.get(usize::from(at)));
    let why = reason.copied().unwrap_or("for no known reason");
    let (thread, pc) = (word >> 8 & 0xff, word >> 16);
    tracing::debug!(target: KEYS, events, thread, pc = format_args!("{pc:#x}"), "a state has no key: {why}");
}

/// The messages for a set of bits. Bits without a message (a newer runtime, or a program that wrote
/// there) are reported as a number.
#[must_use]
pub fn sentences(bits: u64) -> Vec<String> {
    let mut all: Vec<String> =
        SENTENCES.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, text)| text.into()).collect();
    if unnamed(bits) != 0 {
        all.push(format!("limits without a name were met ({:#x})", unnamed(bits)));
    }
    all
}

/// What stands before the return address of a call.
const CALLED_AT: &str = " was called at ";
/// What stands behind it.
const BEHIND: &str = ": its effect is not part of the search";

/// The message for a call that was not modelled, with its return address for [`with_place`].
#[must_use]
pub fn of_call(name: &str, pc: u64) -> String {
    format!("{name}{CALLED_AT}{pc:#x}{BEHIND}")
}

/// A message with a place of the source instead of the return address, if it has one.
#[must_use]
pub fn with_place(sentence: &str, place_of: impl Fn(u64) -> Option<String>) -> String {
    let place = || {
        let (name, rest) = sentence.split_once(CALLED_AT)?;
        let pc = u64::from_str_radix(rest.strip_suffix(BEHIND)?.strip_prefix("0x")?, 16).ok()?;
        Some(format!("{name}{CALLED_AT}{}{BEHIND}", place_of(pc)?))
    };
    place().unwrap_or_else(|| sentence.to_owned())
}

/// Those of the bits that have no name.
#[must_use]
pub fn unnamed(bits: u64) -> u64 {
    SENTENCES.iter().fold(bits, |left, (bit, _)| left & !bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_said() {
        assert!(sentences(0).is_empty());
        assert_eq!(sentences(u64::MAX).len(), SENTENCES.len() + 1);
        assert!(sentences(limit::SOCKET)[0].contains("socket"));
    }

    #[test]
    fn a_call_is_shown_at_its_place() {
        let sentence = of_call("getaddrinfo", 0x1234);
        let shown = with_place(&sentence, |pc| (pc == 0x1234).then(|| "a.c:7".into()));
        assert_eq!(shown, "getaddrinfo was called at a.c:7: its effect is not part of the search");
        assert_eq!(with_place(&sentence, |_| None), sentence);
        assert_eq!(with_place("a socket was used", |_| Some("a.c:7".into())), "a socket was used");
    }
}
