//! `pthread_once`, `call_once` and the guards of function-local statics in C++.
//!
//! The word of a once control is 0 (untouched), [`RUNNING`], or [`FINISHED`], as in glibc, with
//! further bits. A guard
//! has 8 bytes: compiled code reads the first, which is 1 once the object is constructed; the last
//! four hold 1 while a thread constructs it. The `arg` of an operation says which of the two it is
//! about.
//!
//! An initialiser that throws (or whose thread is cancelled) leaves the control untouched:
//! [`watched_call`] notices this.

use raddle_vocab::{MemOrder, OpKind, Outcome};

use crate::arch::entry::export;
use crate::arch::watched_call;
use crate::interpose::memory::heap;
use crate::interpose::sync::{atomics, histories, mutex};
use crate::observed;
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::callers;
use crate::syscall::libc_real::real;

const UNTOUCHED: u32 = 0;
const RUNNING: u32 = 1;
const FINISHED: u32 = 2;

/// `arg` of operations on a once control.
const CONTROL: u64 = 0;
/// `arg` of operations on a guard.
const GUARD: u64 = 1;

/// A 32-bit word of the program's object.
fn word(address: u64) -> &'static mut u32 {
    // SAFETY: the program passes a pointer to a control or guard; a wrong one faults as it would in
    // libc.
    unsafe { &mut *(address as *mut u32) }
}

/// The word that says whether a thread runs the initialiser.
fn progress(op: &AnnouncedOp) -> &'static mut u32 {
    word(if op.arg == GUARD { op.obj + 4 } else { op.obj })
}

/// What it holds once the initialiser has returned. A control has a part of its address beside it:
/// a copy is a control that was not initialised.
fn finished(op: &AnnouncedOp) -> u32 {
    if op.arg == GUARD { FINISHED } else { FINISHED | u32::from(mutex::check(op.obj)) << 16 }
}

/// Whether no thread runs the initialiser.
pub fn can_begin(op: &AnnouncedOp) -> bool {
    *progress(op) != RUNNING
}

/// Where stores have histories, the first byte of a guard is an atomic object like others, and does
/// not tell.
fn is_finished(op: &AnnouncedOp) -> bool {
    if histories::are_kept() {
        return *progress(op) == finished(op);
    }
    if op.arg == GUARD { *word(op.obj) & 0xff != 0 } else { *word(op.obj) == finished(op) }
}

/// Once controls in live heap blocks, at most: those beyond are taken for others.
const MOST_IN_HEAP: usize = 128;

/// Once controls in heap blocks that were used. Their blocks are freed by a transition, behind
/// which the same memory can hold another control.
pub struct HeapOnces {
    controls: [u64; MOST_IN_HEAP],
    len: usize,
}

impl HeapOnces {
    /// None was used.
    pub const NEW: HeapOnces = HeapOnces { controls: [0; MOST_IN_HEAP], len: 0 };

    fn add(&mut self, control: u64) {
        if self.len < MOST_IN_HEAP && !self.controls[..self.len].contains(&control) {
            self.controls[self.len] = control;
            self.len += 1;
        }
    }

    /// Forgets those in a block that is freed; whether there were any.
    pub fn remove(&mut self, block: u64, bytes: u64) -> bool {
        let before = self.len;
        let mut at = 0;
        while at < self.len {
            if (block..block + bytes).contains(&self.controls[at]) {
                self.len -= 1;
                self.controls[at] = self.controls[self.len];
            } else {
                at += 1;
            }
        }
        self.len < before
    }
}

real! { hidden:
    fn pthread_once(control: u64, routine: usize) -> i32;
    fn __cxa_guard_acquire(guard: u64) -> i32;
    fn __cxa_guard_release(guard: u64);
    fn __cxa_guard_abort(guard: u64);
}

/// Begins; returns whether the caller must run the initialiser.
fn begin(address: u64, what: u64, pc: u64) -> bool {
    let op = AnnouncedOp::new(OpKind::OnceBegin, address, what, pc);
    sched::arrive(op);
    virtual_time::observe(address);
    let first = !is_finished(&op);
    if first {
        *progress(&op) = RUNNING;
        if heap::is_in_arena(address as usize) {
            run().heap_onces.add(address);
        }
    }
    sched::commit(&op, if first { Outcome::Done } else { Outcome::Already }, 0, 0);
    first
}

/// The initialiser returned, or (`OnceAbort`) did not.
fn end(kind: OpKind, address: u64, what: u64, pc: u64) {
    let op = AnnouncedOp::new(kind, address, what, pc);
    sched::arrive(op);
    let stays = kind == OpKind::OnceEnd && (what == CONTROL || histories::are_kept());
    *progress(&op) = if stays { finished(&op) } else { UNTOUCHED };
    virtual_time::publish(address);
    sched::changed(address);
    sched::commit(&op, Outcome::Done, 0, 0);
}

/// `pthread_once` and `call_once`.
pub extern "C-unwind" fn once(address: u64, routine: usize, pc: u64) -> i32 {
    if !controlled() || callers::is_compiler_library(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_once(address, routine) };
    }
    if begin(address, CONTROL, pc) {
        // SAFETY: the program's initialiser, called as libc would.
        unsafe { watched_call::call_watched(routine, address) };
        end(OpKind::OnceEnd, address, CONTROL, pc);
    }
    0
}

extern "C" fn guard_acquire(address: u64, pc: u64) -> i32 {
    if !controlled() || callers::is_compiler_library(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_acquire(address) };
    }
    observed::guards(address);
    i32::from(begin(address, GUARD, pc))
}

/// The compiler's own check of the first byte is an atomic load: what it finds there must come from
/// an atomic store.
extern "C" fn guard_release(address: u64, pc: u64) {
    if !controlled() || callers::is_compiler_library(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_release(address) };
    }
    let op = AnnouncedOp { order: MemOrder::Release as u8, ..AnnouncedOp::new(OpKind::AtomicStore, address, 0, pc) };
    sched::arrive(op);
    if histories::are_kept() {
        atomics::weak_store(&op, 1_u8);
        return end(OpKind::OnceEnd, address, GUARD, pc);
    }
    *word(address) |= 1;
    virtual_time::publish(address);
    sched::commit(&op, Outcome::Done, 1, 0);
    end(OpKind::OnceEnd, address, GUARD, pc);
}

extern "C" fn guard_abort(address: u64, pc: u64) {
    if !controlled() || callers::is_compiler_library(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_abort(address) };
    }
    end(OpKind::OnceAbort, address, GUARD, pc);
}

/// Called when the initialiser of a once control is left by unwinding.
pub fn abandoned(control: u64) {
    end(OpKind::OnceAbort, control, CONTROL, 0);
}

export!(pthread_once, 2 => once);
export!(__cxa_guard_acquire, 1 => guard_acquire);
export!(__cxa_guard_release, 1 => guard_release);
export!(__cxa_guard_abort, 1 => guard_abort);
