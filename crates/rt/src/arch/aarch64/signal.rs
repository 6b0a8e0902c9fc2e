//! Signals as the kernel delivers them: its structures and the registers of the interrupted code.

use core::arch::global_asm;

/// A signal action as the kernel knows it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelAction {
    /// Function or SIG_DFL, SIG_IGN.
    pub handler: usize,
    /// SA_*
    pub flags: u64,
    /// Code that returns from the handler.
    pub restorer: usize,
    /// Signals blocked meanwhile.
    pub mask: u64,
}

impl KernelAction {
    /// The default action.
    pub const DEFAULT: KernelAction = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
}

/// Says that [`KernelAction::restorer`] is set.
pub const SA_RESTORER: u64 = 0x0400_0000;

global_asm!(
    ".text",
    ".hidden raddle_signal_return",
    ".globl raddle_signal_return",
    ".type raddle_signal_return,%function",
    // The unwinder looks for a function that contains the instruction before a return address.
    "nop",
    // It knows a signal frame by exactly these instructions.
    "raddle_signal_return:",
    "mov x8, #139",
    "svc #0",
);

// Calls the program's handler, which is in x16, with its three arguments; then the context is told
// that it has returned. The link register leads to `raddle_signal_return`.
global_asm!(
    ".text",
    ".hidden raddle_call_handler",
    ".globl raddle_call_handler",
    ".type raddle_call_handler,%function",
    "raddle_call_handler:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    "str x2, [sp, #16]",
    "blr x16",
    "ldr x0, [sp, #16]",
    "bl {returned}",
    "ldp x29, x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    returned = sym crate::interpose::process::handlers::returned,
);

// Lets other threads run before the interrupted code goes on.
global_asm!(
    ".text",
    ".hidden raddle_call_interrupted",
    ".globl raddle_call_interrupted",
    ".type raddle_call_interrupted,%function",
    "raddle_call_interrupted:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    "bl {interrupted}",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    interrupted = sym crate::sched::preemption::interrupted,
);

unsafe extern "C" {
    fn raddle_signal_return();
    fn raddle_call_handler();
    fn raddle_call_interrupted();
}

/// Address of the code that returns from a handler, for [`KernelAction::restorer`].
pub fn return_from_handler() -> usize {
    raddle_signal_return as *const () as usize
}

/// Address of the instruction that the signal interrupted.
pub fn program_counter(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.pc
}

/// Stack pointer of the code that the signal interrupted.
pub fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.sp as usize
}

/// Head of a record behind the registers of a context.
#[repr(C)]
#[derive(Clone, Copy)]
struct RecordHead {
    magic: u32,
    size: u32,
}

/// Says where records lie for which the context has no room.
#[repr(C)]
struct ExtraRecords {
    head: RecordHead,
    at: u64,
    size: u32,
}

const EXTRA: u32 = 0x4558_5401;

/// Where the records of a context begin, and where its room for them ends.
fn records(context: *const libc::ucontext_t) -> (usize, usize) {
    /// Bytes of the registers: the address of a fault, 31 registers, stack pointer, program counter
    /// and flags, aligned to 16.
    const REGISTERS: usize = 288;
    const ROOM: usize = 4096;
    // SAFETY: only computes an address.
    let start = unsafe { &raw const (*context).uc_mcontext } as usize + REGISTERS;
    (start, start + ROOM)
}

/// The record about further ones, if there is one.
///
/// # Safety
/// The pointer must be the one that the kernel passed to a handler.
unsafe fn extra_records(context: *const libc::ucontext_t) -> Option<*mut ExtraRecords> {
    let (mut at, end) = records(context);
    while at + size_of::<ExtraRecords>() <= end {
        // SAFETY: the caller's promise: a record lies here, or the end of the list.
        let head = unsafe { *(at as *const RecordHead) };
        match (head.magic, head.size as usize) {
            (EXTRA, _) => return Some(at as *mut ExtraRecords),
            (0, _) | (_, 0) => return None,
            (_, size) => at += size,
        }
    }
    None
}

/// The bytes that the kernel put on the stack for a handler: the description of the signal, the
/// context, and above them records for which it has no room.
///
/// # Safety
/// The pointers must be those that the kernel passed to a handler.
pub unsafe fn frame(info: *const libc::siginfo_t, context: *const libc::ucontext_t) -> core::ops::Range<usize> {
    let (_, end) = records(context);
    // SAFETY: the caller's promise.
    let extra = unsafe { extra_records(context) };
    // SAFETY: as above.
    let further = extra.map_or(0, |extra| unsafe { (*extra).at as usize + (*extra).size as usize });
    info as usize..end.max(further).next_multiple_of(16)
}

/// Copies the frame of a handler to below `top`, and makes the return from this handler a call of
/// `handler` there. It then returns to the interrupted code.
///
/// # Safety
/// The frame must be that of the handler that runs, the pointers those passed to it.
pub unsafe fn move_frame(
    frame: core::ops::Range<usize>,
    top: usize,
    handler: usize,
    number: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let to = (top - frame.len()) & !15;
    let moved = |address: usize| address.wrapping_sub(frame.start).wrapping_add(to);
    // SAFETY: the frame is readable; the caller answers for its new place.
    unsafe {
        core::ptr::copy_nonoverlapping(frame.start as *const u8, to as *mut u8, frame.len());
        let copy = moved(context as usize) as *mut libc::ucontext_t;
        if let Some(extra) = extra_records(copy) {
            (*extra).at = moved((*extra).at as usize) as u64;
        }
        let registers = &mut (*context).uc_mcontext;
        registers.pc = raddle_call_handler as *const () as u64;
        registers.sp = to as u64;
        registers.regs[0] = u64::from(number.cast_unsigned());
        registers.regs[1] = moved(info as usize) as u64;
        registers.regs[2] = copy as u64;
        registers.regs[16] = handler as u64;
        registers.regs[30] = return_from_handler() as u64;
    }
}

/// Lets the interrupted thread call [`interrupted`] on its own stack before it goes on. All its
/// registers are restored behind that from the frame of the signal.
///
/// # Safety
/// The pointers must be those passed to the handler that runs; the thread is on its own stack.
///
/// [`interrupted`]: crate::sched::preemption::interrupted
pub unsafe fn call_before_going_on(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let top = stack_pointer(&*context) - super::RED_ZONE;
        move_frame(frame(info, context), top, 0, 0, info, context);
        (*context).uc_mcontext.pc = raddle_call_interrupted as *const () as u64;
    }
}

/// No instruction of a program for this processor is made by the runtime.
///
/// # Safety
/// None.
pub unsafe fn call_site(_info: *mut libc::siginfo_t, _context: *mut libc::ucontext_t) {}

/// The first word of the set that the kernel blocks when it goes on with the context.
///
/// # Safety
/// The context must be one.
unsafe fn set_of(context: *mut libc::ucontext_t) -> *mut u64 {
    // SAFETY: the caller passes a context, of which the set is a part.
    unsafe { (&raw mut (*context).uc_sigmask).cast() }
}

/// What is blocked when the handler that was given this context returns.
///
/// # Safety
/// The context must be one.
pub unsafe fn blocked(context: *mut libc::ucontext_t) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { *set_of(context) }
}

/// Sets what is blocked when the handler that was given this context returns.
///
/// # Safety
/// The context must be one.
pub unsafe fn set_kept(context: *mut libc::ucontext_t, blocked: u64) {
    // SAFETY: the caller's promise.
    unsafe { *set_of(context) = blocked };
}

/// Behind [`move_frame`]: address of the context that the program's handler is given.
///
/// # Safety
/// The context must be the one that was passed to [`move_frame`].
pub unsafe fn moved_context(context: *const libc::ucontext_t) -> usize {
    // SAFETY: the caller's promise: the third argument of the handler is the context's copy.
    unsafe { (*context).uc_mcontext.regs[2] as usize }
}

/// Behind [`move_frame`]: the kernel blocks `now` in the program's handler, whose context says
/// `before`.
///
/// # Safety
/// The context must be the one that was passed to [`move_frame`].
pub unsafe fn set_blocked(context: *mut libc::ucontext_t, before: u64, now: u64) {
    // SAFETY: the caller's promise: the third argument of the handler is the context's copy.
    unsafe {
        set_kept(moved_context(context) as *mut libc::ucontext_t, before);
        set_kept(context, now);
    }
}

/// Bytes of an instruction.
const INSTRUCTION: u64 = 4;
/// The register with the number of a system call.
const NUMBER: usize = 8;

/// Number of the system call that the kernel reported instead of making it.
pub fn system_call(context: &libc::ucontext_t) -> i64 {
    context.uc_mcontext.regs[NUMBER].cast_signed()
}

/// Lets the reported system call return this.
pub fn answer_system_call(context: &mut libc::ucontext_t, result: isize) {
    context.uc_mcontext.regs[0] = (result as i64).cast_unsigned();
}

/// Lets the program make the reported system call once more.
pub fn repeat_system_call(context: &mut libc::ucontext_t) {
    context.uc_mcontext.pc -= INSTRUCTION;
}

/// Lets the program call [`reported_call`] where it would have made the reported system call.
///
/// # Safety
/// The context must be that of the handler that runs; the interrupted stack can be written.
pub unsafe fn call_instead(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext;
    let top = registers.sp - 16;
    // SAFETY: the caller's promise.
    unsafe { *(top as *mut [u64; 2]) = [registers.pc, registers.regs[30]] };
    registers.sp = top;
    registers.pc = reported_call as *const () as u64;
}

/// A system call as an ordinary call: number and operands are in the registers that the kernel
/// expects. All registers but the result are kept, but for x17, which calls by way of a linkage
/// table may change anywhere. Where to go on, and the link register, are on the stack.
#[unsafe(naked)]
unsafe extern "C" fn reported_call() {
    core::arch::naked_asm!(
        "sub sp, sp, #672",
        "stp x0, x1, [sp]",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "stp x6, x7, [sp, #48]",
        "stp x8, x9, [sp, #64]",
        "stp x10, x11, [sp, #80]",
        "stp x12, x13, [sp, #96]",
        "stp x14, x15, [sp, #112]",
        "stp x16, x18, [sp, #128]",
        "stp q0, q1, [sp, #144]",
        "stp q2, q3, [sp, #176]",
        "stp q4, q5, [sp, #208]",
        "stp q6, q7, [sp, #240]",
        "stp q8, q9, [sp, #272]",
        "stp q10, q11, [sp, #304]",
        "stp q12, q13, [sp, #336]",
        "stp q14, q15, [sp, #368]",
        "stp q16, q17, [sp, #400]",
        "stp q18, q19, [sp, #432]",
        "stp q20, q21, [sp, #464]",
        "stp q22, q23, [sp, #496]",
        "stp q24, q25, [sp, #528]",
        "stp q26, q27, [sp, #560]",
        "stp q28, q29, [sp, #592]",
        "stp q30, q31, [sp, #624]",
        "mrs x9, nzcv",
        "str x9, [sp, #656]",
        "mov x0, x8",
        "mov x1, sp",
        "bl {perform}",
        "ldr x9, [sp, #656]",
        "msr nzcv, x9",
        "ldp q0, q1, [sp, #144]",
        "ldp q2, q3, [sp, #176]",
        "ldp q4, q5, [sp, #208]",
        "ldp q6, q7, [sp, #240]",
        "ldp q8, q9, [sp, #272]",
        "ldp q10, q11, [sp, #304]",
        "ldp q12, q13, [sp, #336]",
        "ldp q14, q15, [sp, #368]",
        "ldp q16, q17, [sp, #400]",
        "ldp q18, q19, [sp, #432]",
        "ldp q20, q21, [sp, #464]",
        "ldp q22, q23, [sp, #496]",
        "ldp q24, q25, [sp, #528]",
        "ldp q26, q27, [sp, #560]",
        "ldp q28, q29, [sp, #592]",
        "ldp q30, q31, [sp, #624]",
        "ldr x1, [sp, #8]",
        "ldp x2, x3, [sp, #16]",
        "ldp x4, x5, [sp, #32]",
        "ldp x6, x7, [sp, #48]",
        "ldp x8, x9, [sp, #64]",
        "ldp x10, x11, [sp, #80]",
        "ldp x12, x13, [sp, #96]",
        "ldp x14, x15, [sp, #112]",
        "ldp x16, x18, [sp, #128]",
        "add sp, sp, #672",
        "ldp x17, x30, [sp], #16",
        "br x17",
        perform = sym crate::interpose::io::traversal::perform,
    )
}

/// The stack pointer with which a jump to this `jmp_buf` goes on. The C library keeps it in
/// disguise.
pub fn jump_target(buffer: usize) -> usize {
    const STACK_POINTER: usize = 104;
    // SAFETY: the program passes a buffer that the C library has filled.
    let disguised = unsafe { *((buffer + STACK_POINTER) as *const u64) };
    super::tls::unmixed(disguised, super::tls::guards()[1]) as usize
}
