//! Spin locks: one word, [`FREE`] or [`HELD`] by the thread whose number, plus 1, is added. There
//! is no static initialiser.
//!
//! Operations are those of a mutex of the kind `Spin`; no thread spins.

use raddle_vocab::{Misuse, MutexKind, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::process::couriers;
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled};
use crate::syscall::libc_real::real;
use crate::trace;

const FREE: u32 = 0x5d0c_0000;
const HELD: u32 = 0x5d0c_8000;
const DEAD: u32 = 0x5d0d_0000;

/// The word at an address that the program passed.
fn at(address: u64) -> &'static mut u32 {
    // SAFETY: the program passes a pointer to a spin lock; a wrong pointer faults as it would in
    // libc.
    unsafe { &mut *(address as *mut u32) }
}

fn holder(word: u32) -> Option<u16> {
    (word & 0xffff_8000 == HELD).then_some((word & 0x7fff) as u16)
}

/// Whether a lock operation would acquire it.
pub fn can_lock(address: u64) -> bool {
    holder(*at(address)).is_none()
}

real! { hidden:
    fn pthread_spin_init(lock: u64, shared: i32) -> i32;
    fn pthread_spin_destroy(lock: u64) -> i32;
    fn pthread_spin_lock(lock: u64) -> i32;
    fn pthread_spin_trylock(lock: u64) -> i32;
    fn pthread_spin_unlock(lock: u64) -> i32;
}

/// Waits for its turn to perform the operation, then makes sure that the lock is valid: an invalid
/// one is reported and initialised.
fn arrive(kind: OpKind, address: u64, pc: u64) -> AnnouncedOp {
    let op = AnnouncedOp::new(kind, address, MutexKind::Spin as u64, pc);
    sched::arrive(op);
    let word = at(address);
    if *word != FREE && holder(*word).is_none() {
        let misuse = if *word == DEAD { Misuse::MutexDestroyed } else { Misuse::MutexUninitialised };
        trace::misuse(misuse, address, 0, pc);
        *word = FREE;
    }
    op
}

extern "C" fn init(address: u64, shared: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_spin_init(address, shared) };
    }
    let op = AnnouncedOp::new(OpKind::MutexInit, address, MutexKind::Spin as u64, pc);
    sched::arrive(op);
    *at(address) = FREE;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
    0
}

extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_spin_destroy(address) };
    }
    let op = arrive(OpKind::MutexDestroy, address, pc);
    if let Some(holder) = holder(*at(address)) {
        trace::misuse(Misuse::DestroyLocked, address, u64::from(holder), pc);
    }
    *at(address) = DEAD;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed(address);
    0
}

fn acquire(op: &AnnouncedOp) -> i32 {
    *at(op.obj) = HELD | u32::from(couriers::self_id());
    virtual_time::observe(op.obj);
    sched::commit(op, Outcome::Done, 0, 0);
    0
}

extern "C" fn lock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_spin_lock(address) };
    }
    acquire(&arrive(OpKind::Lock, address, pc))
}

extern "C" fn trylock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_spin_trylock(address) };
    }
    let op = arrive(OpKind::TryLock, address, pc);
    if can_lock(address) {
        return acquire(&op);
    }
    sched::commit(&op, Outcome::Failed, 0, 0);
    libc::EBUSY
}

extern "C" fn unlock(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_spin_unlock(address) };
    }
    let op = arrive(OpKind::Unlock, address, pc);
    match holder(*at(address)) {
        None => trace::misuse(Misuse::UnlockNotLocked, address, 0, pc),
        Some(owner) if owner != couriers::self_id() => {
            trace::misuse(Misuse::UnlockNotOwner, address, u64::from(owner), pc)
        }
        Some(_) => {}
    }
    *at(address) = FREE;
    virtual_time::publish(address);
    sched::changed(address);
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

export!(pthread_spin_init, 2 => init);
export!(pthread_spin_destroy, 1 => destroy);
export!(pthread_spin_lock, 1 => lock);
export!(pthread_spin_trylock, 1 => trylock);
export!(pthread_spin_unlock, 1 => unlock);
