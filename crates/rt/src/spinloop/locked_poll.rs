//! Polling under a lock: `lock; look at data; unlock`, again and again. A thread that comes back to the lock with the same registers and the same
//! stack, having written nothing, would only come back once more while the data that it read is the same. So what it read is
//! remembered, by the state in which the thread stood before the lock, and it stands there until something of that is different.
//!
//! As data is only changed by who holds the lock (anything else is a race, which is reported), whether the thread can go on changes only with
//! operations on the lock, on which its own operation depends anyway. The first round is made: it may show a race. What it reads is no
//! news in the next one, which is left out; see `spin` for all that both have in common. Who only tries the lock could notice the rounds, which is said.

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::{MutexKind, OpKind};
use raddle_wire::{POLL_PIECES, POLL_ROUNDS, PollRound, limit};

use crate::arch::entry::registers;
use crate::interpose::sync::{mutex, rwlock};
use crate::sched::controller::name_limit;
use crate::spinloop::{self, Head, loops};
use crate::state::{Op, polls, run, spins};

/// Transitions of a round: lock and unlock.
const ROUND: u32 = 2;

/// Where a thread last stood before a lock.
#[derive(Clone, Copy)]
pub struct Visit {
    pc: u64,
    obj: u64,
    sp: u64,
    /// Transitions that it had made; those that follow it until the next one are a round.
    steps: u32,
}

impl Visit {
    /// Of a thread that was not at a lock since it last made progress.
    pub const NONE: Visit = Visit { pc: 0, obj: 0, sp: 0, steps: u32::MAX - ROUND };
}

/// A piece of data of up to 8 bytes.
#[derive(Clone, Copy)]
struct Piece {
    address: u64,
    log_size: u8,
    value: u64,
}

/// What a thread has read since it stood before the lock.
pub struct Poll {
    head: Head,
    key: u64,
    pieces: [Piece; POLL_PIECES],
    len: usize,
    /// Whether it read more than there is room for, or what it had not read since it last made progress.
    is_open: bool,
}

impl Poll {
    /// Nothing.
    pub const NONE: Poll = Poll {
        head: Head::UNUSED,
        key: 0,
        pieces: [Piece { address: 0, log_size: 0, value: 0 }; POLL_PIECES],
        len: 0,
        is_open: true,
    };
}

fn is_lock(op: &Op) -> bool {
    match op.kind {
        OpKind::Lock => op.arg != MutexKind::Spin as u64,
        kind => matches!(kind, OpKind::ReadLock | OpKind::WriteLock),
    }
}

/// Names of a lock in the table of what is known: that threads poll under it, and that threads only try it.
fn names(lock: u64) -> (u64, u64) {
    const SALT: u64 = 0x706f_6c6c << 24;
    (spinloop::name(lock ^ SALT), spinloop::name(lock ^ !SALT))
}

/// Called before the running thread stands before `op`. Who only tries a lock, or waits for it for a time, may notice that it is held for a round
/// that makes no progress: what he does then is not explored for rounds that are left out.
pub fn note_try(op: &Op) {
    let (polled, tried) = names(op.obj);
    if op.kind.is_lock_attempt() && spinloop::insert(tried) && spinloop::look_up(polled).is_some() {
        name_limit(limit::POLLED);
    }
}

/// Threads poll under this lock.
fn note_polled(lock: u64) {
    let (polled, tried) = names(lock);
    if spinloop::insert(polled) && spinloop::look_up(tried).is_some() {
        name_limit(limit::POLLED);
    }
}

/// Called before the running thread stands before `op`. True if it may have to wait for data there.
pub fn arriving(op: &Op) -> bool {
    if !is_lock(op) {
        return false;
    }
    let tid = usize::from(run().hot.tid);
    let me = run().me();
    let visit = Visit { pc: op.pc, obj: op.obj, sp: registers().sp, steps: me.steps };
    let last = core::mem::replace(&mut me.private.visit, visit);
    let unlocked = matches!(me.pending.kind, OpKind::Unlock | OpKind::RwUnlock) && me.pending.obj == op.obj;
    let came_back =
        unlocked && (last.pc, last.obj, last.sp, last.steps + ROUND) == (visit.pc, visit.obj, visit.sp, visit.steps);
    if !run().hot.hashing {
        if came_back {
            loops().seen.store(1, Relaxed);
            spinloop::again();
        }
        return false;
    }
    let poll = polls(tid);
    let mut now = Head::UNUSED;
    spinloop::remember(&mut now, op);
    if !came_back && run().me().ring.len == 0 {
        spins(tid).touched.forget();
    }
    if came_back && !poll.is_open && poll.head.comes_back_as(&now) && learn(poll) {
        note_polled(op.obj);
        spinloop::note_place(op.pc);
        spinloop::again();
    }
    poll.head = now;
    poll.key = spinloop::key(run().me(), run().hot.values, op, 0);
    (poll.len, poll.is_open) = (0, false);
    loops().polls_used.load(Relaxed) > 0
}

/// Whether the running thread is in what may be a round.
pub fn is_under_way() -> bool {
    let me = run().me();
    me.steps.wrapping_sub(me.private.visit.steps) <= ROUND
}

/// The running thread has made progress.
pub fn forget() {
    run().me().private.visit = Visit::NONE;
}

/// The running thread is about to read data, which may be news.
pub fn note_read(address: u64, size: u64, is_new: bool) {
    if !is_under_way() {
        return;
    }
    let poll = polls(usize::from(run().hot.tid));
    let known = poll.pieces[..poll.len].iter().any(|piece| (piece.address, 1 << piece.log_size) == (address, size));
    if known && !is_new {
        return;
    }
    if is_new || !size.is_power_of_two() || size > 8 || poll.len == POLL_PIECES {
        poll.is_open = true;
        return;
    }
    let log_size = size.trailing_zeros() as u8;
    poll.pieces[poll.len] = Piece { address, log_size, value: spinloop::word(address, log_size) };
    poll.len += 1;
}

/// Whether the thread, which stands before a lock, could have it, but would only come back.
pub fn leads_nowhere(tid: usize) -> bool {
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
    is_free && known_rounds(spinloop::key(fiber, fiber.values, op, 0)).any(would_repeat)
}

/// Whether the round would read the same again. In its order: who finds a difference does not look at what may not be there any more.
fn would_repeat(round: &PollRound) -> bool {
    let pieces = round.pieces.iter().take(round.len.load(Relaxed) as usize);
    pieces.map(|piece| piece.each_ref().map(|word| word.load(Relaxed))).all(|[place, value]| {
        let (address, log_size) = (place & ADDRESS, (place >> ADDRESS.count_ones()) as u8);
        spinloop::word(address, log_size) == value
    })
}

/// Bits of a place that are its address; those above are the size.
const ADDRESS: u64 = (1 << 56) - 1;

/// The places where rounds of a thread in this state may lie.
fn places(key: u64) -> impl Iterator<Item = &'static PollRound> {
    let rounds = &loops().polls;
    (0..POLL_ROUNDS).map(move |n| &rounds[(key as usize >> 8).wrapping_add(n) % POLL_ROUNDS])
}

/// The known rounds of a thread in this state.
fn known_rounds(key: u64) -> impl Iterator<Item = &'static PollRound> {
    let found = |round: &&PollRound| round.key.load(Relaxed);
    places(key).take_while(move |round| found(round) != 0).filter(move |round| found(round) == key)
}

/// Remembers the round that the thread has made; false if it is known, or there is no room.
fn learn(poll: &Poll) -> bool {
    let pieces = &poll.pieces[..poll.len];
    let words = |piece: &Piece| [piece.address | u64::from(piece.log_size) << ADDRESS.count_ones(), piece.value];
    let is_this = |round: &PollRound| {
        let known = round.pieces.iter().map(|piece| piece.each_ref().map(|word| word.load(Relaxed)));
        round.len.load(Relaxed) as usize == poll.len && known.zip(pieces).all(|(known, piece)| known == words(piece))
    };
    let is_full = loops().polls_used.load(Relaxed) as usize > POLL_ROUNDS * 3 / 4;
    if is_full || known_rounds(poll.key).any(is_this) {
        return false;
    }
    let Some(round) = places(poll.key).find(|round| round.key.load(Relaxed) == 0) else { return false };
    for (place, piece) in round.pieces.iter().zip(pieces) {
        place.iter().zip(words(piece)).for_each(|(word, value)| word.store(value, Relaxed));
    }
    round.len.store(poll.len as u32, Relaxed);
    round.key.store(poll.key, Relaxed);
    loops().polls_used.fetch_add(1, Relaxed);
    true
}
