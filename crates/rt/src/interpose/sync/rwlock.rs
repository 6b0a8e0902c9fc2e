//! Read-write locks. By default a reader can acquire the lock whenever no writer holds it. With
//! `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` it cannot while a writer waits; there a writer
//! announces itself before it acquires the lock (see `model::object::rwlock`).
//!
//! | bytes | here | in glibc |
//! |---|---|---|
//! | 0..4 | number of read holds | readers |
//! | 4..8 | run-local number of the writer, plus 1; or 0 | writers |
//! | 8..16 | tag, as in a mutex | futex words |
//! | 16..48 | threads that hold it for reading, one bit each | unused, writer's number, elision |
//! | 48..50 | bit 8: some thread held it for reading twice; rest as in glibc | preference |
//! | 50..52 | while it is held, what a mutex has of its address | unused |
//! | 52..56 | number of writers that wait, where they come first | unused |

use core::ffi::c_void;

use raddle_vocab::{Misuse, OpKind, Outcome, ThreadSet};

use crate::arch::entry::export;
use crate::interpose::buffers::attributes;
use crate::interpose::process::couriers;
use crate::interpose::sync::mutex::{DEAD, LIVE, check};
use crate::sched::{self, timeouts, virtual_time};
use crate::state::{AnnouncedOp, controlled};
use crate::syscall::libc_real::real;
use crate::trace;

const NESTED: u32 = 0x100;
/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`
const WRITERS_FIRST: u32 = 2;

#[repr(C)]
struct RwLock {
    readers: u32,
    writer: u32,
    tag: u64,
    held: ThreadSet,
    flags: u32,
    waiting: u32,
}

impl RwLock {
    const fn new(tag: u64, preference: u32) -> Self {
        RwLock { readers: 0, writer: 0, tag, held: ThreadSet::new(), flags: preference, waiting: 0 }
    }

    fn preference(&self) -> u32 {
        self.flags & 0xff
    }

    fn writers_first(&self) -> bool {
        self.preference() == WRITERS_FIRST
    }

    /// Whether a waiting writer keeps out those that did not announce themselves.
    fn is_reserved(&self) -> bool {
        self.waiting != 0 && self.writers_first()
    }

    fn holds(&self, tid: u16) -> bool {
        self.held.contains(usize::from(tid))
    }

    fn is_valid(&self) -> bool {
        let is_own = || self.flags >> 16 == u32::from(check(&raw const *self as u64));
        matches!(self.tag, 0 | LIVE) && (self.readers == 0 && self.writer == 0 || is_own())
    }

    /// It is held from now on.
    fn begin_hold(&mut self) {
        self.flags = self.flags & 0xffff | u32::from(check(&raw const *self as u64)) << 16;
    }

    /// A hold of it has ended.
    fn end_hold(&mut self) {
        if self.readers == 0 && self.writer == 0 {
            self.flags &= 0xffff;
        }
    }
}

/// The object at an address that the program passed.
fn at(address: u64) -> &'static mut RwLock {
    // SAFETY: the program passes a pointer to an rwlock; a wrong pointer faults as it would in
    // libc.
    unsafe { &mut *(address as *mut RwLock) }
}

/// Whether a thread's read lock can be acquired, or be refused, now.
pub fn can_read(address: u64, tid: u16) -> bool {
    let lock = at(address);
    !lock.is_valid() || lock.writer == 0 && !lock.is_reserved() || lock.writer == u32::from(couriers::owner(tid)) + 1
}

/// Whether a thread's write lock can be acquired, or be refused, now.
pub fn can_write(address: u64, tid: u16) -> bool {
    let lock = at(address);
    !lock.is_valid() || lock.writer == 0 && lock.readers == 0 || lock.writer == u32::from(couriers::owner(tid)) + 1
}

/// Whether an attempt of a thread to lock it for writing would succeed now.
pub fn can_try_write(address: u64, tid: u16) -> bool {
    can_write(address, tid) && !at(address).is_reserved()
}

real! { hidden:
    fn pthread_rwlock_init(lock: u64, attr: *const c_void) -> i32;
    fn pthread_rwlock_destroy(lock: u64) -> i32;
    fn pthread_rwlock_rdlock(lock: u64) -> i32;
    fn pthread_rwlock_wrlock(lock: u64) -> i32;
    fn pthread_rwlock_tryrdlock(lock: u64) -> i32;
    fn pthread_rwlock_trywrlock(lock: u64) -> i32;
    fn pthread_rwlock_timedrdlock(lock: u64, until: *const libc::timespec) -> i32;
    fn pthread_rwlock_timedwrlock(lock: u64, until: *const libc::timespec) -> i32;
    fn pthread_rwlock_clockrdlock(lock: u64, clock: i32, until: *const libc::timespec) -> i32;
    fn pthread_rwlock_clockwrlock(lock: u64, clock: i32, until: *const libc::timespec) -> i32;
    fn pthread_rwlock_unlock(lock: u64) -> i32;
}

/// Waits for its turn to perform the operation, then makes sure that the lock is valid: an invalid
/// one is reported and initialised.
fn arrive(kind: OpKind, address: u64, pc: u64) -> AnnouncedOp {
    let mut op = arrive_with(kind, address, u64::from(at(address).writers_first()), pc);
    op.arg = u64::from(at(address).writers_first());
    op
}

/// As [`arrive`], with another operand than what comes first.
fn arrive_with(kind: OpKind, address: u64, arg: u64, pc: u64) -> AnnouncedOp {
    let op = AnnouncedOp::new(kind, address, arg, pc);
    sched::arrive(op);
    let lock = at(address);
    if !lock.is_valid() {
        let misuse = if lock.tag == DEAD { Misuse::RwDestroyed } else { Misuse::RwUninitialised };
        trace::misuse(misuse, address, 0, pc);
        *lock = RwLock::new(LIVE, 0);
    }
    op
}

extern "C" fn init(address: u64, attr: *const i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_init(address, attr.cast()) };
    }
    attributes::initialises_rwlock(attr as usize, pc);
    // SAFETY: glibc's attribute object begins with the preference.
    let preference = if attr.is_null() { 0 } else { unsafe { *attr as u32 & 0xff } };
    let op = AnnouncedOp::new(OpKind::RwInit, address, u64::from(preference == WRITERS_FIRST), pc);
    sched::arrive(op);
    *at(address) = RwLock::new(LIVE, preference);
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
    0
}

extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_destroy(address) };
    }
    let op = arrive(OpKind::RwDestroy, address, pc);
    let lock = at(address);
    let held = lock.writer != 0 || lock.readers != 0;
    if held {
        trace::misuse(Misuse::RwDestroyLocked, address, 0, pc);
    }
    *lock = RwLock::new(DEAD, lock.preference());
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
    if held { libc::EBUSY } else { 0 }
}

/// What to do where the plain operation would wait.
type Otherwise = (Outcome, i32);

const NEVER: Otherwise = (Outcome::Refused, libc::EDEADLK);
const TRY: Otherwise = (Outcome::Failed, libc::EBUSY);
const TIMED: Otherwise = (Outcome::TimedOut, libc::ETIMEDOUT);

/// Whether the operation is refused because the writer locks its own lock once more. The try forms
/// fail instead.
fn is_own(address: u64, otherwise: Otherwise) -> bool {
    otherwise != TRY && at(address).writer == u32::from(couriers::self_id()) + 1
}

fn read(kind: OpKind, address: u64, otherwise: Otherwise, pc: u64) -> i32 {
    let op = arrive(kind, address, pc);
    let otherwise = if is_own(address, otherwise) { NEVER } else { otherwise };
    let lock = at(address);
    if lock.writer != 0 || lock.is_reserved() {
        sched::commit(&op, otherwise.0, 0, 0);
        return otherwise.1;
    }
    let tid = couriers::self_id();
    if lock.holds(tid) {
        lock.flags |= NESTED;
    }
    lock.readers += 1;
    lock.begin_hold();
    lock.held.insert(usize::from(tid));
    virtual_time::observe(address);
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Keeps further readers out while the thread waits to write, where writers come first.
fn announce(address: u64, otherwise: Otherwise, pc: u64) -> bool {
    if otherwise == TRY || !at(address).writers_first() {
        return false;
    }
    let op = arrive_with(OpKind::RwAnnounce, address, u64::from(otherwise == TIMED), pc);
    at(address).waiting += 1;
    sched::commit(&op, Outcome::Done, 0, 0);
    true
}

fn write(kind: OpKind, address: u64, otherwise: Otherwise, pc: u64) -> i32 {
    let announced = announce(address, otherwise, pc);
    let op = arrive(kind, address, pc);
    let otherwise = if is_own(address, otherwise) { NEVER } else { otherwise };
    let lock = at(address);
    if announced {
        lock.waiting = lock.waiting.saturating_sub(1);
    }
    if lock.writer != 0 || lock.readers != 0 || lock.is_reserved() && !announced {
        sched::commit(&op, otherwise.0, 0, 0);
        sched::changed(address);
        return otherwise.1;
    }
    lock.writer = u32::from(couriers::self_id()) + 1;
    lock.begin_hold();
    virtual_time::observe(address);
    virtual_time::observe(readers_key(address));
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Readers publish their clocks separately: what one of them did does not happen before the next
/// reader.
fn readers_key(address: u64) -> u64 {
    address + 1
}

/// The timed forms of [`read`] and [`write()`].
fn timed(kind: OpKind, address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    let Some(deadline) = virtual_time::deadline(until) else { return libc::EINVAL };
    timeouts::entering(pc);
    let code = match kind {
        OpKind::TimedReadLock => read(kind, address, TIMED, pc),
        _ => write(kind, address, TIMED, pc),
    };
    if code == libc::ETIMEDOUT {
        timeouts::timed_out(&AnnouncedOp::new(kind, address, 0, pc), deadline);
    }
    code
}

extern "C" fn rdlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_rdlock(address) };
    }
    read(OpKind::ReadLock, address, NEVER, pc)
}

extern "C" fn wrlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_wrlock(address) };
    }
    write(OpKind::WriteLock, address, NEVER, pc)
}

extern "C" fn tryrdlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_tryrdlock(address) };
    }
    read(OpKind::TryReadLock, address, TRY, pc)
}

extern "C" fn trywrlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_trywrlock(address) };
    }
    write(OpKind::TryWriteLock, address, TRY, pc)
}

extern "C" fn timedrdlock(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_timedrdlock(address, until) };
    }
    timed(OpKind::TimedReadLock, address, until, pc)
}

extern "C" fn timedwrlock(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_timedwrlock(address, until) };
    }
    timed(OpKind::TimedWriteLock, address, until, pc)
}

extern "C" fn clockrdlock(address: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_clockrdlock(address, clock, until) };
    }
    timed(OpKind::TimedReadLock, address, until, pc)
}

extern "C" fn clockwrlock(address: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_clockwrlock(address, clock, until) };
    }
    timed(OpKind::TimedWriteLock, address, until, pc)
}

extern "C" fn unlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_rwlock_unlock(address) };
    }
    let mut op = arrive_with(OpKind::RwUnlock, address, 0, pc);
    let tid = couriers::self_id();
    let lock = at(address);
    let writes = lock.writer == u32::from(tid) + 1;
    // The holds of a thread that read-locked twice are not told apart. Then an unlock is certainly
    // wrong only if no thread holds the lock.
    let reads = lock.readers > 0 && (lock.holds(tid) || lock.flags & NESTED != 0);
    if !writes && !reads {
        trace::misuse(Misuse::RwUnlockNotHeld, address, 0, pc);
    }
    if writes {
        lock.writer = 0;
        virtual_time::publish(address);
    } else {
        lock.readers = lock.readers.saturating_sub(1);
        lock.held.remove(usize::from(tid));
        virtual_time::publish(readers_key(address));
    }
    lock.end_hold();
    if lock.readers == 0 {
        lock.flags &= !NESTED;
        lock.held = ThreadSet::new();
    }
    op.arg = u64::from(writes);
    sched::changed(address);
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

export!(pthread_rwlock_init, 2 => init);
export!(pthread_rwlock_destroy, 1 => destroy);
export!(pthread_rwlock_rdlock, 1 => rdlock);
export!(pthread_rwlock_wrlock, 1 => wrlock);
export!(pthread_rwlock_tryrdlock, 1 => tryrdlock);
export!(pthread_rwlock_trywrlock, 1 => trywrlock);
export!(pthread_rwlock_timedrdlock, 2 => timedrdlock);
export!(pthread_rwlock_timedwrlock, 2 => timedwrlock);
export!(pthread_rwlock_clockrdlock, 3 => clockrdlock);
export!(pthread_rwlock_clockwrlock, 3 => clockwrlock);
export!(pthread_rwlock_unlock, 1 => unlock);
