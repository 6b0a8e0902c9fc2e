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
    ".type raddle_signal_return,@function",
    // The unwinder knows a signal frame by exactly these instructions.
    "raddle_signal_return:",
    "mov rax, 15",
    "syscall",
);

// Calls the program's handler, which is in rax, with its three arguments; then the context is told
// that it has returned.
global_asm!(
    ".text",
    ".hidden raddle_call_handler",
    ".globl raddle_call_handler",
    ".type raddle_call_handler,@function",
    "raddle_call_handler:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rdx",
    "sub rsp, 8",
    "call rax",
    "mov rdi, [rbp - 8]",
    "call {returned}",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    returned = sym crate::interpose::process::handlers::returned,
);

// Lets other threads run before the interrupted code goes on.
global_asm!(
    ".text",
    ".hidden raddle_call_interrupted",
    ".globl raddle_call_interrupted",
    ".type raddle_call_interrupted,@function",
    "raddle_call_interrupted:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "and rsp, -16",
    "call {interrupted}",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    interrupted = sym crate::sched::preemption::interrupted,
);

// Lets the runtime make the instruction that the thread is before, whose context is in rdi.
global_asm!(
    ".text",
    ".hidden raddle_call_site",
    ".globl raddle_call_site",
    ".type raddle_call_site,@function",
    "raddle_call_site:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "and rsp, -16",
    "call {perform}",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    perform = sym crate::observed::sites::perform,
);

unsafe extern "C" {
    fn raddle_call_site();
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
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64
}

/// Stack pointer of the code that the signal interrupted.
pub fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

/// The bytes that the kernel put on the stack for a handler: a return address, the context, the
/// description of the signal, and above them the floating-point state.
///
/// # Safety
/// The pointers must be those that the kernel passed to a handler.
pub unsafe fn frame(info: *const libc::siginfo_t, context: *const libc::ucontext_t) -> core::ops::Range<usize> {
    /// Size of the floating-point state without extensions, which has room for a description of
    /// them at its end.
    const PLAIN: usize = 512;
    const DESCRIPTION: usize = 464;
    const EXTENDED: u32 = 0x4650_5853;
    let start = context as usize - size_of::<usize>();
    // SAFETY: the caller's promise.
    let state = unsafe { (*context).uc_mcontext.fpregs } as usize;
    if state == 0 {
        return start..info as usize + size_of::<libc::siginfo_t>();
    }
    // SAFETY: the state has this size at least.
    let [magic, size] = unsafe { *((state + DESCRIPTION) as *const [u32; 2]) };
    start..state + if magic == EXTENDED { size as usize } else { PLAIN }
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
    // The floating-point state is aligned to 64 bytes.
    let lowest = top - frame.len();
    let to = lowest - (lowest.wrapping_sub(frame.start) & 63);
    let moved = |address: usize| address.wrapping_sub(frame.start).wrapping_add(to);
    // SAFETY: the frame is readable; the caller answers for its new place.
    unsafe {
        core::ptr::copy_nonoverlapping(frame.start as *const u8, to as *mut u8, frame.len());
        let copy = moved(context as usize) as *mut libc::ucontext_t;
        let state = (*context).uc_mcontext.fpregs as usize;
        if state != 0 {
            (*copy).uc_mcontext.fpregs = moved(state) as *mut _;
        }
        let registers = &mut (*context).uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = raddle_call_handler as *const () as i64;
        registers[libc::REG_RSP as usize] = to as i64;
        registers[libc::REG_RDI as usize] = i64::from(number);
        registers[libc::REG_RSI as usize] = moved(info as usize) as i64;
        registers[libc::REG_RDX as usize] = copy as i64;
        registers[libc::REG_RAX as usize] = handler as i64;
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
        (*context).uc_mcontext.gregs[libc::REG_RIP as usize] = raddle_call_interrupted as *const () as i64;
    }
}

/// Lets the interrupted thread call [`perform`] on its own stack, with its context. Then it goes on
/// with what the context says.
///
/// # Safety
/// As [`call_before_going_on`].
///
/// [`perform`]: crate::observed::sites::perform
pub unsafe fn call_site(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let top = stack_pointer(&*context) - super::RED_ZONE;
        move_frame(frame(info, context), top, 0, 0, info, context);
        let registers = &mut (*context).uc_mcontext.gregs;
        registers[libc::REG_RDI as usize] = registers[libc::REG_RDX as usize];
        registers[libc::REG_RIP as usize] = raddle_call_site as *const () as i64;
    }
}

/// Where the floating-point state is, without what describes it.
///
/// # Safety
/// The context must be one that the kernel has filled.
pub unsafe fn float_bytes(context: &libc::ucontext_t) -> core::ops::Range<usize> {
    const PLAIN: usize = 416;
    let state = context.uc_mcontext.fpregs as usize;
    if state == 0 { 0..0 } else { state..state + PLAIN }
}

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
    unsafe { (*context).uc_mcontext.gregs[libc::REG_RDX as usize] as usize }
}

/// Behind [`move_frame`]: the kernel blocks `now` in the program's handler, whose context says
/// `before`.
///
/// # Safety
/// The context must be the one that was passed to [`move_frame`].
pub unsafe fn set_blocked(context: *mut libc::ucontext_t, before: u64, now: u64) {
    // SAFETY: the caller's promise: the third argument of the handler is the context's copy.
    unsafe {
        set_kept((*context).uc_mcontext.gregs[libc::REG_RDX as usize] as *mut libc::ucontext_t, before);
        set_kept(context, now);
    }
}

/// Bytes of the instruction that makes a system call.
const SYSTEM_CALL_BYTES: i64 = 2;

/// Number of the system call that the kernel reported instead of making it.
pub fn system_call(context: &libc::ucontext_t) -> i64 {
    context.uc_mcontext.gregs[libc::REG_RAX as usize]
}

/// Lets the reported system call return this.
pub fn answer_system_call(context: &mut libc::ucontext_t, result: isize) {
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result as i64;
}

/// Lets the program make the reported system call once more.
pub fn repeat_system_call(context: &mut libc::ucontext_t) {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] -= SYSTEM_CALL_BYTES;
}

/// Lets the program call [`reported_call`] where it would have made the reported system call.
///
/// # Safety
/// The context must be that of the handler that runs; the interrupted stack can be written.
pub unsafe fn call_instead(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let top = registers[libc::REG_RSP as usize] as usize - super::RED_ZONE - size_of::<u64>();
    // SAFETY: the caller's promise.
    unsafe { *(top as *mut i64) = registers[libc::REG_RIP as usize] };
    registers[libc::REG_RSP as usize] = top as i64;
    registers[libc::REG_RIP as usize] = reported_call as *const () as i64;
}

/// A system call as an ordinary call: number and operands are in the registers that the kernel
/// expects. All registers but those of a system call are kept. The return address is behind the
/// red zone of the caller, which `ret` skips.
#[unsafe(naked)]
unsafe extern "C" fn reported_call() {
    core::arch::naked_asm!(
        "push rbx",
        "mov rbx, rsp",
        "sub rsp, 304",
        "and rsp, -16",
        "movaps [rsp + 48], xmm0",
        "movaps [rsp + 64], xmm1",
        "movaps [rsp + 80], xmm2",
        "movaps [rsp + 96], xmm3",
        "movaps [rsp + 112], xmm4",
        "movaps [rsp + 128], xmm5",
        "movaps [rsp + 144], xmm6",
        "movaps [rsp + 160], xmm7",
        "movaps [rsp + 176], xmm8",
        "movaps [rsp + 192], xmm9",
        "movaps [rsp + 208], xmm10",
        "movaps [rsp + 224], xmm11",
        "movaps [rsp + 240], xmm12",
        "movaps [rsp + 256], xmm13",
        "movaps [rsp + 272], xmm14",
        "movaps [rsp + 288], xmm15",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], r10",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov rdi, rax",
        "mov rsi, rsp",
        "call {perform}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov r10, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "movaps xmm0, [rsp + 48]",
        "movaps xmm1, [rsp + 64]",
        "movaps xmm2, [rsp + 80]",
        "movaps xmm3, [rsp + 96]",
        "movaps xmm4, [rsp + 112]",
        "movaps xmm5, [rsp + 128]",
        "movaps xmm6, [rsp + 144]",
        "movaps xmm7, [rsp + 160]",
        "movaps xmm8, [rsp + 176]",
        "movaps xmm9, [rsp + 192]",
        "movaps xmm10, [rsp + 208]",
        "movaps xmm11, [rsp + 224]",
        "movaps xmm12, [rsp + 240]",
        "movaps xmm13, [rsp + 256]",
        "movaps xmm14, [rsp + 272]",
        "movaps xmm15, [rsp + 288]",
        "mov rsp, rbx",
        "pop rbx",
        "ret {red_zone}",
        perform = sym crate::interpose::io::traversal::perform,
        red_zone = const super::RED_ZONE,
    )
}

/// The stack pointer with which a jump to this `jmp_buf` goes on. The C library keeps it in
/// disguise.
pub fn jump_target(buffer: usize) -> usize {
    const STACK_POINTER: usize = 48;
    let secret: usize;
    // SAFETY: the C library keeps the word there in every thread.
    unsafe { core::arch::asm!("mov {}, qword ptr fs:[0x30]", out(reg) secret, options(nostack, readonly)) };
    // SAFETY: the program passes a buffer that the C library has filled.
    let disguised = unsafe { *((buffer + STACK_POINTER) as *const usize) };
    disguised.rotate_right(0x11) ^ secret
}
