//! Switching between stacks, with the thread-local storage that belongs to each.

use core::arch::{asm, naked_asm};

use crate::state::keep;
use crate::sys::syscall;

/// Saves the callee-saved state on the present stack, its pointer in `*save`, and goes on where `to` was saved; sets the base of
/// thread-local storage to `fs` unless that is 0.
///
/// # Safety
/// `to` must be a stack pointer that this function or [`prepare`] produced and that nobody has gone on from since.
#[unsafe(naked)]
pub unsafe extern "C" fn switch_stacks(save: *mut usize, to: usize, fs: u64) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr dword ptr [rsp]",
        "fnstcw word ptr [rsp + 4]",
        "mov qword ptr [rdi], rsp",
        "test rdx, rdx",
        "jz 2f",
        "wrfsbase rdx",
        "2: mov eax, dword ptr [rsp]",
        "movzx ecx, word ptr [rsp + 4]",
        "mov rsp, rsi",
        // Loading them costs more than all the rest, and hardly any thread changes them.
        "cmp eax, dword ptr [rsp]",
        "jne 3f",
        "cmp cx, word ptr [rsp + 4]",
        "je 4f",
        "3: ldmxcsr dword ptr [rsp]",
        "fldcw word ptr [rsp + 4]",
        "4: add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

core::arch::global_asm!(
    ".text",
    ".hidden raddle_fiber_base",
    ".globl raddle_fiber_base",
    ".type raddle_fiber_base,@function",
    "raddle_fiber_base:",
    ".cfi_startproc",
    // The unwinder must stop here: there is no caller.
    ".cfi_undefined rip",
    "xor ebp, ebp",
    "call rbx",
    "hlt",
    ".cfi_endproc",
);

core::arch::global_asm!(
    ".text",
    // The compiler refers to a personality although nothing here unwinds: exceptions of the program pass through
    // (8: _URC_CONTINUE_UNWIND).
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality,@function",
    "rust_eh_personality:",
    "mov eax, 8",
    "ret",
);

unsafe extern "C" {
    fn raddle_fiber_base();
}

/// Lays out a new stack below `top` so that the first switch to the returned pointer calls `body`.
///
/// # Safety
/// The 128 bytes below `top` must be writable and unused.
pub unsafe fn prepare(top: usize, body: extern "C" fn() -> !) -> usize {
    let words = ((top & !15) - 80) as *mut usize;
    let control = float_control();
    // SAFETY: the caller owns this memory. Layout as `switch_stacks` pops it: float control, r15..r12, rbx, rbp, return address.
    unsafe {
        words.write(control);
        for index in 1..5 {
            words.add(index).write(0);
        }
        words.add(5).write(body as usize);
        words.add(6).write(0);
        words.add(7).write(raddle_fiber_base as *const () as usize);
        words.add(8).write(0);
        words.add(9).write(0);
    }
    words as usize
}

/// MXCSR and the x87 control word as they are now.
fn float_control() -> usize {
    let mut value: u64 = 0;
    // SAFETY: both instructions store into the local.
    unsafe { asm!("stmxcsr dword ptr [{0}]", "fnstcw word ptr [{0} + 4]", in(reg) &raw mut value, options(nostack)) };
    value as usize
}

/// Switches stacks and thread-local storage.
///
/// # Safety
/// As [`switch_stacks`]; `fs` must be the base that belongs to the other stack.
#[inline]
pub unsafe fn switch(save: *mut usize, to: usize, fs: u64) {
    if keep().fsgsbase {
        // SAFETY: the caller's promise.
        unsafe { switch_stacks(save, to, fs) };
    } else {
        const ARCH_SET_FS: usize = 0x1002;
        // SAFETY: sets the base for code that runs after the switch; the runtime itself uses no thread-local storage.
        unsafe { syscall!(libc::SYS_arch_prctl, ARCH_SET_FS, fs) };
        // SAFETY: the caller's promise.
        unsafe { switch_stacks(save, to, 0) };
    }
}

/// The present base of thread-local storage, which glibc also stores in its first word.
pub fn storage_base() -> u64 {
    let base: u64;
    // SAFETY: on x86-64 Linux the first word of a thread's control block holds its own address.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, readonly)) };
    base
}
