//! `pthread_once`, `call_once` and the guards of function-local statics in C++.
//!
//! The word of a once control is 0 (untouched), [`RUNNING`], or [`FINISHED`], as in glibc. A guard has 8 bytes: the compiler itself
//! looks at the first, which is 1 once the object is there; the last four hold 1 while somebody makes it. Which of the two an operation
//! is about stands in its `arg`.
//!
//! An initialiser that throws (or whose thread is made to end) leaves the control untouched: [`call_watched`] notices.

use core::arch::global_asm;

use raddle_vocab::{MemOrder, OpKind, Outcome};

use crate::entry::export;
use crate::real::real;
use crate::state::{Op, controlled};
use crate::{clock, library, sched};

const UNTOUCHED: u32 = 0;
const RUNNING: u32 = 1;
const FINISHED: u32 = 2;

/// `arg` of operations on a once control.
const CONTROL: u64 = 0;
/// `arg` of operations on a guard.
const GUARD: u64 = 1;

/// A 32-bit word of the program's object.
fn word(address: u64) -> &'static mut u32 {
    // SAFETY: the program passes a pointer to a control or guard; if it lies, the access faults as it would in libc.
    unsafe { &mut *(address as *mut u32) }
}

/// The word that says whether somebody is inside.
fn progress(op: &Op) -> &'static mut u32 {
    word(if op.arg == GUARD { op.obj + 4 } else { op.obj })
}

/// Whether nobody is inside the initialiser.
pub fn can_begin(op: &Op) -> bool {
    *progress(op) != RUNNING
}

fn is_finished(op: &Op) -> bool {
    if op.arg == GUARD { *word(op.obj) & 0xff != 0 } else { *word(op.obj) == FINISHED }
}

real! { hidden:
    fn pthread_once(control: u64, routine: usize) -> i32;
    fn __cxa_guard_acquire(guard: u64) -> i32;
    fn __cxa_guard_release(guard: u64);
    fn __cxa_guard_abort(guard: u64);
}

/// Stands before the beginning; says whether the caller must run the initialiser.
fn begin(address: u64, what: u64, pc: u64) -> bool {
    let op = Op::new(OpKind::OnceBegin, address, what, pc);
    sched::arrive(op);
    clock::observe(address);
    let first = !is_finished(&op);
    if first {
        *progress(&op) = RUNNING;
    }
    sched::commit(&op, if first { Outcome::Done } else { Outcome::Already }, 0, 0);
    first
}

/// The initialiser returned, or (`OnceAbort`) did not.
fn end(kind: OpKind, address: u64, what: u64, pc: u64) {
    let op = Op::new(kind, address, what, pc);
    sched::arrive(op);
    *progress(&op) = if kind == OpKind::OnceEnd && what == CONTROL { FINISHED } else { UNTOUCHED };
    clock::publish(address);
    sched::changed(address);
    sched::commit(&op, Outcome::Done, 0, 0);
}

/// `pthread_once` and `call_once`.
pub extern "C-unwind" fn once(address: u64, routine: usize, pc: u64) -> i32 {
    if !controlled() || library::is_compilers(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_once(address, routine) };
    }
    if begin(address, CONTROL, pc) {
        // SAFETY: the program's initialiser, called as libc would.
        unsafe { call_watched(routine, address) };
        end(OpKind::OnceEnd, address, CONTROL, pc);
    }
    0
}

extern "C" fn guard_acquire(address: u64, pc: u64) -> i32 {
    if !controlled() || library::is_compilers(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_acquire(address) };
    }
    i32::from(begin(address, GUARD, pc))
}

/// The compiler's own check of the first byte is an atomic load: what it finds there must come from an atomic store.
extern "C" fn guard_release(address: u64, pc: u64) {
    if !controlled() || library::is_compilers(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_release(address) };
    }
    let op = Op { order: MemOrder::Release as u8, ..Op::new(OpKind::AtomicStore, address, 0, pc) };
    sched::arrive(op);
    *word(address) |= 1;
    clock::publish(address);
    sched::commit(&op, Outcome::Done, 1, 0);
    end(OpKind::OnceEnd, address, GUARD, pc);
}

extern "C" fn guard_abort(address: u64, pc: u64) {
    if !controlled() || library::is_compilers(pc) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__cxa_guard_abort(address) };
    }
    end(OpKind::OnceAbort, address, GUARD, pc);
}

global_asm!(
    ".text",
    ".hidden raddle_call_watched",
    ".globl raddle_call_watched",
    ".type raddle_call_watched,@function",
    "raddle_call_watched:",
    ".cfi_startproc",
    // 0x9b: an indirect, pc-relative pointer of 4 bytes.
    ".cfi_personality 0x9b, .Lraddle_personality",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    // The personality finds the control in rbx.
    "mov rbx, rsi",
    "call rdi",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".section .data.rel.ro,\"aw\"",
    ".p2align 3",
    ".Lraddle_personality:",
    ".quad {personality}",
    ".text",
    personality = sym abandoned,
);

unsafe extern "C-unwind" {
    /// Calls the routine; if it is left by unwinding, [`abandoned`] learns of it.
    #[link_name = "raddle_call_watched"]
    fn call_watched(routine: usize, control: u64);
}

unsafe extern "C" {
    fn _Unwind_GetGR(context: *mut u8, register: i32) -> u64;
}

/// Personality of [`call_watched`]: in the second phase of unwinding the routine is given up.
extern "C-unwind" fn abandoned(_version: i32, actions: i32, _class: u64, _exception: *mut u8, context: *mut u8) -> i32 {
    const CLEANUP_PHASE: i32 = 2;
    const CONTINUE: i32 = 8;
    const RBX: i32 = 3;
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: the context is the unwinder's own; the frame keeps the control in this register.
        let control = unsafe { _Unwind_GetGR(context, RBX) };
        end(OpKind::OnceAbort, control, CONTROL, 0);
    }
    CONTINUE
}

export!(pthread_once, 2 => once);
export!(__cxa_guard_acquire, 1 => guard_acquire);
export!(__cxa_guard_release, 1 => guard_release);
export!(__cxa_guard_abort, 1 => guard_abort);
