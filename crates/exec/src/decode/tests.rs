//! Traces made by hand, damaged traces, and arbitrary words.

use proptest::prelude::*;
use raddle_model::weak::AtomicDetail;
use raddle_model::{AccessKind, Execution, IncidentKind, PendingState};
use raddle_vocab::party::{Party, PartyRole};
use raddle_vocab::{Failure, MemOrder, OpKind, Outcome, RunStatus};
use raddle_wire::record::{self, flag};

use super::{DecodeErrorKind, Decoder, RunResult, plain_accesses};

const REST: RunResult = RunResult { status: RunStatus::Rest, exit: Some(3), diverged_at: None, awaits: 0 };

/// Writes records as the runtime does.
#[derive(Default)]
struct Writer(Vec<u64>);

impl Writer {
    fn op(mut self, kind: OpKind, tid: u16, obj: u64, arg: u64, flags: u8) -> Self {
        let extra = record::step_extra(MemOrder::SeqCst as u8, Outcome::Done as u8, 2);
        let header = record::header(kind as u8, flags, tid, 0);
        self.0.extend([header, obj, record::pack_pc(0x1000, extra), arg, 7, 8]);
        self
    }

    fn step(self, kind: OpKind, tid: u16, obj: u64, arg: u64) -> Self {
        self.op(kind, tid, obj, arg, 0)
    }

    fn pending(self, kind: OpKind, tid: u16, flags: u8) -> Self {
        self.op(kind, tid, 0, 0, flags | flag::PENDING)
    }

    fn access(mut self, kind: u8, tid: u16, count: u32, addr: u64, size: u16) -> Self {
        self.0.extend([record::header(kind, 0, tid, count), addr, record::pack_pc(0x2000, size)]);
        self
    }

    fn long(mut self, kind: u8, flags: u8, tid: u16, count: u32, words: [u64; 3]) -> Self {
        self.0.extend([record::header(kind, flags, tid, count), words[0], words[1], words[2]]);
        self
    }

    fn detail(mut self, flags: u8, tid: u16, behind: u32, how: u64) -> Self {
        self.0.extend([record::header(record::ATOMIC_DETAIL, flags, tid, behind), 5, how]);
        self
    }

    fn text(mut self, kind: u8, tid: u16, text: &str) -> Self {
        self.0.push(record::header(kind, 0, tid, text.len() as u32));
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0.push(u64::from_le_bytes(word));
        }
        self
    }

    fn stack(self, tid: u16, frames: &[u64]) -> Self {
        self.stack_with(0, tid, frames)
    }

    fn stack_with(mut self, flags: u8, tid: u16, frames: &[u64]) -> Self {
        self.0.push(record::header(record::STACK, flags, tid, frames.len() as u32));
        self.0.extend(frames);
        self
    }
}

fn decode(writer: &Writer) -> (Execution, Decoder) {
    let mut decoder = Decoder::new();
    let mut execution = Execution::empty();
    decoder.decode(&writer.0, REST, &mut execution).unwrap();
    (execution, decoder)
}

fn error(writer: &Writer) -> DecodeErrorKind {
    Decoder::new().decode(&writer.0, REST, &mut Execution::empty()).unwrap_err().kind
}

/// Main creates two threads; the second creates one of its own.
fn family() -> Writer {
    Writer::default()
        .step(OpKind::ThreadStart, 0, 0, 0)
        .step(OpKind::Create, 0, 0, 1)
        .step(OpKind::Create, 0, 0, 2)
        .step(OpKind::ThreadStart, 2, 0, 0)
        .step(OpKind::Create, 2, 0, 3)
        .access(record::WRITE, 2, 0, 0x4000, 4)
        .step(OpKind::Lock, 1, 0x5000, 0)
        .text(record::THREAD_NAME, 1, "worker one")
        .pending(OpKind::Join, 0, flag::BLOCKED)
        .pending(OpKind::Lock, 1, 0)
        .pending(OpKind::ThreadEnd, 2, flag::ENDED)
        .pending(OpKind::AtomicLoad, 3, flag::AWAIT)
}

#[test]
fn accesses_can_be_left_out_and_read_one_by_one() {
    let writer = Writer::default()
        .step(OpKind::Lock, 0, 0x10, 0)
        .access(record::WRITE, 0, 0, 0x100, 4)
        .long(record::ALLOC, 0, 0, 0, [0x200, 0x2000, 64])
        .long(record::WRITE_RANGE, 0, 0, 0, [0x200, 0x2000, 64])
        .step(OpKind::Unlock, 0, 0x10, 0)
        .access(record::READ, 0, 0, 0x104, 8)
        .long(record::FREE, 0, 0, 0, [0x200, 0x2000, 64])
        .pending(OpKind::ThreadEnd, 0, flag::ENDED);
    let (whole, mut decoder) = decode(&writer);
    let mut lean = Execution::empty();
    decoder.decode_without_accesses(&writer.0, REST, &mut lean).unwrap();
    assert_eq!(plain_accesses(&writer.0).collect::<Vec<_>>(), whole.accesses);
    assert_eq!((lean.recorded, lean.events.len()), (whole.recorded, whole.events.len()));
    let kinds: Vec<AccessKind> = lean.accesses.iter().map(|access| access.kind).collect();
    assert_eq!(kinds, [AccessKind::Alloc, AccessKind::Free]);
    // The next trace is decoded as a whole again.
    decoder.decode(&writer.0, REST, &mut lean).unwrap();
    assert_eq!(lean.accesses, whole.accesses);
}

#[test]
fn threads_are_named_by_who_created_them() {
    let (execution, _) = decode(&family());
    let names: Vec<String> = execution.threads.iter().map(|thread| thread.path.to_string()).collect();
    assert_eq!(names, ["T0", "T1", "T2", "T2.1"]);
    assert_eq!(execution.threads[3].parent, Some(2));
    assert_eq!(execution.threads[1].name.as_deref(), Some("worker one"));
    let states: Vec<PendingState> = execution.pending.iter().map(|pending| pending.state).collect();
    use PendingState::{Awaiting, Blocked, Enabled, Ended};
    assert_eq!(states, [Blocked, Enabled, Ended, Awaiting]);
    assert_eq!((execution.events.len(), execution.recorded, execution.exit), (6, 7, Some(3)));
    let write = execution.accesses[0];
    assert_eq!((write.kind, write.addr, write.size, write.after), (AccessKind::Write, 0x4000, 4, 5));
}

#[test]
fn parties_have_names_of_their_own() {
    let party = Party { role: PartyRole::Client, number: 2 };
    let start = || {
        Writer::default().step(OpKind::ThreadStart, 0, 0, 0).step(OpKind::Create, 0, party.place(0), 1).step(
            OpKind::Create,
            0,
            0x4000,
            2,
        )
    };
    let whole = (0..3).fold(start(), |writer, tid| writer.pending(OpKind::ThreadEnd, tid, flag::ENDED));
    let (execution, mut decoder) = decode(&whole);
    let names = |execution: &Execution| execution.threads.iter().map(|t| t.path.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&execution), ["T0", "client2", "T1"]);
    // The same words again.
    let mut again = Execution::empty();
    decoder.decode(&whole.0, REST, &mut again).unwrap();
    assert_eq!(names(&again), names(&execution));
    assert_eq!(error(&start().step(OpKind::Create, 0, party.place(0), 3)), DecodeErrorKind::Party(party));
    let other = Party { role: PartyRole::Peer, number: 1 };
    assert_eq!(error(&start().step(OpKind::Create, 2, other.place(0), 3)), DecodeErrorKind::Party(other));
}

/// Reads in spin loops have a number for the state of their thread, in every trace of a decoder.
#[test]
fn reads_in_spin_loops_have_numbers() {
    let told = |flags: u8, state: u64, value: u64| [record::header(record::AWAIT, flags, 0, 0), state, value];
    let mut writer = Writer::default().step(OpKind::ThreadStart, 0, 0, 0);
    writer.0.extend(told(flag::AWAIT, 0x77, 5));
    writer = writer.step(OpKind::AtomicLoad, 0, 0x4000, 0);
    writer.0.extend(told(0, 0x77, 0));
    writer = writer.pending(OpKind::AtomicLoad, 0, flag::AWAIT);
    writer.0.extend(told(flag::AWAIT | flag::PENDING, 0x88, 7));
    let (first, mut decoder) = decode(&writer);
    let mut again = Execution::empty();
    decoder.decode(&writer.0, REST, &mut again).unwrap();
    for execution in [first, again] {
        let numbers: Vec<u16> = execution.events.iter().map(|event| event.held.0).collect();
        assert_eq!(numbers, [0, 1]);
        assert_eq!(execution.pending[0].event.held.0, 2);
        let failing: Vec<_> = execution.failing.iter().map(|failing| (failing.read.0, failing.value)).collect();
        assert_eq!(failing, [(1, 5), (2, 7)]);
    }
}

#[test]
fn details_belong_to_the_atomic_operation_before() {
    let store = || Writer::default().step(OpKind::AtomicStore, 0, 0x100, 0);
    let writer = store().detail(0, 0, 2, 3).pending(OpKind::AtomicRmw, 0, 0).detail(flag::PENDING, 0, 0, 1);
    let (execution, _) = decode(&writer);
    let told = |details: &[AtomicDetail]| -> Vec<(u32, u16, u8, u64)> {
        details.iter().map(|detail| (detail.event, detail.behind, detail.how, detail.operand)).collect()
    };
    assert_eq!(told(&execution.details), [(0, 2, 3, 5)]);
    assert_eq!(told(&execution.pending_details), [(0, 0, 1, 5)]);
    assert_eq!((execution.behind(0), execution.behind(1)), (2, 0));
    let stray = DecodeErrorKind::StrayDetail;
    assert_eq!(error(&Writer::default().detail(0, 0, 0, 0)), stray);
    assert_eq!(error(&Writer::default().step(OpKind::Fence, 0, 0, 0).detail(0, 0, 0, 0)), stray);
    assert_eq!(error(&store().detail(0, 0, 0, 0).detail(0, 0, 0, 0)), stray);
    assert_eq!(error(&store().detail(0, 0, 1 << 16, 0)), stray);
    assert_eq!(error(&store().detail(0, 0, 0, 256)), stray);
}

#[test]
fn failures_carry_their_text_and_signals_their_number() {
    let which = |failure: Failure| record::pack_pc(0x77, failure as u16);
    let writer = Writer::default()
        .step(OpKind::ThreadStart, 0, 0, 0)
        .long(record::FAILURE, 0, 0, 2, [0, which(Failure::Assertion), 6])
        .text(record::TEXT, 0, "x == 1")
        .stack(0, &[1, 2, 3])
        .long(record::FAILURE, 0, 0, 2, [0xdead, which(Failure::Signal), 2])
        .text(record::TEXT, 0, "11")
        .stack(0, &[4])
        .pending(OpKind::ThreadEnd, 0, flag::FAILED);
    let (execution, decoder) = decode(&writer);
    let [assertion, signal] = &execution.incidents[..] else { panic!("{:?}", execution.incidents) };
    assert_eq!((assertion.text.as_str(), assertion.pc, assertion.count), ("x == 1", 0x77, 2));
    assert_eq!(signal.kind, IncidentKind::Failure(Failure::Signal));
    assert_eq!((signal.arg, signal.obj, signal.text.as_str()), (11, 0xdead, "SIGSEGV"));
    assert_eq!(decoder.detail().incidents, [vec![1, 2, 3], vec![4]]);
    assert_eq!(execution.pending[0].state, PendingState::Failed);
}

#[test]
fn parked_accesses_and_last_stacks_are_detail() {
    let writer = Writer::default()
        .step(OpKind::ThreadStart, 0, 0, 0)
        .long(record::WRITE_RANGE, flag::PENDING, 0, 4, [0x4000, record::pack_pc(0x99, 0), 16])
        .stack(0, &[5, 6])
        .stack(0, &[7])
        .pending(OpKind::ThreadEnd, 0, flag::ENDED | flag::FAILED);
    let (execution, decoder) = decode(&writer);
    assert!(execution.accesses.is_empty());
    assert_eq!(execution.pending[0].state, PendingState::Exited);
    let detail = decoder.detail();
    assert_eq!((detail.parked[0].access.addr, detail.parked[0].access.count), (0x4000, 4));
    assert_eq!((&detail.parked[0].stack[..], &detail.threads[0][..]), (&[5, 6][..], &[7][..]));
}

/// The last step has no stack of its own.
#[test]
fn a_stack_at_the_end_does_not_belong_to_the_step_before() {
    let writer = Writer::default().step(OpKind::ThreadStart, 0, 0, 0).stack_with(flag::PENDING, 0, &[7, 8]).pending(
        OpKind::ThreadEnd,
        0,
        0,
    );
    let (_, decoder) = decode(&writer);
    assert_eq!(decoder.detail().threads[0], [7, 8]);
    assert!(decoder.detail().events.is_empty());
}

#[test]
fn each_wrong_record_is_named() {
    let start = || Writer::default().step(OpKind::ThreadStart, 0, 0, 0);
    let done = |writer: Writer| writer.pending(OpKind::ThreadEnd, 0, 0);
    let mut strange = start();
    strange.0.push(record::header(255, 0, 0, 0));
    assert_eq!(error(&strange), DecodeErrorKind::Kind(255));
    assert_eq!(error(&start().step(OpKind::Lock, 1, 0, 0)), DecodeErrorKind::Thread(1));
    assert_eq!(error(&start().step(OpKind::Create, 0, 0, 5)), DecodeErrorKind::ThreadNumber(5));
    assert_eq!(error(&start().step(OpKind::Join, 0, 0, 9)), DecodeErrorKind::Thread(9));
    assert_eq!(error(&start()), DecodeErrorKind::NoPending(0));
    assert_eq!(error(&done(start()).step(OpKind::Lock, 0, 0, 0)), DecodeErrorKind::AfterPending(0));
    assert_eq!(error(&done(done(start()))), DecodeErrorKind::SecondPending(0));
    assert_eq!(error(&start().text(record::TEXT, 0, "x")), DecodeErrorKind::StrayText);
    assert_eq!(error(&start().long(record::FAILURE, 0, 0, 0, [0, 99 << 48, 0])), DecodeErrorKind::Failure(99));
    assert_eq!(error(&start().long(record::MISUSE, 0, 0, 0, [0, 99 << 48, 0])), DecodeErrorKind::Misuse(99));
    let announced = start().long(record::FAILURE, 0, 0, 0, [0, 1 << 48, 4]);
    assert_eq!(error(&done(announced)), DecodeErrorKind::Text(4));
    let backwards = start().access(record::READ, 0, 5, 1, 1).access(record::READ, 0, 4, 1, 1);
    assert_eq!(error(&backwards), DecodeErrorKind::Count(0));
    let mut cut = done(start());
    cut.0.pop();
    assert_eq!(error(&cut), DecodeErrorKind::Truncated);
    let mut order = start();
    order.0[2] |= 15 << 48;
    assert_eq!(error(&order), DecodeErrorKind::Order(15));
    let mut outcome = start();
    outcome.0[2] |= 15 << 52;
    assert_eq!(error(&outcome), DecodeErrorKind::Outcome(15));
    let mut size = start();
    size.0[2] |= 0xff << 56;
    assert_eq!(error(&size), DecodeErrorKind::Size(0x3f));
}

#[test]
fn a_dead_writers_trace_ends_at_the_first_zero() {
    let mut writer = Writer::default().step(OpKind::ThreadStart, 0, 0, 0).step(OpKind::Create, 0, 0, 1);
    writer.0.extend([0; 100]);
    let mut execution = Execution::empty();
    Decoder::new().decode_beginning(&writer.0, REST, &mut execution);
    assert_eq!((execution.events.len(), execution.threads.len(), execution.pending.len()), (2, 2, 2));
}

/// What every consumer of an execution relies on.
fn check_shape(execution: &Execution) {
    let threads = execution.threads.len();
    assert_eq!(execution.pending.len(), threads);
    assert!(execution.events.iter().all(|step| usize::from(step.thread) < threads));
    assert!(execution.accesses.iter().all(|access| usize::from(access.thread) < threads));
    assert!(execution.accesses.iter().all(|access| access.after as usize <= execution.events.len()));
    assert!(execution.accesses.iter().all(|access| access.addr.checked_add(access.size).is_some()));
    assert!(execution.incidents.iter().all(|incident| incident.after as usize <= execution.events.len()));
    assert!(execution.threads.iter().enumerate().skip(1).all(|(n, t)| t.parent.is_some_and(|p| usize::from(p) < n)));
}

/// A random trace that makes sense.
fn valid_trace() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec((0u8..5, 0u16..4, 0u64..4), 1..60).prop_map(|actions| {
        let mut writer = Writer::default().step(OpKind::ThreadStart, 0, 0, 0);
        let mut threads = 1u16;
        for (action, thread, what) in actions {
            let tid = thread % threads;
            match action {
                0 if threads < 8 => {
                    writer = writer.step(OpKind::Create, tid, 0, threads.into());
                    threads += 1;
                }
                1 => writer = writer.step(OpKind::AtomicLoad, tid, what * 8, 0),
                2 => writer = writer.access(record::READ, tid, 0, what, 8),
                3 => writer = writer.long(record::ALLOC, 0, tid, 0, [what * 64, 0, 64]),
                _ => writer = writer.long(record::MISUSE, 0, tid, 0, [what, 3 << 48, 0]),
            }
        }
        for tid in 0..threads {
            writer = writer.pending(OpKind::Lock, tid, flag::BLOCKED);
        }
        writer.0
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_words_never_panic(words in proptest::collection::vec(any::<u64>(), 0..64)) {
        let mut execution = Execution::empty();
        let _ = Decoder::new().decode(&words, REST, &mut execution);
        check_shape(&execution);
    }

    #[test]
    fn arbitrary_headers_never_panic(
        records in proptest::collection::vec(
            (any::<u8>(), any::<u8>(), 0u16..3, 0u32..4, any::<[u64; 5]>()),
            0..40,
        ),
    ) {
        let mut words = Vec::new();
        for (kind, flags, tid, count, body) in records {
            let length = record::words(kind, count).unwrap_or(1).min(6);
            words.push(record::header(kind, flags, tid, count));
            words.extend(&body[..length - 1]);
        }
        let mut execution = Execution::empty();
        Decoder::new().decode_beginning(&words, REST, &mut execution);
        check_shape(&execution);
    }

    #[test]
    fn valid_traces_decode_and_damaged_ones_do_not_panic(
        words in valid_trace(),
        at: prop::sample::Index,
        bit in 0u32..64,
        cut: prop::sample::Index,
    ) {
        let mut decoder = Decoder::new();
        let mut execution = Execution::empty();
        decoder.decode(&words, REST, &mut execution).unwrap();
        check_shape(&execution);
        let mut damaged = words.clone();
        *at.get_mut(&mut damaged) ^= 1 << bit;
        let _ = decoder.decode(&damaged, REST, &mut execution);
        check_shape(&execution);
        let _ = decoder.decode(&words[..cut.index(words.len())], REST, &mut execution);
        check_shape(&execution);
        // Whatever came before, the buffers give the same again.
        let mut fresh = Execution::empty();
        decoder.decode(&words, REST, &mut execution).unwrap();
        Decoder::new().decode(&words, REST, &mut fresh).unwrap();
        prop_assert_eq!((fresh.names.len(), execution.names.len()), (fresh.events.len(), fresh.events.len()));
        fresh.names.clone_from(&execution.names);
        prop_assert_eq!(format!("{:?}", fresh), format!("{:?}", execution));
    }
}
