//! Signals that mean a crash, and those that the runtime causes itself: write faults of the
//! snapshot, system calls under observation, and readings of the processor's counter.

use raddle_vocab::Failure;

use crate::arch::entry::{registers, return_address};
use crate::arch::signal::{self, KernelAction};
use crate::interpose::io::traversal;
use crate::interpose::process::failure::stop_thread;
use crate::interpose::process::{counter, handlers, signal_masks};
use crate::observed;
use crate::sched::{preemption, startup};
use crate::spinloop::observation;
use crate::state::{controlled, process, run};
use crate::syscall::syscall;

/// Signals that mean a crash.
pub const CRASHES: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Installs the handler for crashes and for the write faults of the snapshot.
pub fn install_handlers() {
    let action = KernelAction {
        handler: handler(),
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64 | signal::SA_RESTORER,
        restorer: signal::return_from_handler(),
        mask: 0,
    };
    for signal in CRASHES {
        // SAFETY: the structure is the kernel's; the handler follows its convention.
        unsafe { syscall!(libc::SYS_rt_sigaction, signal, &raw const action, 0usize, 8usize) };
    }
}

/// Address of the runtime's handler.
pub fn handler() -> usize {
    on_signal as *const () as usize
}

/// Gives signal handlers a stack that the snapshot never protects.
pub fn use_signal_stack(stack: *mut u8, bytes: usize) {
    let stack = libc::stack_t { ss_sp: stack.cast(), ss_flags: 0, ss_size: bytes };
    // SAFETY: the memory was mapped for this and stays mapped.
    unsafe { syscall!(libc::SYS_sigaltstack, &raw const stack, 0usize) };
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel passes valid pointers.
    let (address, code, pc) =
        unsafe { ((*info).si_addr() as usize, (*info).si_code, signal::program_counter(&*context)) };
    // SAFETY: the kernel passes valid pointers.
    if unsafe { preemption::is_request(signal, info) } {
        // SAFETY: as above.
        return unsafe { preemption::on_request(info, context) };
    }
    // SAFETY: the kernel passes valid pointers.
    if unsafe { observed::is_request(signal, info) } {
        // SAFETY: as above.
        return unsafe { observed::on_request(info, context) };
    }
    // SAFETY: the kernel passes valid pointers.
    if unsafe { observed::sites::on_trap(signal, info, context) } {
        return;
    }
    const PROTECTION: i32 = 2;
    if signal == libc::SIGSEGV && code == PROTECTION {
        if controlled() && process().snapshot.is_exhausted_by(address) {
            crate::restore::undo::needs_own_process();
        }
        if process().snapshot.fault(address) {
            return;
        }
    }
    // SAFETY: the kernel passes a valid pointer.
    if signal == libc::SIGSEGV && counter::answers(code, unsafe { &mut *context }) {
        return;
    }
    if signal == libc::SIGSYS && code == observation::SYS_USER_DISPATCH && observation::is_active() {
        // SAFETY: the kernel passes a valid pointer.
        observation::on_system_call(unsafe { &mut *context });
        return;
    }
    // SAFETY: the kernel passes a valid pointer.
    if signal == libc::SIGSYS && code == observation::SYS_USER_DISPATCH && traversal::reported(unsafe { &mut *context })
    {
        return;
    }
    let is_crash = CRASHES.contains(&signal);
    if is_crash && code <= 0 && signal_masks::keep_pending(signal) {
        return;
    }
    // A fault does not wait: where its signal is blocked, as in its own handler, it is deadly.
    let is_deadly = is_crash && code > 0 && controlled() && signal_masks::blocks(usize::from(run().hot.tid), signal);
    let program = if is_deadly { KernelAction::DEFAULT } else { run().handlers[signal as usize] };
    if program.handler > libc::SIG_IGN && (controlled() || !is_crash) && !handlers::fails_to_relay() {
        // SAFETY: the kernel passed the pointers.
        return unsafe { handlers::relay(program, signal, info, context) };
    }
    if !is_crash || code <= 0 && program.handler == libc::SIG_IGN {
        return;
    }
    if controlled() {
        if signal == libc::SIGILL && code > 0 {
            observed::meets_unknown_instruction(pc);
        }
        // SAFETY: the kernel passes a valid pointer.
        let sp = unsafe { signal::stack_pointer(&*context) };
        trace_crash(signal, address as u64, place_of(pc, sp));
    }
    crash_for_real(signal);
}

/// The place of a fault, as a return address. One in the runtime is that of the call by which the
/// program has got there: it has passed an address that cannot be used.
fn place_of(pc: u64, sp: usize) -> u64 {
    if !startup::is_runtime_code(pc) {
        // Elsewhere the pc of a record is a return address; a fault is at the instruction itself.
        return pc + 1;
    }
    if let Some(next) = observed::sites::current() {
        return next;
    }
    let entered = registers().sp as usize;
    let (_, high) = run().hot.stack;
    // Behind an operation, other threads may have entered the runtime since.
    if (sp..high).contains(&entered) { return_address() } else { run().me().pending.pc }
}

fn trace_crash(signal: i32, address: u64, pc: u64) -> ! {
    let number = [b'0' + (signal / 10) as u8, b'0' + (signal % 10) as u8];
    stop_thread(Failure::Signal, address, pc, &number)
}

/// Dies of the signal as the program would have without raddle.
fn crash_for_real(signal: i32) {
    let default = KernelAction::DEFAULT;
    // SAFETY: restores the default action; the faulting instruction is executed again on return.
    unsafe { syscall!(libc::SYS_rt_sigaction, signal, &raw const default, 0usize, 8usize) };
}
