//! What a program can tell a checker: the annotations of ThreadSanitizer and Valgrind's DRD, and
//! the functions of the Software Verification Competition. Without raddle they do nothing.

pub mod benign;
pub mod locks;
pub mod open_values;
pub mod section;

use core::ffi::c_char;

use raddle_vocab::{Failure, MemOrder, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::process::failure::stop_thread;
use crate::sched;
use crate::state::{AnnouncedOp, controlled, run};

/// Keeps the order that an annotation makes apart from accesses to the address that it names.
const ANNOTATED: u64 = 1 << 62;

/// Whether an operand stands for an announced order.
pub fn is_announced(object: u64) -> bool {
    object & ANNOTATED != 0
}

fn ordering(kind: OpKind, order: MemOrder, address: u64, pc: u64) {
    if controlled() {
        let op = AnnouncedOp { order: order as u8, log_size: 3, ..AnnouncedOp::new(kind, ANNOTATED | address, 0, pc) };
        sched::perform(op, Outcome::Done, 0, 0);
    }
}

/// What the thread did so far happens before later acquisitions of the address.
pub extern "C" fn release(address: u64, pc: u64) {
    ordering(OpKind::AtomicRmw, MemOrder::Release, address, pc);
}

/// What was released at the address happens before what the thread does from now on.
pub extern "C" fn acquire(address: u64, pc: u64) {
    ordering(OpKind::AtomicLoad, MemOrder::Acquire, address, pc);
}

/// A release and an acquisition of the address in one: the last thread to do it has seen what all
/// did before.
pub fn exchange(address: u64, pc: u64) {
    ordering(OpKind::AtomicRmw, MemOrder::AcqRel, address, pc);
}

extern "C" fn happens_before(_file: *const c_char, _line: i32, address: u64, pc: u64) {
    release(address, pc);
}

extern "C" fn happens_after(_file: *const c_char, _line: i32, address: u64, pc: u64) {
    acquire(address, pc);
}

/// Only executions in which the condition holds are of interest.
extern "C" fn assume(condition: i32, pc: u64) {
    if controlled() && condition == 0 {
        stop_thread(Failure::Assume, 0, pc, b"");
    }
}

/// A condition that the program claims to hold.
extern "C" fn claim(condition: i32, pc: u64) {
    if condition == 0 {
        reached_error(pc);
    }
}

/// The program says that this place must not be reached.
extern "C" fn reached_error(pc: u64) {
    if controlled() {
        stop_thread(Failure::Assertion, 0, pc, b"reach_error");
    }
    crate::syscall::say("raddle: reach_error was called\n");
    crate::syscall::exit_process(134)
}

/// Data accesses of the running thread are not recorded until the matching end.
extern "C" fn ignore_begin() {
    if controlled() {
        run().me().ignoring += 1;
        run().hot.ignoring = true;
    }
}

extern "C" fn ignore_end() {
    if controlled() {
        let me = run().me();
        me.ignoring = me.ignoring.saturating_sub(1);
        run().hot.ignoring = me.ignoring > 0;
    }
}

export!(__tsan_acquire, 1 => acquire);
export!(__tsan_release, 1 => release);
export!(AnnotateHappensBefore, 3 => happens_before);
export!(AnnotateHappensAfter, 3 => happens_after);
export!(AnnotateIgnoreReadsBegin, 2 => ignore_begin);
export!(AnnotateIgnoreReadsEnd, 2 => ignore_end);
export!(AnnotateIgnoreWritesBegin, 2 => ignore_begin);
export!(AnnotateIgnoreWritesEnd, 2 => ignore_end);
export!(__VERIFIER_assume, 1 => assume);
export!(assume_abort_if_not, 1 => assume);
export!(__VERIFIER_assert, 1 => claim);
export!(__VERIFIER_error, 0 => reached_error);
export!(reach_error, 0 => reached_error);
