//! Polling under a lock: `lock; read data; unlock`, again and again. A thread that returns to the
//! lock with the same registers and the same stack, and has written nothing, would only return once
//! more while the data that it read is unchanged. So what it read is remembered, by the state of
//! the thread before the lock, and the thread stays there until some of that data changes.
//!
//! A round may also read atomic words before it locks (`if (stop) break; lock; read data; unlock`);
//! the thread still waits at the lock, the last operation whose result can change.
//!
//! Only the holder of the lock changes the data (anything else is a race, which is reported). So
//! whether the thread can go on changes only with operations on the lock, on which its own
//! operation depends anyway.
//!
//! The first round is performed, because it may show a race. Data read in the first round is not
//! new in the second, so the second is the failed one. A thread that only tries the lock could
//! notice the rounds that are left out; this is reported as a limit. The module `spinloop`
//! describes what all kinds of rounds have in common.

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::{MutexKind, OpKind};
use raddle_wire::{POLL_PIECES, POLL_ROUNDS, PollRound, limit};

use crate::arch::entry::registers;
use crate::interpose::sync::{mutex, rwlock};
use crate::sched::controller::name_limit;
use crate::spinloop::detector::word;
use crate::spinloop::knowledge::{self, ReadVerdict, knowledge};
use crate::spinloop::loop_head::LoopHead;
use crate::spinloop::proof;
use crate::state::{AnnouncedOp, lock_polls, loop_candidates, run};

/// Transitions of a round: lock and unlock.
const ROUND: u32 = 2;

/// Where a thread last stopped before a lock.
#[derive(Clone, Copy)]
pub struct LockVisit {
    pc: u64,
    obj: u64,
    sp: u64,
    /// Transitions that it had made; those from there to the next visit are a round.
    steps: u32,
}

impl LockVisit {
    /// Of a thread that was at no lock since it last made progress.
    pub const NONE: LockVisit = LockVisit { pc: 0, obj: 0, sp: 0, steps: u32::MAX - ROUND };
}

/// A piece of data of up to 8 bytes.
#[derive(Clone, Copy)]
struct Piece {
    address: u64,
    log_size: u8,
    value: u64,
}

/// What a thread has read since it stopped before the lock.
pub struct LockPoll {
    /// The state of the thread before the lock.
    pub head: LoopHead,
    key: u64,
    pieces: [Piece; POLL_PIECES],
    len: usize,
    /// Whether the round is known as a whole: not if it read more than there is room for, or data
    /// that it had not read since it last made progress.
    is_whole: bool,
}

impl LockPoll {
    /// Nothing.
    pub const NONE: LockPoll = LockPoll {
        head: LoopHead::UNUSED,
        key: 0,
        pieces: [Piece { address: 0, log_size: 0, value: 0 }; POLL_PIECES],
        len: 0,
        is_whole: false,
    };
}

/// Whether the operation is a lock that threads may poll under.
#[inline(always)]
pub fn is_lock(op: &AnnouncedOp) -> bool {
    match op.kind {
        OpKind::Lock => op.arg != MutexKind::Spin as u64,
        kind => matches!(kind, OpKind::ReadLock | OpKind::WriteLock),
    }
}

/// Keys of two facts about a lock: that threads poll under it, and that threads only try it.
fn facts(lock: u64) -> (u64, u64) {
    const SALT: u64 = 0x706f_6c6c << 24;
    (knowledge::fact_key(lock ^ SALT), knowledge::fact_key(lock ^ !SALT))
}

/// Called before the running thread stops before `op`. A thread that only tries a lock, or waits
/// for it for a time, may notice that it is held in a round that makes no progress: what the thread
/// does then is not explored for rounds that are left out.
pub fn note_try(op: &AnnouncedOp) {
    let (polled, tried) = facts(op.obj);
    if op.kind.is_lock_attempt()
        && knowledge::insert(tried, ReadVerdict::GOES_ON)
        && knowledge::look_up(polled).is_some()
    {
        name_limit(limit::POLLED);
    }
}

/// Threads poll under this lock.
fn note_polled(lock: u64) {
    let (polled, tried) = facts(lock);
    if knowledge::insert(polled, ReadVerdict::GOES_ON) && knowledge::look_up(tried).is_some() {
        name_limit(limit::POLLED);
    }
}

/// Called before the running thread stops before `op`. True if it may have to wait there for data
/// to change.
pub fn arriving(op: &AnnouncedOp) -> bool {
    if !is_lock(op) {
        return false;
    }
    let tid = usize::from(run().hot.tid);
    let returned = returns(op);
    let poll = lock_polls(tid);
    let mut now = LoopHead::UNUSED;
    now.record(op);
    if !returned && run().me().read_history.len == 0 {
        loop_candidates(tid).read_set.clear();
    }
    if returned && poll.is_whole && poll.head.is_equivalent_to(&now) {
        learn_proved(poll, [poll.head.steps, now.steps], op.pc);
    }
    poll.head = now;
    poll.key = knowledge::key(run().me(), run().hot.values, op, 0);
    (poll.len, poll.is_whole) = (0, true);
    knowledge().polls_used.load(Relaxed) > 0
}

/// The running thread has returned to a read at `pc`, in a round between these two numbers of its
/// transitions that read data under the lock at which it last stopped, behind its last read.
pub fn conclude(round: [u32; 2], pc: u64) {
    let poll = lock_polls(usize::from(run().hot.tid));
    let is_within = (round[0]..round[1]).contains(&poll.head.steps);
    if is_within && is_under_way() && poll.is_whole {
        knowledge::note_longer_round(pc);
        learn_proved(poll, round, pc);
    }
}

/// Learns the round with these numbers of transitions, if it is new and proved to change nothing.
/// The thread is at its end, before an operation at `pc`. Then the run is restarted.
fn learn_proved(poll: &LockPoll, round: [u32; 2], pc: u64) {
    if !is_known(poll) && knowledge::look_up(poll.key).is_none() && proof::holds(poll.key, round, pc) && learn(poll) {
        note_polled(poll.head.op().obj);
        knowledge::note_loop(pc);
        knowledge::restart_run();
    }
}

/// Records the visit to the lock; whether the thread was here before, a lock and an unlock ago.
#[inline(always)]
pub fn returns(op: &AnnouncedOp) -> bool {
    let me = run().me();
    let visit = LockVisit { pc: op.pc, obj: op.obj, sp: registers().sp, steps: me.steps };
    let last = core::mem::replace(&mut me.private.lock_visit, visit);
    let unlocked = matches!(me.pending.kind, OpKind::Unlock | OpKind::RwUnlock) && me.pending.obj == op.obj;
    unlocked && (last.pc, last.obj, last.sp, last.steps + ROUND) == (visit.pc, visit.obj, visit.sp, visit.steps)
}

/// Whether the running thread is in what may be a round.
pub fn is_under_way() -> bool {
    let me = run().me();
    me.steps.wrapping_sub(me.private.lock_visit.steps) <= ROUND
}

/// The running thread has made progress.
pub fn forget() {
    run().me().private.lock_visit = LockVisit::NONE;
}

/// The running thread is about to read data; `is_new` if it had not read it since it last made
/// progress.
pub fn note_read(address: u64, size: u64, is_new: bool) {
    let poll = lock_polls(usize::from(run().hot.tid));
    if !is_under_way() {
        return;
    }
    let known = poll.pieces[..poll.len].iter().any(|piece| (piece.address, 1 << piece.log_size) == (address, size));
    if known && !is_new {
        return;
    }
    if is_new || !size.is_power_of_two() || size > 8 || poll.len == POLL_PIECES {
        poll.is_whole = false;
        return;
    }
    let log_size = size.trailing_zeros() as u8;
    poll.pieces[poll.len] = Piece { address, log_size, value: word(address, log_size) };
    poll.len += 1;
}

/// Whether the thread's pending operation is a lock that is free, but behind which it would only
/// return.
pub fn is_failed_poll_round(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    let op = &fiber.pending;
    if !is_lock(op) {
        return false;
    }
    let is_free = match op.kind {
        OpKind::Lock => mutex::can_lock(op.obj, tid as u16),
        OpKind::ReadLock => rwlock::can_read(op.obj, tid as u16),
        _ => rwlock::can_write(op.obj, tid as u16),
    };
    is_free && known_rounds(knowledge::key(fiber, fiber.values, op, 0)).any(would_repeat)
}

/// Whether the round would read the same again. The pieces are compared in the order of the round:
/// behind the first difference the others may not be mapped any more.
fn would_repeat(round: &PollRound) -> bool {
    let pieces = round.pieces.iter().take(round.len.load(Relaxed) as usize);
    pieces.map(|piece| piece.each_ref().map(|word| word.load(Relaxed))).all(|[place, value]| {
        let (address, log_size) = (place & ADDRESS, (place >> ADDRESS.count_ones()) as u8);
        word(address, log_size) == value
    })
}

/// Bits of a place that are its address; those above are the size.
const ADDRESS: u64 = (1 << 56) - 1;

/// The entries where rounds of a thread in this state may lie.
fn entries(key: u64) -> impl Iterator<Item = &'static PollRound> {
    let rounds = &knowledge().polls;
    (0..POLL_ROUNDS).map(move |n| &rounds[(key as usize >> 8).wrapping_add(n) % POLL_ROUNDS])
}

/// The known rounds of a thread in this state.
fn known_rounds(key: u64) -> impl Iterator<Item = &'static PollRound> {
    let found = |round: &&PollRound| round.key.load(Relaxed);
    entries(key).take_while(move |round| found(round) != 0).filter(move |round| found(round) == key)
}

/// The words of a known round for a piece.
fn words(piece: &Piece) -> [u64; 2] {
    [piece.address | u64::from(piece.log_size) << ADDRESS.count_ones(), piece.value]
}

/// Whether the round that the thread has made is known, or there is no room for it.
fn is_known(poll: &LockPoll) -> bool {
    let pieces = &poll.pieces[..poll.len];
    let is_this = |round: &PollRound| {
        let known = round.pieces.iter().map(|piece| piece.each_ref().map(|word| word.load(Relaxed)));
        round.len.load(Relaxed) as usize == poll.len && known.zip(pieces).all(|(known, piece)| known == words(piece))
    };
    let is_full = knowledge().polls_used.load(Relaxed) as usize > POLL_ROUNDS * 3 / 4;
    is_full || known_rounds(poll.key).any(is_this)
}

/// Remembers the round that the thread has made; false if there is no room.
fn learn(poll: &LockPoll) -> bool {
    let pieces = &poll.pieces[..poll.len];
    let Some(round) = entries(poll.key).find(|round| round.key.load(Relaxed) == 0) else { return false };
    for (entry, piece) in round.pieces.iter().zip(pieces) {
        entry.iter().zip(words(piece)).for_each(|(word, value)| word.store(value, Relaxed));
    }
    round.len.store(poll.len as u32, Relaxed);
    round.key.store(poll.key, Relaxed);
    knowledge().polls_used.fetch_add(1, Relaxed);
    true
}
