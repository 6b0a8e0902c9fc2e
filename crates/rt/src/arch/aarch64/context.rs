//! Switching between stacks, each with its own thread-local storage.

use core::arch::{asm, global_asm, naked_asm};

/// Nothing has to be found out: programs may always set the thread pointer.
pub fn prepare_processor() {}

/// Bytes that the runtime uses of a stack before it calls the program.
const USED: usize = 2048;

/// Clears the part of the stack below the caller's frame. What the runtime has left there would get
/// into variables without a value and into gaps between members, and states would differ in it.
#[inline(always)]
pub fn clear_below() {
    // SAFETY: nothing below the stack pointer is in use, as the caller's frame has no part there:
    // it calls functions.
    unsafe {
        asm!(
            "mov {at}, sp",
            "sub {end}, {at}, #{used}",
            "2: stp xzr, xzr, [{at}, #-16]!",
            "cmp {at}, {end}",
            "b.hi 2b",
            at = out(reg) _,
            end = out(reg) _,
            used = const USED,
            options(nostack),
        );
    }
}

/// Control and status words of the floating point unit.
pub fn float_state() -> u64 {
    let (control, status): (u64, u64);
    // SAFETY: the instructions read registers.
    unsafe { asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) status, options(nostack, nomem)) };
    control | status << 32
}

/// Bytes that a switch stores on a stack.
const STORED: usize = 176;

/// Saves the callee-saved state on the present stack and the stack pointer in `*save`, then
/// continues from the stack pointer `to` with another thread pointer.
///
/// # Safety
/// `to` must be a stack pointer that this function or [`prepare`] produced and that has not been
/// continued from since.
#[unsafe(naked)]
unsafe extern "C" fn switch_stacks(save: *mut usize, to: usize, thread_pointer: u64) {
    naked_asm!(
        "sub sp, sp, #{stored}",
        "stp x29, x30, [sp]",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mrs x9, fpcr",
        "mrs x10, fpsr",
        "stp x9, x10, [sp, #160]",
        "mov x11, sp",
        "str x11, [x0]",
        "msr tpidr_el0, x2",
        "mov sp, x1",
        // Programs rarely change the control word, and setting it costs much.
        "ldp x12, x13, [sp, #160]",
        "cmp x9, x12",
        "b.eq 2f",
        "msr fpcr, x12",
        "2: cmp x10, x13",
        "b.eq 3f",
        "msr fpsr, x13",
        "3: ldp x29, x30, [sp]",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #{stored}",
        "ret",
        stored = const STORED,
    )
}

global_asm!(
    ".text",
    ".hidden raddle_fiber_base",
    ".globl raddle_fiber_base",
    ".type raddle_fiber_base,%function",
    "raddle_fiber_base:",
    ".cfi_startproc",
    // The unwinder must stop here: there is no caller.
    ".cfi_undefined x30",
    "mov x29, #0",
    "mov x30, #0",
    "blr x19",
    "brk #1",
    ".cfi_endproc",
);

unsafe extern "C" {
    fn raddle_fiber_base();
}

/// Lays out a new stack below `top` so that the first switch to the returned pointer calls `body`.
///
/// # Safety
/// The 208 bytes below `top` must be writable and unused.
pub unsafe fn prepare(top: usize, body: extern "C" fn() -> !) -> usize {
    const LINK: usize = 1;
    const X19: usize = 2;
    const CONTROL: usize = 20;
    let words = ((top & !15) - STORED - 16) as *mut u64;
    let float = float_state();
    // SAFETY: the caller owns this memory. The layout is the one that `switch_stacks` loads.
    unsafe {
        for index in 0..(STORED + 16) / size_of::<u64>() {
            words.add(index).write(0);
        }
        words.add(LINK).write(raddle_fiber_base as *const () as u64);
        words.add(X19).write(body as usize as u64);
        words.add(CONTROL).write(float & 0xffff_ffff);
        words.add(CONTROL + 1).write(float >> 32);
    }
    words as usize
}

/// Switches stacks and thread-local storage.
///
/// # Safety
/// `to` must be a stack pointer that this function or [`prepare`] produced and that has not been
/// continued from since; `thread_pointer` must be the one that belongs to that stack.
#[inline]
pub unsafe fn switch(save: *mut usize, to: usize, thread_pointer: u64) {
    // SAFETY: the caller's promise.
    unsafe { switch_stacks(save, to, thread_pointer) };
}

/// Sets the thread pointer of the code that runs now.
///
/// # Safety
/// It must be that of a thread of this process.
pub unsafe fn set_thread_pointer(thread_pointer: u64) {
    // SAFETY: the caller's promise.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) thread_pointer, options(nostack)) };
}
