//! Switching between stacks, each with its own thread-local storage.

use core::arch::{asm, global_asm, naked_asm};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::syscall::syscall;

/// Whether the kernel lets programs execute `wrfsbase`. Written once, at the start.
static HAS_WRFSBASE: AtomicBool = AtomicBool::new(false);

/// Finds out what the processor can do. Called once, before the first switch.
pub fn prepare_processor() {
    const FSGSBASE: u64 = 2;
    // SAFETY: getauxval only reads the auxiliary vector.
    let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    HAS_WRFSBASE.store(features & FSGSBASE != 0, Ordering::Relaxed);
}

/// Bytes that the runtime uses of a stack before it calls the program.
const USED: usize = 1024;

/// Clears the part of the stack below the caller's frame. What the runtime has left there would get
/// into variables without a value and into gaps between members, and states would differ in it.
#[inline(always)]
pub fn clear_below() {
    // SAFETY: nothing below the stack pointer is in use, as the caller's frame has no part there:
    // it calls functions.
    unsafe {
        core::arch::asm!(
            "lea rdi, [rsp - {used}]",
            "rep stosq",
            used = const USED,
            inout("rcx") USED / 8 => _,
            inout("rax") 0 => _,
            out("rdi") _,
            options(nostack),
        );
    }
}

/// Control and status words of the floating point units.
pub fn float_state() -> u64 {
    let (mut vector, mut control, mut status) = (0u32, 0u16, 0u16);
    // SAFETY: the instructions store into the locals.
    unsafe {
        asm!("stmxcsr [{}]", "fnstcw [{}]", "fnstsw [{}]",
             in(reg) &raw mut vector, in(reg) &raw mut control, in(reg) &raw mut status, options(nostack));
    }
    u64::from(vector) | u64::from(control) << 32 | u64::from(status) << 48
}

/// Saves the callee-saved state on the present stack and the stack pointer in `*save`, then
/// continues from the stack pointer `to`. Sets the thread pointer unless `thread_pointer` is 0.
///
/// # Safety
/// `to` must be a stack pointer that this function or [`prepare`] produced and that has not been
/// continued from since.
#[unsafe(naked)]
unsafe extern "C" fn switch_stacks(save: *mut usize, to: usize, thread_pointer: u64) {
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
        "fnstsw word ptr [rsp + 6]",
        "mov qword ptr [rdi], rsp",
        "test rdx, rdx",
        "jz 2f",
        "wrfsbase rdx",
        "2: mov eax, dword ptr [rsp]",
        "movzx ecx, word ptr [rsp + 4]",
        // The exceptions, which are in the low byte of the status word.
        "movzx r8d, byte ptr [rsp + 6]",
        "mov rsp, rsi",
        // Loading the floating-point control words costs more than all the rest of a switch, and
        // programs rarely change them.
        "cmp eax, dword ptr [rsp]",
        "jne 3f",
        "cmp cx, word ptr [rsp + 4]",
        "jne 3f",
        "cmp r8b, byte ptr [rsp + 6]",
        "je 4f",
        "3: ldmxcsr dword ptr [rsp]",
        "fldcw word ptr [rsp + 4]",
        "cmp r8b, byte ptr [rsp + 6]",
        "je 4f",
        // The status word can be loaded only with the whole environment, in which it is the second
        // of seven words.
        "mov al, byte ptr [rsp + 6]",
        "fnstenv [rsp - 32]",
        "mov byte ptr [rsp - 28], al",
        "fldenv [rsp - 32]",
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

global_asm!(
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
    // SAFETY: the caller owns this memory. The layout is the one that `switch_stacks` pops: float
    // control, r15..r12, rbx, rbp, return address.
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

/// MXCSR, the x87 control word and the x87 status word as they are now.
fn float_control() -> usize {
    let mut value: u64 = 0;
    // SAFETY: the instructions store into the local.
    unsafe {
        asm!(
            "stmxcsr dword ptr [{0}]",
            "fnstcw word ptr [{0} + 4]",
            "fnstsw word ptr [{0} + 6]",
            in(reg) &raw mut value,
            options(nostack)
        );
    }
    value as usize
}

/// Switches stacks and thread-local storage.
///
/// # Safety
/// `to` must be a stack pointer that this function or [`prepare`] produced and that has not been
/// continued from since; `thread_pointer` must be the one that belongs to that stack.
#[inline]
pub unsafe fn switch(save: *mut usize, to: usize, thread_pointer: u64) {
    if HAS_WRFSBASE.load(Ordering::Relaxed) {
        // SAFETY: the caller's promise.
        unsafe { switch_stacks(save, to, thread_pointer) };
    } else {
        const ARCH_SET_FS: usize = 0x1002;
        // SAFETY: sets the thread pointer for code that runs after the switch; the runtime itself
        // uses no thread-local storage.
        unsafe { syscall!(libc::SYS_arch_prctl, ARCH_SET_FS, thread_pointer) };
        // SAFETY: the caller's promise.
        unsafe { switch_stacks(save, to, 0) };
    }
}

/// Sets the thread pointer of the code that runs now.
///
/// # Safety
/// It must be that of a thread of this process.
pub unsafe fn set_thread_pointer(thread_pointer: u64) {
    if HAS_WRFSBASE.load(Ordering::Relaxed) {
        // SAFETY: the caller's promise; the instruction is known to be allowed.
        unsafe { asm!("wrfsbase {}", in(reg) thread_pointer, options(nostack)) };
    } else {
        const ARCH_SET_FS: usize = 0x1002;
        // SAFETY: the caller's promise.
        unsafe { syscall!(libc::SYS_arch_prctl, ARCH_SET_FS, thread_pointer) };
    }
}
