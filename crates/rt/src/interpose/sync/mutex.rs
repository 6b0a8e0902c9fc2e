//! Mutexes. Their state is in the program's own object, where glibc keeps it, so that static
//! initialisers work:
//!
//! | bytes | glibc | here |
//! |---|---|---|
//! | 0..4 | lock word | 0 free, 1 held |
//! | 4..8 | recursion count | same |
//! | 8..12 | owner | run-local number of the owner, plus 1 |
//! | 12..16 | users | of a robust mutex: one of [`health`] |
//! | 16..20 | kind | same: 0 normal, 1 recursive, 2 errorcheck, 3 adaptive, and further bits |
//! | 20..22 | spins | while it is held, [`check`] of its address |
//! | 24..32 | list | tag: 0 static, [`LIVE`] initialised, [`DEAD`] destroyed |
//! | 32..40 | list | next robust mutex of the same owner |
//!
//! An invalid mutex (never initialised, destroyed) is reported and then used as if it had been
//! initialised, so that the run continues.

use core::ffi::c_void;

use raddle_vocab::policy::mix;
use raddle_vocab::{Misuse, MutexKind, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::buffers::attributes;
use crate::interpose::process::couriers;
use crate::sched::{self, timeouts, virtual_time};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::trace;

/// Tag of an object that was initialised by a call.
pub const LIVE: u64 = u64::from_le_bytes(*b"rdl-live");
/// Tag of an object that was initialised by a call, and that only such a call makes: a copy of it,
/// at another address, is none.
pub const fn live_at(address: u64) -> u64 {
    LIVE ^ address
}

/// What an object that is in use holds of its own address: a copy of it is another object, of which
/// the copied state says nothing. It is never 0.
pub fn check(address: u64) -> u16 {
    mix(address) as u16 | 1
}

/// Tag of an object that was destroyed.
pub const DEAD: u64 = u64::from_le_bytes(*b"rdl-dead");

/// Bit of the kind: the next owner is told that the last one has ended.
const ROBUST: u32 = 16;
/// Bit of the kind: used by several processes.
const SHARED: u32 = 128;

/// What is known about a robust mutex.
mod health {
    pub const WELL: u32 = 0;
    /// Its owner ended while holding it, and the program has not declared it consistent again.
    pub const OWNER_DEAD: u32 = 1;
    /// Unlocked without being declared consistent: unusable from now on.
    pub const LOST: u32 = 2;
}

/// A mutex of the program, as laid out above.
#[repr(C)]
struct Mutex {
    lock: u32,
    depth: u32,
    owner: u32,
    health: u32,
    kind: u32,
    check: u16,
    elision: u16,
    tag: u64,
    next: u64,
}

impl Mutex {
    const fn new(kind: u32) -> Self {
        Mutex { lock: 0, depth: 0, owner: 0, health: health::WELL, kind, check: 0, elision: 0, tag: LIVE, next: 0 }
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
}

/// The object at an address that the program passed.
fn at(address: u64) -> &'static mut Mutex {
    // SAFETY: the program passes a pointer to a mutex; a wrong pointer faults as it would in libc.
    unsafe { &mut *(address as *mut Mutex) }
}

/// Whether a thread's lock operation can acquire the mutex, or be refused, now.
pub fn can_lock(address: u64, tid: u16) -> bool {
    let mutex = at(address);
    match mutex.holder() {
        Some(holder) if is_valid(mutex) => holder == couriers::owner(tid) && mutex.kind() != MutexKind::Normal,
        // The holder in an invalid mutex means nothing.
        _ => true,
    }
}

/// Whether a thread at the end of a condition wait can re-acquire it.
pub fn can_reacquire(address: u64, tid: u16) -> bool {
    let mutex = at(address);
    !is_valid(mutex) || mutex.holder().is_none_or(|holder| holder == couriers::owner(tid))
}

/// Whether the thread holds it.
pub fn held_by(address: u64, tid: u16) -> bool {
    at(address).holder() == Some(tid)
}

#[inline]
fn is_valid(mutex: &Mutex) -> bool {
    const KNOWN: u32 = 3 | ROBUST | 32 | 64 | SHARED;
    let is_own = || mutex.check == check(&raw const *mutex as u64);
    matches!(mutex.tag, 0 | LIVE) && mutex.kind & !KNOWN == 0 && (mutex.lock == 0 || mutex.lock == 1 && is_own())
}

/// Reports use of an invalid mutex, and initialises it.
#[inline]
pub fn require(address: u64, pc: u64) {
    if !is_valid(at(address)) {
        make_valid(address, pc);
    }
}

#[cold]
#[inline(never)]
fn make_valid(address: u64, pc: u64) {
    let mutex = at(address);
    let misuse = if mutex.tag == DEAD { Misuse::MutexDestroyed } else { Misuse::MutexUninitialised };
    trace::misuse(misuse, address, 0, pc);
    *mutex = Mutex::new(0);
}

fn op(kind: OpKind, address: u64, pc: u64) -> AnnouncedOp {
    AnnouncedOp::new(kind, address, at(address).kind() as u64, pc)
}

/// Waits for its turn to perform the operation, then makes sure that the mutex is valid.
#[inline]
fn arrive(kind: OpKind, address: u64, pc: u64) -> AnnouncedOp {
    sched::arrive(op(kind, address, pc));
    require(address, pc);
    op(kind, address, pc)
}

real! { hidden:
    fn pthread_mutex_init(mutex: u64, attr: *const c_void) -> i32;
    fn pthread_mutex_destroy(mutex: u64) -> i32;
    fn pthread_mutex_lock(mutex: u64) -> i32;
    fn pthread_mutex_trylock(mutex: u64) -> i32;
    fn pthread_mutex_unlock(mutex: u64) -> i32;
    fn pthread_mutex_timedlock(mutex: u64, until: *const libc::timespec) -> i32;
    fn pthread_mutex_clocklock(mutex: u64, clock: i32, until: *const libc::timespec) -> i32;
    fn pthread_mutex_consistent(mutex: u64) -> i32;
}

/// The kind that an attribute object asks for: glibc keeps everything in its only word. A robust
/// mutex with a priority ceiling is not supported.
fn kind_of(attr: *const u32) -> Result<u32, i32> {
    const ATTR_CEILING: u32 = 0x2000_0000;
    const ATTR_ROBUST: u32 = 0x4000_0000;
    if attr.is_null() {
        return Ok(0);
    }
    // SAFETY: the caller passes an attribute object.
    let word = unsafe { *attr };
    if word & ATTR_CEILING != 0 && word & ATTR_ROBUST != 0 {
        return Err(libc::ENOTSUP);
    }
    Ok(word & 3 | if word & ATTR_ROBUST != 0 { ROBUST } else { 0 })
}

extern "C" fn init(address: u64, attr: *const u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_init(address, attr.cast()) };
    }
    attributes::initialises_mutex(attr as usize, pc);
    match kind_of(attr) {
        Ok(kind) => {
            init_as(address, kind, pc);
            0
        }
        Err(code) => code,
    }
}

/// Initialises with a kind as glibc numbers them.
pub fn init_as(address: u64, kind: u32, pc: u64) {
    let mut op = AnnouncedOp::new(OpKind::MutexInit, address, 0, pc);
    sched::arrive(op);
    *at(address) = Mutex::new(kind);
    op.arg = at(address).kind() as u64;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
}

/// `pthread_mutex_destroy` and its C11 form. A mutex that is held is destroyed nevertheless.
pub extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_destroy(address) };
    }
    let op = arrive(OpKind::MutexDestroy, address, pc);
    let mutex = at(address);
    let held = mutex.holder();
    if let Some(holder) = held {
        trace::misuse(Misuse::DestroyLocked, address, u64::from(holder), pc);
    }
    *mutex = Mutex { tag: DEAD, ..Mutex::new(mutex.kind) };
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
    if held.is_some() { libc::EBUSY } else { 0 }
}

/// Acquires the mutex, as [`can_lock`] allows.
fn acquire(op: &AnnouncedOp, address: u64) -> i32 {
    let tid = couriers::self_id();
    let mutex = at(address);
    if mutex.holder() != Some(tid) {
        take(address, tid);
        sched::commit(op, Outcome::Done, 0, 0);
        return robust_code(address, op.pc);
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

/// Makes the running thread the owner, one level deep or one level deeper.
fn take(address: u64, tid: u16) {
    let mutex = at(address);
    if mutex.holder() == Some(tid) {
        mutex.depth += 1;
        return;
    }
    mutex.lock = 1;
    mutex.check = check(address);
    mutex.owner = u32::from(tid) + 1;
    mutex.depth = 1;
    virtual_time::observe(address);
    if mutex.kind & ROBUST != 0 {
        mutex.next = core::mem::replace(&mut run().me().private.robust, address);
    }
}

/// What a lock operation that has acquired a mutex returns.
fn robust_code(address: u64, pc: u64) -> i32 {
    match at(address).health {
        health::OWNER_DEAD => libc::EOWNERDEAD,
        health::LOST => {
            unlock(address, pc);
            libc::ENOTRECOVERABLE
        }
        _ => 0,
    }
}

/// `pthread_mutex_lock` and its C11 form.
pub extern "C" fn lock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_lock(address) };
    }
    let op = arrive(OpKind::Lock, address, pc);
    acquire(&op, address)
}

/// A lock operation that gives up instead of waiting, with this outcome and error code.
fn lock_or(kind: OpKind, address: u64, pc: u64, otherwise: Outcome, code: i32) -> i32 {
    let op = arrive(kind, address, pc);
    let mine = at(address).holder() == Some(couriers::self_id());
    let answers = match at(address).kind() {
        MutexKind::Recursive => true,
        MutexKind::ErrorCheck => kind != OpKind::TryLock,
        _ => false,
    };
    if at(address).lock == 0 || mine && answers {
        return acquire(&op, address);
    }
    sched::commit(&op, otherwise, 0, 0);
    code
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
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_timedlock(address, until) };
    }
    lock_until(address, until, pc)
}

extern "C" fn clocklock(address: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_clocklock(address, clock, until) };
    }
    lock_until(address, until, pc)
}

fn lock_until(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    let Some(deadline) = virtual_time::deadline(until) else {
        // The C library looks at the time where it has to wait.
        return lock_or(OpKind::TimedLock, address, pc, Outcome::TimedOut, libc::EINVAL);
    };
    timeouts::entering(pc);
    let code = lock_or(OpKind::TimedLock, address, pc, Outcome::TimedOut, libc::ETIMEDOUT);
    if code == libc::ETIMEDOUT {
        timeouts::timed_out(&op(OpKind::TimedLock, address, pc), deadline);
    }
    code
}

/// `pthread_mutex_unlock` and its C11 form.
pub extern "C" fn unlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_unlock(address) };
    }
    let op = arrive(OpKind::Unlock, address, pc);
    let tid = couriers::self_id();
    let mutex = at(address);
    if mutex.holder() != Some(tid) {
        // The other kinds return an error code, on which a program may rely.
        if mutex.kind() != MutexKind::Normal {
            sched::commit(&op, Outcome::Refused, 0, 0);
            return libc::EPERM;
        }
        let misuse = if mutex.lock == 0 { Misuse::UnlockNotLocked } else { Misuse::UnlockNotOwner };
        trace::misuse(misuse, address, u64::from(mutex.owner.wrapping_sub(1)), pc);
    }
    let nested = mutex.depth > 1;
    release(address);
    sched::commit(&op, if nested { Outcome::Nested } else { Outcome::Done }, 0, 0);
    0
}

/// Releases one level of a mutex, whichever thread holds it, and marks the threads that wait for
/// it. Also the first half of a condition wait.
pub fn release(address: u64) {
    let mutex = at(address);
    if mutex.depth > 1 {
        mutex.depth -= 1;
        return;
    }
    if mutex.kind & ROBUST != 0 {
        forget_robust(address);
        if mutex.health == health::OWNER_DEAD {
            mutex.health = health::LOST;
        }
    }
    mutex.lock = 0;
    mutex.check = 0;
    mutex.owner = 0;
    mutex.depth = 0;
    virtual_time::publish(address);
    sched::changed(address);
}

/// Second half of a condition wait: the mutex is free, or the thread's own.
pub fn reacquire(address: u64) {
    take(address, couriers::self_id());
}

/// What a condition wait returns because of its mutex.
pub fn reacquired_code(address: u64, pc: u64) -> i32 {
    robust_code(address, pc)
}

/// Removes a robust mutex from its owner's list.
fn forget_robust(address: u64) {
    let Some(owner) = at(address).holder() else { return };
    let mut link: *mut u64 = &raw mut run().fibers[owner as usize].private.robust;
    // SAFETY: the list starts in the owner's state and goes through mutexes that it holds.
    unsafe {
        while *link != 0 && *link != address {
            link = &raw mut at(*link).next;
        }
        if *link == address {
            *link = at(address).next;
        }
    }
}

/// The running thread ends: releases the robust mutexes that it holds, so that their next owner is
/// told.
pub fn release_robust() {
    loop {
        let address = run().me().private.robust;
        if address == 0 {
            return;
        }
        let op = op(OpKind::Unlock, address, 0);
        sched::arrive(op);
        let nested = at(address).depth > 1;
        at(address).health = health::WELL;
        release(address);
        if !nested {
            at(address).health = health::OWNER_DEAD;
        }
        sched::commit(&op, if nested { Outcome::Nested } else { Outcome::Done }, 0, 0);
    }
}

extern "C" fn consistent(address: u64, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_mutex_consistent(address) };
    }
    let mutex = at(address);
    if mutex.kind & ROBUST == 0 || mutex.health != health::OWNER_DEAD || !held_by(address, couriers::self_id()) {
        return libc::EINVAL;
    }
    mutex.health = health::WELL;
    0
}

export!(pthread_mutex_init, 2 => init);
export!(pthread_mutex_destroy, 1 => destroy);
export!(pthread_mutex_lock, 1 => lock);
export!(pthread_mutex_trylock, 1 => trylock);
export!(pthread_mutex_timedlock, 2 => timedlock);
export!(pthread_mutex_clocklock, 3 => clocklock);
export!(pthread_mutex_unlock, 1 => unlock);
export!(pthread_mutex_consistent, 1 => consistent);
