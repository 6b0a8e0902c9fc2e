//! Cases that abstract programs do not have: bytes, blocks, objects that lie in them.

use std::collections::BTreeSet;

use raddle_vocab::policy::mix;
use raddle_vocab::{MappingChange, MemOrder, OpKind, Words};

use super::{AccessPosition, RaceDetector, Touching};
use crate::execution::{Access, AccessKind, Event, Execution};
use crate::fixture::event;
use crate::thread::ThreadInfo;

/// An execution in the making. Threads 1 and 2 are created by main before anything else.
struct TraceBuilder(Execution);

impl TraceBuilder {
    fn new() -> Self {
        let mut execution = Execution::empty();
        execution.threads = vec![ThreadInfo::default(); 3];
        let mut trace = TraceBuilder(execution);
        trace.step(0, OpKind::Create, 0, 1);
        trace.step(0, OpKind::Create, 0, 2);
        trace
    }

    fn step(&mut self, thread: u16, kind: OpKind, obj: u64, arg: u64) {
        let pc = 1000 + self.0.events.len() as u64;
        let words = Words { order: MemOrder::SeqCst, size: 4, ..Words::new(kind).on(obj, arg) };
        self.0.events.push(Event { pc, ..event(thread, words) });
    }

    fn access(&mut self, thread: u16, kind: AccessKind, addr: u64, size: u64) {
        self.access_at(self.0.accesses.len() as u64, thread, kind, addr, size);
    }

    fn access_at(&mut self, pc: u64, thread: u16, kind: AccessKind, addr: u64, size: u64) {
        let after = self.0.events.len() as u32;
        self.0.accesses.push(Access { thread, kind, volatile: false, addr, size, pc, after, count: 0 });
    }

    fn races(&self) -> Vec<(Touching, Touching, u64)> {
        let mut detector = RaceDetector::new();
        let first: Vec<_> = detector.races(&self.0).to_vec();
        assert_eq!(detector.races(&self.0), first, "buffers of an earlier execution show");
        first.iter().map(|race| (race.first.what, race.second.what, race.addr)).collect()
    }
}

const LOCK: u64 = 0x9000;

#[test]
fn neighbouring_bytes_do_not_race() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x100, 4);
    trace.access(2, AccessKind::Write, 0x104, 4);
    assert_eq!(trace.races(), []);
    trace.access(2, AccessKind::Read, 0x103, 1);
    assert_eq!(trace.races(), [(Touching::Write, Touching::Read, 0x103)]);
}

#[test]
fn an_access_over_several_cells_races_in_each() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x104, 20);
    trace.access(2, AccessKind::Read, 0x100, 64);
    let at = |addr| (Touching::Write, Touching::Read, addr);
    assert_eq!(trace.races(), [at(0x104), at(0x108), at(0x110)]);
}

#[test]
fn free_conflicts_with_every_use() {
    for kind in [AccessKind::Read, AccessKind::Write] {
        let mut trace = TraceBuilder::new();
        trace.access(1, kind, 0x100, 8);
        trace.access(2, AccessKind::Free, 0x100, 64);
        assert_eq!(trace.races().len(), 1);
    }
    // The other way round, into a part of the block without any access before.
    let mut trace = TraceBuilder::new();
    trace.access(2, AccessKind::Free, 0x100, 64);
    trace.access(1, AccessKind::Read, 0x120, 8);
    assert_eq!(trace.races(), [(Touching::Free, Touching::Read, 0x120)]);
    // Twice: each with the write, and with each other.
    let mut trace = TraceBuilder::new();
    trace.access(0, AccessKind::Write, 0x100, 8);
    trace.access(2, AccessKind::Free, 0x100, 8);
    trace.access(1, AccessKind::Free, 0x100, 8);
    let freed = (Touching::Write, Touching::Free, 0x100);
    assert_eq!(trace.races(), [freed, (Touching::Free, Touching::Free, 0x100), freed]);
}

#[test]
fn a_new_block_has_no_past() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x100, 8);
    trace.access(1, AccessKind::Free, 0x100, 64);
    trace.access(2, AccessKind::Alloc, 0x100, 32);
    trace.access(2, AccessKind::Write, 0x100, 8);
    assert_eq!(trace.races(), []);
    // What was not allocated again is still dead.
    trace.access(2, AccessKind::Write, 0x120, 8);
    assert_eq!(trace.races(), [(Touching::Free, Touching::Write, 0x120)]);
}

#[test]
fn freeing_a_lock_that_another_thread_still_uses_races() {
    let mut trace = TraceBuilder::new();
    trace.step(1, OpKind::Lock, LOCK, 0);
    trace.step(1, OpKind::Unlock, LOCK, 0);
    trace.access(2, AccessKind::Free, LOCK, 64);
    let races = trace.races();
    assert_eq!(races.len(), 2);
    assert!(races.iter().all(|race| race.0 == Touching::Use && race.1 == Touching::Free));
    // After one's own turn with the lock it is in order.
    let mut trace = TraceBuilder::new();
    trace.step(1, OpKind::Lock, LOCK, 0);
    trace.step(1, OpKind::Unlock, LOCK, 0);
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.step(2, OpKind::Unlock, LOCK, 0);
    trace.access(2, AccessKind::Free, LOCK, 64);
    assert_eq!(trace.races(), []);
}

#[test]
fn a_new_lock_does_not_pass_on_what_the_old_one_saw() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x100, 4);
    trace.step(1, OpKind::Lock, LOCK, 0);
    trace.step(1, OpKind::Unlock, LOCK, 0);
    trace.step(2, OpKind::MutexInit, LOCK, 0);
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.access(2, AccessKind::Write, 0x100, 4);
    // The initialisation races with both uses of the old lock.
    let reused = (Touching::Use, Touching::Make, LOCK);
    assert_eq!(trace.races(), [reused, reused, (Touching::Write, Touching::Write, 0x100)]);
}

/// In either order, whatever byte it is, also under the very lock: an attempt to lock begins
/// before.
#[test]
fn a_plain_write_to_an_object_races_with_its_uses() {
    let overwritten = |addr| (Touching::Write, Touching::Use, addr);
    for held in [false, true] {
        let mut trace = TraceBuilder::new();
        if held {
            trace.step(1, OpKind::Lock, LOCK, 0);
        }
        trace.access(1, AccessKind::Write, LOCK + 39, 1);
        if held {
            trace.step(1, OpKind::Unlock, LOCK, 0);
        }
        trace.step(2, OpKind::Lock, LOCK, 0);
        assert_eq!(trace.races(), [overwritten(LOCK + 39)]);
    }
    let mut trace = TraceBuilder::new();
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.step(2, OpKind::Unlock, LOCK, 0);
    trace.access(1, AccessKind::Write, LOCK + 32, 40);
    let late = (Touching::Use, Touching::Write, LOCK + 32);
    assert_eq!(trace.races(), [late, late]);
    trace.step(0, OpKind::SemPost, LOCK + 40, 0);
    // A semaphore right behind it.
    let bytes = [40, 48, 56, 64].map(|byte| overwritten(LOCK + byte));
    assert_eq!(trace.races()[2..], bytes);
}

/// What is known of an object from an earlier execution does not hide a long write before its first
/// use.
#[test]
fn a_long_write_to_an_object_races_with_its_uses() {
    let mut detector = RaceDetector::new();
    let mut trace = TraceBuilder::new();
    trace.step(2, OpKind::Lock, LOCK, 0);
    assert_eq!(detector.races(&trace.0).len(), 0);
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, LOCK - 64, 256);
    trace.step(2, OpKind::Lock, LOCK, 0);
    assert_eq!(detector.races(&trace.0).len(), 5, "once in each cell");
}

#[test]
fn a_plain_write_that_is_ordered_with_the_uses_of_an_object_does_not_race() {
    // By the thread that passes the object on, and behind it; beside it; reads.
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, LOCK, 40);
    trace.step(1, OpKind::Lock, 0x8000, 0);
    trace.step(1, OpKind::Unlock, 0x8000, 0);
    trace.access(0, AccessKind::Write, LOCK - 8, 8);
    trace.access(0, AccessKind::Write, LOCK + 40, 8);
    trace.step(2, OpKind::Lock, 0x8000, 0);
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.step(2, OpKind::Unlock, LOCK, 0);
    trace.access(2, AccessKind::Write, LOCK, 40);
    assert_eq!(trace.races(), []);
    let mut trace = TraceBuilder::new();
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.access(0, AccessKind::Read, LOCK, 40);
    trace.step(2, OpKind::Unlock, LOCK, 0);
    assert_eq!(trace.races(), []);
    // In a block that is new.
    let mut trace = TraceBuilder::new();
    trace.step(1, OpKind::Lock, LOCK, 0);
    trace.access(1, AccessKind::Free, LOCK, 64);
    trace.access(2, AccessKind::Alloc, LOCK, 64);
    trace.access(2, AccessKind::Write, LOCK, 64);
    trace.step(2, OpKind::Lock, LOCK, 0);
    assert_eq!(trace.races(), []);
}

#[test]
fn positions_name_steps_and_accesses() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x100, 4);
    trace.step(2, OpKind::AtomicLoad, 0x100, 0);
    let mut detector = RaceDetector::new();
    let [race] = detector.races(&trace.0) else { panic!("one race") };
    assert_eq!(race.first.position, AccessPosition::Access(0));
    assert_eq!(race.second.position, AccessPosition::Event(2));
    assert_eq!(race.second.what, Touching::AtomicRead);
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let mut trace = TraceBuilder::new();
    trace.step(1, OpKind::AtomicStore, 0x100, 0);
    trace.step(2, OpKind::AtomicLoad, 0x100, 0);
    trace.step(2, OpKind::FutexWait, 0x100, 0);
    assert_eq!(trace.races(), []);
}

#[test]
fn a_big_block_costs_what_is_in_it() {
    let mut trace = TraceBuilder::new();
    for _ in 0..1000 {
        trace.access(1, AccessKind::Alloc, 0x10_0000, 1 << 40);
        trace.access(1, AccessKind::Write, 0x10_0000, 8);
        trace.access(1, AccessKind::Free, 0x10_0000, 1 << 40);
    }
    assert_eq!(trace.races(), []);
}

#[test]
fn an_access_costs_what_other_accesses_have_met_of_it() {
    let mut trace = TraceBuilder::new();
    trace.access(1, AccessKind::Write, 0x2000, 4);
    trace.access(2, AccessKind::Write, 0x1000, u64::MAX - 0x1000);
    trace.access(1, AccessKind::Read, 0x1000, 1 << 60);
    trace.access(1, AccessKind::Read, 1 << 61, 8);
    let at = |second, addr| (Touching::Write, second, addr);
    let expected = [
        at(Touching::Write, 0x2000),
        at(Touching::Read, 0x2000),
        at(Touching::Read, 0x1000),
        at(Touching::Read, 1 << 61),
    ];
    assert_eq!(trace.races(), expected);
}

/// Whether a block lies outside of all these.
fn is_apart(blocks: &[(u64, u64)], addr: u64, size: u64) -> bool {
    blocks.iter().all(|&(other, length)| addr + size <= other || other + length <= addr)
}

/// A random execution twice: with long accesses, and with the same accesses in short pieces.
fn with_pieces(seed: u64) -> (TraceBuilder, TraceBuilder) {
    let (mut whole, mut pieces) = (TraceBuilder::new(), TraceBuilder::new());
    let mut draws = 0;
    let mut draw = |below: u64| {
        draws += 1;
        mix(seed.wrapping_mul(1000) + draws) % below
    };
    let base = if draw(2) == 0 { BLOCK } else { 0x1000 };
    // A freed block may come to life again as a whole.
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut freed = live.clone();
    for pc in 0..16 {
        let thread = draw(3) as u16;
        let (addr, size) = (base + 64 * draw(12), [8, 64, 192, 256, 320, 640][draw(6) as usize]);
        match draw(8) {
            0 => {
                for trace in [&mut whole, &mut pieces] {
                    trace.step(thread, OpKind::Lock, LOCK, 0);
                    trace.step(thread, OpKind::Unlock, LOCK, 0);
                }
            }
            1 | 2 if is_apart(&live, addr, size) => {
                freed.retain(|block| *block != (addr, size));
                if is_apart(&freed, addr, size) {
                    live.push((addr, size));
                    whole.access_at(pc, thread, AccessKind::Alloc, addr, size);
                    pieces.access_at(pc, thread, AccessKind::Alloc, addr, size);
                }
            }
            3 if !live.is_empty() => {
                let (addr, size) = live.swap_remove(draw(live.len() as u64) as usize);
                freed.push((addr, size));
                whole.access_at(pc, thread, AccessKind::Free, addr, size);
                pieces.access_at(pc, thread, AccessKind::Free, addr, size);
            }
            other => {
                let kind = if other < 6 { AccessKind::Read } else { AccessKind::Write };
                whole.access_at(pc, thread, kind, addr, size);
                for piece in (0..size).step_by(64) {
                    pieces.access_at(pc, thread, kind, addr + piece, (size - piece).min(64));
                }
            }
        }
    }
    (whole, pieces)
}

/// The pairs of places that race, and the places of wrong accesses with the first wrong byte.
fn verdict(trace: &TraceBuilder) -> (BTreeSet<[u64; 2]>, Vec<(u64, u64)>) {
    let mut detector = RaceDetector::new();
    let pair = |race: &super::Race| [race.first.pc.min(race.second.pc), race.first.pc.max(race.second.pc)];
    let races = detector.races(&trace.0).iter().map(pair).collect();
    (races, detector.memory_errors().iter().map(|error| (error.access.pc, error.addr)).collect())
}

#[test]
fn a_long_access_is_what_its_pieces_are() {
    for seed in 0..3000 {
        let (whole, pieces) = with_pieces(seed);
        assert_eq!(verdict(&whole), verdict(&pieces), "{seed}: {:?} {:?}", whole.0.events, whole.0.accesses);
    }
}

/// Words and addresses of what is wrong in the use of the heap.
fn memory_errors(trace: &TraceBuilder) -> Vec<(&'static str, u64)> {
    let mut detector = RaceDetector::new();
    detector.races(&trace.0);
    let found: Vec<_> = detector.memory_errors().iter().map(|error| (error.word(), error.addr)).collect();
    detector.races(&trace.0);
    let again: Vec<_> = detector.memory_errors().iter().map(|error| (error.word(), error.addr)).collect();
    assert_eq!(found, again, "buffers of an earlier execution show");
    found
}

const BLOCK: u64 = raddle_vocab::HEAP.start + 0x1000;

#[test]
fn accesses_outside_of_live_blocks_are_errors_in_the_heap_only() {
    let mut trace = TraceBuilder::new();
    trace.access(0, AccessKind::Alloc, BLOCK, 10);
    trace.access(0, AccessKind::Write, BLOCK, 10);
    trace.access(0, AccessKind::Read, BLOCK + 8, 2);
    trace.access(0, AccessKind::Write, 0x100, 64);
    assert_eq!(memory_errors(&trace), []);
    trace.access(0, AccessKind::Write, BLOCK + 8, 4);
    trace.access(0, AccessKind::Read, BLOCK - 1, 1);
    let outside = [("out-of-bounds", BLOCK + 10), ("out-of-bounds", BLOCK - 1)];
    assert_eq!(memory_errors(&trace), outside);
    trace.access(0, AccessKind::Free, BLOCK, 10);
    trace.access(0, AccessKind::Read, BLOCK + 2, 1);
    assert_eq!(memory_errors(&trace)[2..], [("use-after-free", BLOCK + 2)]);
    // The room is given out again: what is behind the new block is outside of it.
    trace.access(0, AccessKind::Alloc, BLOCK, 4);
    trace.access(0, AccessKind::Write, BLOCK, 4);
    trace.access(0, AccessKind::Write, BLOCK + 4, 1);
    assert_eq!(memory_errors(&trace)[3..], [("out-of-bounds", BLOCK + 4)]);
}

#[test]
fn a_use_that_races_with_the_free_is_a_race_and_no_memory_error() {
    let mut trace = TraceBuilder::new();
    trace.access(0, AccessKind::Alloc, BLOCK, 8);
    trace.step(0, OpKind::Create, 0, 2);
    trace.access(1, AccessKind::Free, BLOCK, 8);
    trace.access(2, AccessKind::Read, BLOCK, 8);
    assert_eq!(memory_errors(&trace), []);
    assert_eq!(trace.races(), [(Touching::Free, Touching::Read, BLOCK)]);
}

#[test]
fn initialising_and_destroying_race_with_unordered_uses() {
    for (end, kind) in [(OpKind::MutexInit, 0), (OpKind::MutexDestroy, 0)] {
        let mut trace = TraceBuilder::new();
        trace.step(1, end, LOCK, kind);
        trace.step(2, OpKind::Lock, LOCK, kind);
        trace.step(2, OpKind::Unlock, LOCK, kind);
        let made = (Touching::Make, Touching::Use, LOCK);
        assert_eq!(trace.races(), [made, made], "lock and unlock at two places");
    }
    // Uses do not race with each other, nor with an object that was made before.
    let mut trace = TraceBuilder::new();
    trace.step(1, OpKind::Lock, LOCK, 0);
    trace.step(1, OpKind::Unlock, LOCK, 0);
    trace.step(2, OpKind::Lock, LOCK, 0);
    trace.step(2, OpKind::Unlock, LOCK, 0);
    trace.step(2, OpKind::MutexDestroy, LOCK, 0);
    assert_eq!(trace.races(), []);
}

/// Where the stacks of threads 1 and 2 are, in tests.
const STACKS: [(u64, u64); 2] = [(0x10_0000, 0x4000), (0x10_4000, 0x4000)];

fn end_of_thread(trace: &mut TraceBuilder, thread: u16) {
    let (start, size) = STACKS[usize::from(thread) - 1];
    trace.access(thread, AccessKind::Mapping(MappingChange::ThreadEnd), start, size);
    trace.step(thread, OpKind::ThreadEnd, 0, 0);
}

/// What lies on a stack is met in some executions and not in others, and before or behind the end.
#[test]
fn the_end_of_a_thread_races_with_what_others_do_on_its_stack() {
    let ended = Touching::Mapping(MappingChange::ThreadEnd);
    let mut detector = RaceDetector::new();
    let mut races = |accesses: &[(bool, u16, u64)]| -> Vec<(Touching, Touching, u64)> {
        let mut trace = TraceBuilder::new();
        let (before, behind): (Vec<_>, Vec<_>) = accesses.iter().partition(|(is_before, ..)| *is_before);
        before.iter().for_each(|&&(_, thread, addr)| trace.access(thread, AccessKind::Read, addr, 4));
        end_of_thread(&mut trace, 1);
        behind.iter().for_each(|&&(_, thread, addr)| trace.access(thread, AccessKind::Read, addr, 4));
        end_of_thread(&mut trace, 2);
        let expected = trace.races();
        let found = detector.races(&trace.0);
        let found: Vec<_> = found.iter().map(|race| (race.first.what, race.second.what, race.addr)).collect();
        assert_eq!(found, expected, "an earlier execution shows");
        found
    };
    let (first, last) = (STACKS[0].0, STACKS[0].0 + STACKS[0].1 - 4);
    assert_eq!(races(&[]), []);
    assert_eq!(races(&[(true, 2, first)]), [(Touching::Read, ended, first)]);
    assert_eq!(races(&[]), []);
    assert_eq!(races(&[(true, 2, last)]), [(Touching::Read, ended, last)]);
    assert_eq!(races(&[(true, 2, first), (true, 2, last)]).len(), 2);
    assert_eq!(races(&[(true, 1, first), (true, 1, last), (true, 2, last + 4)]), []);
    assert_eq!(races(&[(false, 2, last)]), [(ended, Touching::Read, last)]);
    assert_eq!(races(&[(false, 0, first), (true, 0, last)]).len(), 2);
    assert_eq!(races(&[(false, 0, first - 4), (true, 0, last + STACKS[1].1 + 4)]), []);
}

/// A random execution of three threads, whose stacks begin and end in the middle of pages.
fn random_execution(seed: u64) -> TraceBuilder {
    let mut draws = 0;
    let mut draw = |below: u64| {
        draws += 1;
        mix(seed.wrapping_mul(1000) + draws) % below
    };
    let mut trace = TraceBuilder::new();
    let mut running = vec![0, 1, 2];
    for _ in 0..draw(60) {
        let thread = running[draw(running.len() as u64) as usize];
        let (start, size) = STACKS[draw(2) as usize];
        let addr = start - 0x40 + draw(3) * (size / 2 + 8) + draw(0x80);
        match draw(12) {
            0 if thread != 0 => {
                end_of_thread(&mut trace, thread);
                running.retain(|&other| other != thread);
            }
            1 => trace.step(thread, OpKind::Lock, LOCK, 0),
            2 => trace.step(thread, OpKind::Unlock, LOCK, 0),
            3 => trace.access_at(3, thread, AccessKind::Alloc, addr & !7, 8 + draw(40)),
            4 => trace.access_at(4, thread, AccessKind::Free, addr & !7, 8 + draw(40)),
            5 => trace.access_at(5, thread, AccessKind::Mapping(MappingChange::Unmap), addr & !0xff, 0x100),
            6..=8 => trace.access_at(10 + draw(3), thread, AccessKind::Write, addr, 1 + draw(8)),
            _ => trace.access_at(20 + draw(3), thread, AccessKind::Read, addr, 1 + draw(8)),
        }
    }
    trace
}

/// Room for records and pages of stacks are kept from one execution to the next.
#[test]
fn earlier_executions_do_not_show() {
    let mut kept = RaceDetector::new();
    let mut races = 0;
    for seed in 0..2000 {
        let trace = random_execution(seed);
        let mut fresh = RaceDetector::new();
        let expected = fresh.races(&trace.0);
        races += expected.len();
        assert_eq!(kept.races(&trace.0), expected, "seed {seed}");
        assert_eq!(kept.memory_errors(), fresh.memory_errors(), "seed {seed}");
    }
    assert!(races > 1000, "{races} races");
}
