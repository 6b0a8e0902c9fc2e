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

unsafe extern "C" {
    fn raddle_signal_return();
}

/// Address of the code that returns from a handler, for [`KernelAction::restorer`].
pub fn return_from_handler() -> usize {
    raddle_signal_return as *const () as usize
}

/// Address of the instruction that the signal interrupted.
pub fn program_counter(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64
}
