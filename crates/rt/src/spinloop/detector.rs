//! The detector of failed spin rounds: a state machine that is driven by the running thread's
//! operations.
//!
//! # States
//! The detector of a run is in one [`Phase`]. What a run learns is kept in the shared file, and the
//! run is restarted with it.
//!
//! * [`Phase::Idle`]: only the sites of reads are recorded. When a thread returns to a site, the
//!   run is restarted as `Observing`.
//! * [`Phase::Observing`]: the state before each read is recorded, and values are hashed. When a
//!   thread returns to a site and nothing is known of its last read, the run is restarted, to reach
//!   `Examining` at the same point.
//! * [`Phase::Examining`]: the thread runs alone. If it returns in the same state, this gives a
//!   verdict about its last read. If it makes progress, or [`EXAMINED`] reads, the verdict is that
//!   it goes on. Then the run is restarted as `Observing`.
//!
//! Why an examination: the first round of a loop differs from the later ones by what it leaves in
//! temporaries. A thread that returns to a site in another state may still be in a loop; letting it
//! run alone for a few reads tells. A place where that was fruitless [`MAX_FRUITLESS`] times is not
//! examined again; a loop there that returns in the same state is still found.
//!
//! # Steps
//! [`arriving`] takes an operation through [`SpinDetector::observe`], [`SpinDetector::examine`] and
//! [`SpinDetector::conclude`]. [`performed`] tells the detector the outcome.
//!
//! # Where a round is disabled
//! At the last operation that can find something else: the last read; or, where data is read under
//! a lock behind the last read, that lock ([`locked_poll`]), because the data can change without a
//! change of what the read finds. Changes of what was read earlier in the round are found by the
//! thread if it begins the round later.
//!
//! # Which round is disabled
//! The data that a round reads counts, too: a race may be in the body of the loop. So a round is
//! performed that reads data which the thread has not read since it last made progress, and only
//! the next one is a failed round.
//!
//! The state of a thread is hashed from everything that it knows: its spawn path and arguments, the
//! outcomes of its operations and the values of its plain reads.

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::mix;
use raddle_vocab::{MutexKind, OpKind, Outcome, io};

use crate::arch::entry::{registers, return_address};
use crate::interpose::annotations;
use crate::interpose::io::descriptors;
use crate::interpose::memory::heap;
use crate::interpose::sync::{histories, mutex, rwlock, sem, sem_names, spinlock};
use crate::interpose::thread::lifecycle;
use crate::observed;
use crate::sched::enabled::{CanStep, enabled};
use crate::spinloop::knowledge::{
    self, IS_LOOP, MAX_FRUITLESS, ReadVerdict, examinations, has_verdicts, insert, key, knowledge, look_up,
    note_fruitless, note_loop, restart_run,
};
use crate::spinloop::loop_head::{HISTORY, LoopCandidates, LoopHead, ReadSite};
use crate::spinloop::{locked_poll, proof, read_set};
use crate::state::{AnnouncedOp, ThreadStatus, loop_candidates, process, read_sites, run};

/// Reads that a thread makes alone before it is taken to go on.
const EXAMINED: u32 = 24;

/// Rounds in which a thread also writes before it is taken to wait.
const WRITING_ROUNDS: usize = 4;

/// Rounds with writes after which a thread is taken to make progress: more than it takes to find
/// out that they change nothing.
const MOST_WRITING_ROUNDS: u8 = 24;

/// What the detector does at this point of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No thread was seen to return to a read.
    Idle,
    /// Some thread was: states are recorded and compared.
    Observing,
    /// One thread runs alone.
    Examining,
}

impl Phase {
    #[inline(always)]
    fn now() -> Self {
        if !run().hot.hashing {
            Phase::Idle
        } else if run().steps < process().plan.examine_at {
            Phase::Observing
        } else {
            Phase::Examining
        }
    }
}

/// A return of the running thread to a read site, as positions in its history of reads.
#[derive(Clone, Copy)]
struct Return {
    /// The latest earlier read at the same site.
    earlier: usize,
    /// The read before which the thread is.
    now: usize,
}

/// The detector, before an operation of the running thread.
struct SpinDetector<'a> {
    op: &'a AnnouncedOp,
    phase: Phase,
    tid: usize,
}

/// Called before a thread stops before `op`. The answer says whether the operation may turn out to
/// be the end of a failed round, so that its being enabled depends on what it would read.
#[inline(always)]
pub fn arriving(op: &AnnouncedOp) -> bool {
    if !process().fold_spins {
        return false;
    }
    if run().hot.hashing {
        observed::take_recent();
    }
    if is_private(op) {
        return false;
    }
    if run().hot.hashing {
        return observing(op.kind, op.order, op.log_size, op.obj, op.arg, op.pc);
    }
    if run().hot.wrote {
        note_writes();
    }
    if locked_poll::is_lock(op) && locked_poll::returns(op)
        || is_spin_read(op) && note_site(op.obj, op.pc).is_some_and(may_wait)
    {
        knowledge::start_observing();
    }
    false
}

/// The same in the phases in which states are recorded. Gets the operation in registers: in the
/// phase [`Phase::Idle`] it is never stored.
#[inline(never)]
fn observing(kind: OpKind, order: u8, log_size: u8, obj: u64, arg: u64, pc: u64) -> bool {
    let op = &AnnouncedOp { kind, order, log_size, obj, arg, pc };
    let detector = SpinDetector { op, phase: Phase::now(), tid: run().hot.tid as usize };
    if run().hot.wrote && note_writes() {
        detector.end_examination();
    }
    detector.settle_heap();
    proof::arriving(op.pc);
    detector.note_shared_data();
    if is_neutral(op) {
        detector.count_examined();
        return false;
    }
    if !is_spin_read(op) {
        detector.end_examination();
        return locked_poll::arriving(op);
    }
    let returned = detector.observe();
    if let Some(returned) = returned {
        detector.examine(returned);
        detector.conclude(returned);
        detector.count_examined();
    }
    has_verdicts()
}

impl SpinDetector<'_> {
    /// Notes accesses to another thread's stack, and tries of locks that threads poll under.
    fn note_shared_data(&self) {
        if self.op.kind.is_atomic_access() {
            note_foreign(self.op.obj);
        }
        locked_poll::note_try(self.op);
    }

    /// A thread that is back where it was, and has freed all that it has allocated since, uses the
    /// same blocks again: so its next round can begin in the same state.
    fn settle_heap(&self) {
        let history = run().me().read_history;
        if history.len == HISTORY || !is_spin_read(self.op) {
            return;
        }
        let site = site(self.op.obj, self.op.pc);
        let sites = &read_sites(self.tid)[..history.len];
        // A run without states ends where a thread may wait. So it has the same blocks as one with
        // states.
        if !may_wait_at(&site, sites) {
            return;
        }
        let earlier = sites.iter().rposition(|other| *other == site);
        let Some(head) = earlier.map(|index| &loop_candidates(self.tid).heads[index]) else { return };
        if head.heap == heap::used() || head.lock_operations != history.lock_operations {
            return;
        }
        let mut now = LoopHead::UNUSED;
        now.record(self.op);
        now.lock_depth = history.lock_depth;
        if head.is_equivalent_to(&now) {
            heap::use_again(head.heap);
        }
    }

    /// A thread under examination that does anything but read goes on.
    fn end_examination(&self) {
        if self.phase == Phase::Examining {
            conclude_alone();
        }
    }

    /// Records the read, with the state of the thread. `Some` if the thread has been at this site
    /// before, with only reads in between.
    fn observe(&self) -> Option<Return> {
        let returned = note_site(self.op.obj, self.op.pc);
        let history = run().me().read_history;
        let head = &mut loop_candidates(self.tid).heads[history.len];
        head.record(self.op);
        (head.lock_depth, head.lock_operations) = (history.lock_depth, history.lock_operations);
        head.locked = history.locked;
        returned
    }

    /// While observing: abandons the run, to let the thread run alone from here in the next
    /// attempt, unless the outcome of the read that it returns from is known.
    fn examine(&self, Return { earlier, now }: Return) {
        if self.phase != Phase::Observing {
            return;
        }
        let candidates = loop_candidates(self.tid);
        let (key, pc) = (candidates.heads[now - 1].key, candidates.heads[now].op().pc);
        let count = examinations(pc).unwrap_or(MAX_FRUITLESS);
        if look_up(key).is_some() || (MAX_FRUITLESS..IS_LOOP).contains(&count) {
            return;
        }
        let reads = &candidates.heads[earlier..now];
        if reads.iter().any(|head| finds(head.op(), run().hot.tid) != Some(head.value)) {
            // Alone it would read other values. So this is a round of a known loop if it looks like
            // one.
            let is_known_loop = count == IS_LOOP && !candidates.heads[now - 1].reads_new_data;
            let round = candidates.steps(earlier, now);
            if is_known_loop
                && !candidates.heads[now - 1].reads_under_lock
                && candidates.heads[earlier].differs_only_in_dead(&candidates.heads[now])
                && proof::holds(key, round, pc)
            {
                let locks = candidates.locks_between(earlier, now);
                conclude_failed_round(key, ReadVerdict::failed_round(now - earlier, locks), pc);
            }
            return;
        }
        request_examination(key, pc);
    }

    /// If the thread has returned in the same state, the last read of the first such round that
    /// read no new data and was proved to change nothing ends a failed round.
    fn conclude(&self, Return { now, .. }: Return) {
        // A loop has as many beginnings as reads: the one that the thread returned to first is
        // taken.
        let is_beginning = self.phase != Phase::Examining || self.op.pc == knowledge().examine_place.load(Relaxed);
        let candidates = loop_candidates(self.tid);
        let Some(start) = self.start_of_round(candidates, now).filter(|_| is_beginning) else { return };
        let length = now - start;
        let lasts = (candidates.first_round(start, now)..now).skip(length - 1).step_by(length);
        for last in lasts.filter(|&last| !candidates.heads[last].reads_new_data) {
            let round = candidates.steps(last + 1 - length, last + 1);
            if candidates.heads[last].reads_under_lock {
                if last + 1 == now {
                    locked_poll::conclude(round, self.op.pc);
                }
                continue;
            }
            let key = candidates.heads[last].key;
            let known = look_up(key);
            // A schedule may let a thread go round by an older store. The question is about a later
            // round.
            if histories::are_kept() && known.is_some_and(ReadVerdict::is_failed_round) {
                continue;
            }
            if known == Some(ReadVerdict::GOES_ON) || known.is_none() && !proof::holds(key, round, self.op.pc) {
                continue;
            }
            let verdict = ReadVerdict::failed_round(length, candidates.locks_between(start, now));
            return conclude_failed_round(key, verdict, self.op.pc);
        }
    }

    /// The latest earlier read at the same site in the same state. A thread that runs alone may be
    /// in a state that differs in what is dead: a hook that an outer function of the loop calls
    /// leaves other bytes each time where frames of inner functions are.
    fn start_of_round(&self, candidates: &LoopCandidates, now: usize) -> Option<usize> {
        let (sites, later) = (read_sites(self.tid), &candidates.heads[now]);
        let earlier = || (0..now).rev().filter(|&index| sites[index] == sites[now]);
        let is_alike = |index: &usize| {
            let earlier = &candidates.heads[*index];
            earlier.lock_depth == later.lock_depth && earlier.differs_only_in_dead(later)
        };
        let same = earlier().find(|&index| candidates.heads[index].equals(later));
        same.or_else(|| (self.phase == Phase::Examining).then(|| earlier().find(is_alike))?)
    }

    /// While examining: a thread that has made [`EXAMINED`] reads and fences without a failed round
    /// goes on.
    fn count_examined(&self) {
        if self.phase == Phase::Examining {
            process().plan.examined += 1;
            if process().plan.examined > EXAMINED {
                conclude_alone();
            }
        }
    }
}

/// A write outside the own stack is progress if another thread may learn of it in the round.
/// Whether it is.
#[inline(never)]
fn note_writes() -> bool {
    run().hot.wrote = false;
    crate::sched::timeouts::progress();
    locked_poll::forget();
    let history = &mut run().me().read_history;
    history.writes = history.len > 0;
    let written = history.written.saturating_add(u8::from(history.writes));
    let is_progress = !history.writes || history.has_shown_writes() || written > MOST_WRITING_ROUNDS;
    if is_progress {
        history.forget();
    }
    run().me().read_history.written = written;
    is_progress
}

/// Whether the thread, which has returned to a read, may be waiting.
fn may_wait(Return { now, .. }: Return) -> bool {
    let sites = read_sites(run().hot.tid as usize);
    may_wait_at(&sites[now], &sites[..now])
}

/// The same before the read is in the history: if the thread has only read, or has come back so
/// often that it does not fill a small array.
fn may_wait_at(site: &ReadSite, earlier: &[ReadSite]) -> bool {
    !run().me().read_history.writes || earlier.iter().filter(|other| *other == site).count() >= WRITING_ROUNDS
}

/// Where the running thread reads.
fn site(obj: u64, pc: u64) -> ReadSite {
    // Of several descriptors that one call asks about, each is asked once in a round.
    let asked = u64::from(run().me().private.asked) << 56;
    ReadSite { pc, obj: obj ^ asked, sp: registers().sp }
}

/// Whether the operation can be a read of a spin loop. Not every plain read comes with the
/// registers of its own call.
#[inline(always)]
fn is_spin_read(op: &AnnouncedOp) -> bool {
    let has_registers = || op.kind != OpKind::Read || registers().sp != 0 && return_address() == op.pc;
    is_read(op) && has_registers()
}

/// Records the site of a read of the running thread. `Some` if the thread has been there before,
/// with only reads in between.
#[inline(never)]
fn note_site(obj: u64, pc: u64) -> Option<Return> {
    let sites = read_sites(run().hot.tid as usize);
    let history = &mut run().me().read_history;
    if history.len == HISTORY {
        history.len = 0;
    }
    history.pending = true;
    let now = history.len;
    sites[now] = site(obj, pc);
    let earlier = sites[..now].iter().rposition(|site| *site == sites[now])?;
    Some(Return { earlier, now })
}

/// Whether the operation may be part of a round that changes nothing.
#[inline(always)]
pub fn reads(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::AtomicLoad
            | OpKind::AtomicCas
            | OpKind::AtomicRmw
            | OpKind::TryLock
            | OpKind::TryReadLock
            | OpKind::TryWriteLock
            | OpKind::SemTryWait
            | OpKind::Read
    )
}

/// Whether the operation may be such a part: of its kind, or a question whether a descriptor is
/// ready.
#[inline(always)]
pub fn is_read(op: &AnnouncedOp) -> bool {
    reads(op.kind) || asks(op)
}

fn asks(op: &AnnouncedOp) -> bool {
    op.kind == OpKind::Io && op.arg & io::ASKS != 0
}

/// Whether the operation only accesses the running thread's own stack, which is compared when the
/// thread returns: neither progress nor a read of a spin loop.
#[inline(always)]
pub fn is_private(op: &AnnouncedOp) -> bool {
    let (low, high) = run().hot.stack;
    matches!(op.kind, OpKind::Read | OpKind::Write) && (low..high).contains(&(op.obj as usize))
}

/// Whether the operation is neither progress nor a read. A fence orders what the thread has read
/// and written, and does so again in the next round.
fn is_neutral(op: &AnnouncedOp) -> bool {
    op.kind == OpKind::Fence
}

/// What the operation of the thread would find now; `None` if that would be progress.
pub fn finds(op: &AnnouncedOp, thread: u16) -> Option<u64> {
    const HELD: u64 = 1;
    let unless = |free: bool| (!free).then_some(HELD);
    match op.kind {
        // An order that the program announces is about no memory.
        OpKind::AtomicLoad | OpKind::AtomicRmw if annotations::is_announced(op.obj) => None,
        OpKind::AtomicLoad | OpKind::AtomicCas | OpKind::AtomicRmw if !sem_names::is_word(op.obj) => {
            Some(word(op.obj, op.log_size))
        }
        OpKind::Read if op.arg.is_power_of_two() && op.arg <= 8 => Some(word(op.obj, op.arg.trailing_zeros() as u8)),
        OpKind::TryLock if op.arg == MutexKind::Spin as u64 => unless(spinlock::can_lock(op.obj)),
        OpKind::TryLock => unless(mutex::can_lock(op.obj, thread)),
        OpKind::TryReadLock => unless(rwlock::can_read(op.obj, thread)),
        OpKind::TryWriteLock => unless(rwlock::can_try_write(op.obj, thread)),
        OpKind::SemTryWait => unless(sem::is_positive(op.obj)),
        OpKind::Io if asks(op) => Some(descriptors::readiness(io::waited_for(op.arg).0)),
        _ => None,
    }
}

/// What the thread would find with its pending operation.
pub fn found(tid: usize) -> Option<u64> {
    finds(&run().fibers[tid].pending, tid as u16)
}

/// Whether the thread's pending operation would end a failed round: it would only return to where
/// it has been.
pub fn is_failed_spin_round(tid: usize) -> bool {
    verdict(tid).is_some_and(ReadVerdict::is_failed_round) || locked_poll::is_failed_poll_round(tid)
}

/// Whether the thread's pending operation would end a failed round if it read this value.
pub fn would_fail(tid: usize, value: u64) -> bool {
    let fiber = &run().fibers[tid];
    look_up(key(fiber, fiber.values, &fiber.pending, value)).is_some_and(ReadVerdict::is_failed_round)
}

/// What is known of the thread's pending operation with the value that it would read now.
fn verdict(tid: usize) -> Option<ReadVerdict> {
    let fiber = &run().fibers[tid];
    let value = finds(&fiber.pending, tid as u16)?;
    look_up(key(fiber, fiber.values, &fiber.pending, value))
}

/// Whether the thread is between the beginning of a round and the place where threads are held in
/// it, as far as is known.
pub fn is_inside_round(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.read_history.is_inside && !knowledge::begins_longer_round(fiber.pending.pc)
}

/// Whether the thread is in a round that began with values that have changed since: it would go on
/// if it began the round again.
pub fn is_stale(tid: usize) -> bool {
    let verdict = verdict(tid).unwrap_or(ReadVerdict::GOES_ON);
    if verdict.locks() {
        return (0..run().threads).any(|other| other != tid && is_blocked_by_locks(other));
    }
    let len = run().fibers[tid].read_history.len;
    let heads = &loop_candidates(tid).heads[len.saturating_sub(verdict.earlier_reads())..len];
    heads.iter().any(|head| finds(head.op(), tid as u16) != Some(head.value))
}

/// Whether the thread cannot step, and not because it joins another or waits busily for something
/// that is no lock.
fn is_blocked_by_locks(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    let is_before_operation = match fiber.status {
        ThreadStatus::Pending => true,
        ThreadStatus::AtSpinRead => tries_lock(fiber.pending.kind) || !is_failed_spin_round(tid),
        _ => false,
    };
    is_before_operation && fiber.pending.kind != OpKind::Join && enabled(tid) == CanStep::No
}

fn tries_lock(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
    )
}

/// Called when an operation was performed: a read becomes part of a round, everything else is
/// progress.
#[inline(always)]
pub fn performed(op: &AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    let me = run().me();
    // A thread that has read nothing, and does not now, has no round to be in.
    if me.read_history.pending || me.read_history.len > 0 {
        note_round(op, outcome, value, old);
    } else {
        me.read_history.written = 0;
    }
    // All that follows is about verdicts, of which there are none in the phase `Idle`.
    if run().hot.hashing {
        hash_performed(op, outcome, value, old);
    }
}

/// Adds an operation to the hash of what the running thread has made.
#[inline(never)]
fn hash_performed(op: &AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    let thread = usize::from(run().hot.tid);
    let me = run().me();
    if me.read_history.len == 0 && !locked_poll::is_under_way() {
        loop_candidates(thread).read_set.clear();
    }
    // Values that other operations return depend on the order of other threads' operations.
    let is_own = op.kind.is_atomic_access() || op.kind == OpKind::Choose;
    let result = match op.kind {
        _ if is_own => mix(value ^ mix(old)),
        OpKind::Io if asks(op) => finds(op, run().hot.tid).unwrap_or(0),
        _ => 0,
    };
    let what = op.obj ^ (op.kind as u64) << 56 ^ (outcome as u64) << 48;
    me.history = mix(me.history ^ mix(what ^ result));
}

/// Keeps the round up to date that the running thread may be in, after an operation.
#[inline(never)]
fn note_round(op: &AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    // It may have read another store than the last one.
    let is_older = histories::are_kept() && op.kind.is_atomic_access();
    let read = is_older.then_some(if op.kind == OpKind::AtomicLoad { value } else { old });
    let thread = run().hot.tid;
    let values = run().hot.values;
    let hashing = run().hot.hashing;
    let me = run().me();
    let only_read = match op.kind {
        OpKind::AtomicLoad | OpKind::Read => true,
        OpKind::Io => asks(op),
        OpKind::AtomicRmw => value == old,
        kind => reads(kind) && outcome == Outcome::Failed,
    };
    me.read_history.publishes |= match op.kind {
        OpKind::AtomicRmw | OpKind::Lock | OpKind::Unlock => true,
        kind => reads(kind) && kind != OpKind::AtomicCas && outcome == Outcome::Done && !only_read,
    };
    if me.read_history.has_shown_writes() {
        me.read_history.forget();
    }
    match finds(op, thread).map(|now| read.unwrap_or(now)) {
        Some(value) if only_read && me.read_history.pending => {
            if hashing {
                let head = &mut loop_candidates(usize::from(thread)).heads[me.read_history.len];
                head.value = value;
                head.key = key(me, values, op, value);
            }
            me.read_history.len += 1;
            me.read_history.is_inside |= hashing && knowledge::begins_longer_round(op.pc);
        }
        // A thread that locks and unlocks may still be in the same round.
        None if matches!(op.kind, OpKind::Lock | OpKind::Unlock)
            && outcome == Outcome::Done
            && me.read_history.len > 0 =>
        {
            me.read_history.lock_depth += if op.kind == OpKind::Lock { 1 } else { -1 };
            me.read_history.locked += u32::from(op.kind == OpKind::Lock);
            me.read_history.lock_operations = me.read_history.lock_operations.wrapping_add(1);
        }
        None if op.kind == OpKind::TryLock && outcome == Outcome::Done && me.read_history.len > 0 => {
            me.read_history.lock_depth += 1;
            me.read_history.locked += 1;
            me.read_history.lock_operations = me.read_history.lock_operations.wrapping_add(1);
        }
        _ if is_private(op) || is_neutral(op) => {}
        _ => me.read_history.forget(),
    }
    me.read_history.pending = false;
}

/// Adds what the running thread is about to read to the hash of what it has read.
pub fn note_read(address: u64, size: u64) {
    let mut values = run().hot.values;
    let mut at = 0;
    while at < size {
        let log_size = (size - at).ilog2().min(3) as u8;
        values = mix(values ^ word(address + at, log_size));
        at += 1 << log_size;
    }
    run().hot.values = values;
    note_data(address, size, true);
}

/// The same where the values were added already.
pub fn note_data_read(address: u64, size: u64) {
    note_data(address, size, true);
}

/// The running thread is about to write to something that is not on its own stack.
pub fn note_write(address: u64, size: u64) {
    /// Tells writes from reads of the same bytes.
    const WRITTEN: u64 = 1 << 63;
    note_foreign(address);
    let candidates = loop_candidates(usize::from(run().hot.tid));
    let round = run().me().read_history.len;
    if round > 0 && candidates.read_set.insert(address | WRITTEN, size) {
        candidates.heads[round - 1].reads_new_data = true;
    }
}

/// The running thread is about to write to its own stack: what it reads there next is not new data.
pub fn note_private_write(address: u64, size: u64) {
    note_data(address, size, false);
}

/// The running thread reads or writes data. What it has not accessed since it last made progress is
/// new data in the round that it is in, except on a stack that only it accesses.
fn note_data(address: u64, size: u64, reads: bool) {
    let (low, high) = run().hot.stack;
    if !(low..high).contains(&(address as usize)) {
        note_foreign(address);
    } else if !read_set::is_stack_shared(run().me().slot) {
        return;
    }
    let candidates = loop_candidates(usize::from(run().hot.tid));
    let round = run().me().read_history.len;
    if round == 0 && candidates.read_set.is_full() {
        candidates.read_set.clear();
    }
    let is_new = candidates.read_set.insert(address, size);
    if reads && round > 0 {
        let head = &mut candidates.heads[round - 1];
        head.reads_new_data |= is_new;
        head.reads_under_lock |= head.locked != run().me().read_history.locked;
    }
    if reads {
        locked_poll::note_read(address, size, is_new);
    }
}

/// The running thread accesses something that is not on its own stack. If it is on another thread's
/// stack, for the first time, there may be more to the rounds of that thread.
pub fn note_foreign(address: u64) {
    if read_set::shares_stack(address) {
        let found = &knowledge().found;
        if found.load(Relaxed) > 0 {
            found.fetch_add(1, Relaxed);
        }
        restart_run();
    }
}

/// The running thread has read the time: at its next return it may be too late for another round.
pub fn note_clock(now: u64) {
    run().me().read_history.forget();
    locked_poll::forget();
    if run().hot.hashing {
        run().hot.values = mix(run().hot.values ^ now);
    }
}

/// The thread that runs alone. Ends the examination if it cannot step.
pub fn examined_thread() -> usize {
    let thread = knowledge().examine_thread.load(Relaxed) as usize;
    let plan = &mut process().plan;
    plan.at = plan.len;
    if thread >= run().threads || enabled(thread) == CanStep::No {
        conclude_alone();
    }
    thread
}

/// Restarts the run; in the next attempt the running thread runs alone from here.
fn request_examination(key: u64, pc: u64) -> ! {
    let knowledge = knowledge();
    knowledge.examine_key.store(key, Relaxed);
    knowledge.examine_place.store(pc, Relaxed);
    knowledge.examine_thread.store(u32::from(run().hot.tid), Relaxed);
    knowledge.examine_at.store(run().steps, Relaxed);
    restart_run()
}

/// A read was found to end a failed round, at whose beginning the thread is.
fn conclude_failed_round(key: u64, verdict: ReadVerdict, pc: u64) {
    let knowledge = knowledge();
    let examined = knowledge.examine_at.swap(0, Relaxed) != 0;
    note_loop(pc);
    if verdict.earlier_reads() > 0 || verdict.locks() {
        knowledge::note_longer_round(pc);
    }
    let learned = insert(key, verdict);
    let asked = knowledge.examine_key.load(Relaxed);
    if examined && asked != key {
        // The round that the examination was about changed something.
        insert(asked, ReadVerdict::GOES_ON);
    }
    if learned || examined {
        restart_run();
    }
}

/// The thread that ran alone goes on: the read that the examination was about ends no failed round.
fn conclude_alone() -> ! {
    let knowledge = knowledge();
    knowledge.examine_at.store(0, Relaxed);
    insert(knowledge.examine_key.load(Relaxed), ReadVerdict::GOES_ON);
    note_fruitless(knowledge.examine_place.load(Relaxed));
    restart_run()
}

/// The value of a word of 1 to 8 bytes; a hash of a wider one.
pub fn word(address: u64, log_size: u8) -> u64 {
    if lifecycle::is_life_word(address) {
        return lifecycle::life_word(address);
    }
    // SAFETY: the program reads these bytes at this very moment, or has just read them in its loop.
    unsafe {
        match log_size {
            0 => u64::from(*(address as *const u8)),
            1 => u64::from((address as *const u16).read_unaligned()),
            2 => u64::from((address as *const u32).read_unaligned()),
            3 => (address as *const u64).read_unaligned(),
            _ => mix((address as *const u64).read_unaligned() ^ mix((address as *const u64).add(1).read_unaligned())),
        }
    }
}
