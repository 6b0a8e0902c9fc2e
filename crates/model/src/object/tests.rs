//! Words of the wire and words for people.

use raddle_vocab::handler::Handling;
use raddle_vocab::{MemOrder, OpKind, Outcome, Words};

use super::{Namer, Op, Operation as _};

struct Fixed;
impl Namer for Fixed {
    fn object(&self, address: u64) -> String {
        format!("o{address}")
    }
    fn thread(&self, number: u64) -> String {
        format!("T{number}")
    }
}

/// Words that every kind of operation has.
fn words(kind: OpKind) -> Words {
    let handling = Handling { target: 1, onto: 2, signal: 10, interrupts: false };
    let arg = match kind as u8 {
        10..=15 | 60..=62 | 70 => 1,
        97 | 98 => handling.pack(),
        _ => 8,
    };
    Words { order: MemOrder::SeqCst, size: 4, value: 1, old: 3, ..Words::new(kind).on(7, arg) }
}

fn say(kind: OpKind, outcome: Outcome, arg: u64, value: u64) -> String {
    Op::unpack(&Words { outcome, arg, value, ..words(kind) }).unwrap().phrase(&Fixed)
}

#[test]
fn phrases_say_what_happened_to_what() {
    assert_eq!(say(OpKind::Lock, Outcome::Done, 0, 0), "lock o7");
    assert_eq!(say(OpKind::TryLock, Outcome::Failed, 0, 0), "try-lock o7, fails");
    assert_eq!(say(OpKind::Create, Outcome::Done, 8, 0), "create T8");
    assert_eq!(say(OpKind::CondWait, Outcome::Done, 8, 0), "cond-wait o7, release o8");
    assert_eq!(say(OpKind::CondReacquire, Outcome::Done, 8, 0), "wake from o7, take o8");
    assert_eq!(say(OpKind::CondResume, Outcome::TimedOut, 8, 0), "time out on o7");
    assert_eq!(say(OpKind::Signal, Outcome::Done, 0, 0b110), "signal o7, wakes T1, T2");
    assert_eq!(say(OpKind::Signal, Outcome::Done, 0, 0), "signal o7, no thread waits");
    assert_eq!(say(OpKind::Broadcast, Outcome::Done, 0, 1 << 63 | 1), "broadcast o7, wakes T0 and others");
    assert_eq!(say(OpKind::AtomicCas, Outcome::Failed, 8, 0), "exchange o7 fails: is 3");
    assert_eq!(say(OpKind::AtomicRmw, Outcome::Done, 0, 4), "update o7: 3 to 4");
    let handling = Handling { target: 1, onto: 2, signal: 10, interrupts: true };
    assert_eq!(say(OpKind::Deliver, Outcome::Done, handling.pack(), 0), "begin the handler of SIGUSR1 in T1");
    assert_eq!(
        say(OpKind::HandlerReturn, Outcome::Done, handling.pack(), 0),
        "return from the handler of SIGUSR1 and interrupt the call of T1"
    );
}

#[test]
fn every_kind_has_words_that_lead_back_to_it() {
    for &kind in OpKind::ALL {
        let op = Op::unpack(&words(kind)).unwrap();
        assert_eq!(op.kind(), kind);
        assert_eq!(Op::unpack(&op.pack()), Ok(op));
        assert!(!kind.word().is_empty() && !op.phrase(&Fixed).is_empty());
    }
}

#[test]
fn outcomes_that_an_operation_cannot_have_are_errors() {
    let refused = |kind, outcome| Op::unpack(&Words { outcome, ..words(kind) }).is_err();
    assert!(refused(OpKind::Lock, Outcome::Failed) && refused(OpKind::TryLock, Outcome::TimedOut));
    assert!(refused(OpKind::SemWait, Outcome::TimedOut) && refused(OpKind::CondReacquire, Outcome::Failed));
    assert!(refused(OpKind::OnceBegin, Outcome::Last) && refused(OpKind::Join, Outcome::Nested));
    assert!(Op::unpack(&words(OpKind::Lock).on(7, 9)).is_err(), "there is no such kind of mutex");
    assert!(Op::unpack(&words(OpKind::Join).on(0, 1 << 16)).is_err(), "there is no such thread");
    assert!(Op::unpack(&words(OpKind::Deliver).on(0, 65 << 32)).is_err(), "there is no such signal");
}
