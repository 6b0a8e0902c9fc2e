//! Mutexes. Their state lies in the program's own object, in the places where glibc keeps it, so that static initialisers work:
//!
//! | bytes | glibc | here |
//! |---|---|---|
//! | 0..4 | lock word | 0 free, 1 held |
//! | 4..8 | recursion count | same |
//! | 8..12 | owner | run-local number of the owner, plus 1 |
//! | 16..20 | kind | same (0 normal, 1 recursive, 2 errorcheck, 3 adaptive) |
//! | 24..32 | list | tag: 0 static, [`LIVE`] initialised, [`DEAD`] destroyed |

use core::ffi::c_void;

use raddle_vocab::{Misuse, MutexKind, OpKind, Outcome};

use crate::entry::export;
use crate::real::real;
use crate::sched;
use crate::state::{Op, controlled, run};
use crate::trace;

const LIVE: u64 = u64::from_le_bytes(*b"rdl-live");
const DEAD: u64 = u64::from_le_bytes(*b"rdl-dead");

/// A mutex of the program, as laid out above.
#[repr(C)]
struct Mutex {
    lock: u32,
    depth: u32,
    owner: u32,
    users: u32,
    kind: u32,
    spins: u32,
    tag: u64,
    next: u64,
}

/// Whether the bytes are those of a mutex that may be used.
enum Condition {
    Usable,
    Uninitialised,
    Destroyed,
}

impl Mutex {
    fn condition(&self) -> Condition {
        match self.tag {
            DEAD => Condition::Destroyed,
            0 | LIVE if self.kind & 127 <= 3 => Condition::Usable,
            _ => Condition::Uninitialised,
        }
    }

    fn kind(&self) -> MutexKind {
        match self.kind & 3 {
            1 => MutexKind::Recursive,
            2 => MutexKind::ErrorCheck,
            _ => MutexKind::Normal,
        }
    }

    fn holder(&self) -> Option<u16> {
        (self.lock != 0).then(|| (self.owner.wrapping_sub(1)) as u16)
    }

    fn acquire(&mut self, tid: u16) {
        self.lock = 1;
        self.owner = u32::from(tid) + 1;
        self.depth = 1;
    }
}

/// The object at an address that the program passed.
fn at(address: u64) -> &'static mut Mutex {
    // SAFETY: the program passes a pointer to a mutex; if it lies, the access faults as it would in libc.
    unsafe { &mut *(address as *mut Mutex) }
}

/// Whether a thread that stands before a lock operation can acquire, or be refused, now.
pub fn can_lock(address: u64, tid: u16) -> bool {
    let mutex = at(address);
    match mutex.holder() {
        None => true,
        Some(holder) => holder == tid && mutex.kind() != MutexKind::Normal,
    }
}

/// Whether nobody holds it.
pub fn is_free(address: u64) -> bool {
    at(address).lock == 0
}

/// Reports use of a mutex that is none; `false` if it is usable.
fn misused(address: u64, pc: u64) -> bool {
    let misuse = match at(address).condition() {
        Condition::Usable => return false,
        Condition::Uninitialised => Misuse::MutexUninitialised,
        Condition::Destroyed => Misuse::MutexDestroyed,
    };
    trace::misuse(misuse, address, 0, pc);
    true
}

fn op(kind: OpKind, address: u64, pc: u64) -> Op {
    Op::new(kind, address, at(address).kind() as u64, pc)
}

real! { hidden:
    fn pthread_mutex_init(mutex: u64, attr: *const c_void) -> i32;
    fn pthread_mutex_destroy(mutex: u64) -> i32;
    fn pthread_mutex_lock(mutex: u64) -> i32;
    fn pthread_mutex_trylock(mutex: u64) -> i32;
    fn pthread_mutex_unlock(mutex: u64) -> i32;
    fn pthread_mutex_timedlock(mutex: u64, until: *const libc::timespec) -> i32;
    fn pthread_mutex_clocklock(mutex: u64, clock: i32, until: *const libc::timespec) -> i32;
}

extern "C" fn init(address: u64, attr: *const u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_init(address, attr.cast()) };
    }
    // SAFETY: glibc keeps the kind in the low bits of the attribute's only word.
    let kind = if attr.is_null() { 0 } else { (unsafe { *attr }) & 3 };
    let in_use = at(address).tag == LIVE && at(address).lock != 0;
    sched::arrive(Op::new(OpKind::MutexInit, address, u64::from(kind), pc));
    if in_use {
        trace::misuse(Misuse::ReinitInUse, address, 0, pc);
    }
    *at(address) = Mutex { lock: 0, depth: 0, owner: 0, users: 0, kind, spins: 0, tag: LIVE, next: 0 };
    sched::commit(&op(OpKind::MutexInit, address, pc), Outcome::Done, 0, 0);
    sched::changed(address);
    0
}

extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_destroy(address) };
    }
    let op = op(OpKind::MutexDestroy, address, pc);
    sched::arrive(op);
    if misused(address, pc) {
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EINVAL;
    }
    if at(address).lock != 0 {
        trace::misuse(Misuse::DestroyLocked, address, u64::from(at(address).owner - 1), pc);
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EBUSY;
    }
    at(address).tag = DEAD;
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Acquires now what [`can_lock`] allows: used by lock, the try forms and the second half of a condition wait.
pub fn acquire(op: &Op, address: u64) -> i32 {
    let tid = run().hot.tid;
    let mutex = at(address);
    if mutex.holder() != Some(tid) {
        mutex.acquire(tid);
        sched::commit(op, Outcome::Done, 0, 0);
        return 0;
    }
    match mutex.kind() {
        MutexKind::Recursive => {
            mutex.depth += 1;
            sched::commit(op, Outcome::Nested, 0, 0);
            0
        }
        _ => {
            sched::commit(op, Outcome::Refused, 0, 0);
            libc::EDEADLK
        }
    }
}

/// `pthread_mutex_lock` and its C11 form.
pub extern "C" fn lock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_lock(address) };
    }
    let op = op(OpKind::Lock, address, pc);
    sched::arrive(op);
    if misused(address, pc) {
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EINVAL;
    }
    acquire(&op, address)
}

/// A lock operation that gives up instead of waiting, with this outcome and error code.
fn lock_or(kind: OpKind, address: u64, pc: u64, otherwise: Outcome, code: i32) -> i32 {
    let op = op(kind, address, pc);
    sched::arrive(op);
    if misused(address, pc) {
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EINVAL;
    }
    let tid = run().hot.tid;
    match at(address).holder() {
        None => acquire(&op, address),
        Some(holder) if holder == tid && at(address).kind() == MutexKind::Recursive => acquire(&op, address),
        Some(_) => {
            sched::commit(&op, otherwise, 0, 0);
            code
        }
    }
}

/// `pthread_mutex_trylock` and its C11 form.
pub extern "C" fn trylock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_trylock(address) };
    }
    lock_or(OpKind::TryLock, address, pc, Outcome::Failed, libc::EBUSY)
}

/// `pthread_mutex_timedlock` and its C11 form: times out exactly where it would have to wait.
pub extern "C" fn timedlock(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    clocklock(address, libc::CLOCK_REALTIME, until, pc)
}

extern "C" fn clocklock(address: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_clocklock(address, clock, until) };
    }
    let code = lock_or(OpKind::TimedLock, address, pc, Outcome::TimedOut, libc::ETIMEDOUT);
    if code == libc::ETIMEDOUT {
        crate::clock::reached(clock, until);
    }
    code
}

/// `pthread_mutex_unlock` and its C11 form.
pub extern "C" fn unlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_unlock(address) };
    }
    let op = op(OpKind::Unlock, address, pc);
    sched::arrive(op);
    if misused(address, pc) {
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EINVAL;
    }
    let tid = run().hot.tid;
    let mutex = at(address);
    if mutex.holder() != Some(tid) {
        let misuse = if mutex.lock == 0 { Misuse::UnlockNotLocked } else { Misuse::UnlockNotOwner };
        trace::misuse(misuse, address, u64::from(mutex.owner.wrapping_sub(1)), pc);
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EPERM;
    }
    mutex.depth -= 1;
    if mutex.depth > 0 {
        sched::commit(&op, Outcome::Nested, 0, 0);
        return 0;
    }
    release(address);
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Lets go of a mutex completely and tells those who wait; also the first half of a condition wait. Returns the depth it had.
pub fn release(address: u64) -> u32 {
    let mutex = at(address);
    let depth = mutex.depth;
    mutex.lock = 0;
    mutex.owner = 0;
    mutex.depth = 0;
    sched::changed(address);
    depth
}

/// Whether the thread holds it.
pub fn held_by(address: u64, tid: u16) -> bool {
    at(address).holder() == Some(tid)
}

export!(pthread_mutex_init, 2 => init);
export!(pthread_mutex_destroy, 1 => destroy);
export!(pthread_mutex_lock, 1 => lock);
export!(pthread_mutex_trylock, 1 => trylock);
export!(pthread_mutex_timedlock, 2 => timedlock);
export!(pthread_mutex_clocklock, 3 => clocklock);
export!(pthread_mutex_unlock, 1 => unlock);
