//! Threads that fail, processes that end, and a runtime that cannot go on.

use core::ffi::{CStr, c_char, c_void};

use raddle_vocab::{Failure, OpKind, Outcome};

use crate::arch::entry::export;
use crate::arch::signal::{self, KernelAction};
use crate::interpose::process::{handlers, signal_masks};
use crate::spinloop::observation;
use crate::state::{AnnouncedOp, ThreadStatus, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{self, syscall};
use crate::{sched, trace};

real! { hidden:
    fn abort();
    fn exit(status: i32);
    fn quick_exit(status: i32);
    fn fflush(stream: *mut c_void) -> i32;
    fn __assert_fail(condition: *const c_char, file: *const c_char, line: u32, function: *const c_char);
}

/// The running thread has failed: records this and lets the other threads run.
pub fn stop_thread(kind: Failure, address: u64, pc: u64, text: &[u8]) -> ! {
    trace::failure(kind, address, pc, text);
    sched::leave(ThreadStatus::Failed)
}

/// Last handler of `exit`, as it was registered first: constructors, destructors and other handlers
/// are ordinary code.
pub extern "C" fn leave_process(status: i32, _argument: *mut c_void) {
    if controlled() {
        watch_exit();
        // SAFETY: flushes all streams, as the C library would do next.
        unsafe { hidden::fflush(core::ptr::null_mut()) };
        end_process(status, run().me().private.exit_pc);
    }
}

/// Last handler of `quick_exit`, which flushes nothing.
extern "C" fn leave_process_quickly() {
    if controlled() {
        let private = run().me().private;
        end_process(private.exit_status, private.exit_pc);
    }
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(i32, *mut c_void), argument: *mut c_void) -> i32;
    fn at_quick_exit(function: extern "C" fn()) -> i32;
}

/// Registers the handler that runs last when the process ends: called before the program can
/// register any. A handler is called once, so it is registered again when one of several threads
/// that leave the process has done so.
fn watch_exit() {
    // SAFETY: the function has the signature that on_exit wants.
    unsafe { on_exit(leave_process, core::ptr::null_mut()) };
}

/// Registers the last handlers of all ways to end the process that have handlers.
pub fn watch_ends() {
    watch_exit();
    // SAFETY: the function has the signature that at_quick_exit wants.
    unsafe { at_quick_exit(leave_process_quickly) };
}

extern "C" fn exit_at(status: i32, pc: u64) -> ! {
    if controlled() {
        run().me().private.exit_pc = pc;
    }
    // SAFETY: passes on what the caller gave.
    unsafe { exit_process(status) }
}

/// The C library's `exit`.
///
/// # Safety
/// As `exit`: runs handlers of the program.
pub unsafe fn exit_process(status: i32) -> ! {
    // SAFETY: the caller's promise.
    unsafe { hidden::exit(status) };
    syscall::exit_process(status)
}

extern "C" fn quick_exit_at(status: i32, pc: u64) -> ! {
    if controlled() {
        let private = &mut run().me().private;
        (private.exit_pc, private.exit_status) = (pc, status);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::quick_exit(status) };
    syscall::exit_process(status)
}

export!(exit, 1 => exit_at);
export!(quick_exit, 1 => quick_exit_at);

/// The process has ended for the running thread; the others run until they are at rest.
pub fn end_process(status: i32, pc: u64) -> ! {
    sched::perform(AnnouncedOp::new(OpKind::Exit, 0, status as u32 as u64, pc), Outcome::Done, 0, 0);
    let run = run();
    run.exit.get_or_insert(status);
    let allowed = i64::try_from(process().exit_events).unwrap_or(i64::MAX);
    run.hot.events_left = run.hot.events_left.min(allowed);
    sched::leave(ThreadStatus::Exited)
}

extern "C" fn exit_now(status: i32, pc: u64) -> ! {
    if controlled() {
        end_process(status, pc);
    }
    syscall::exit_process(status)
}

export!(_exit, 1 => exit_now);
export!(_Exit, 1 => exit_now);

extern "C" fn abort_thread(pc: u64) -> ! {
    if controlled() {
        if let Some(name) = current_exception() {
            stop_thread(Failure::Exception, 0, pc, name.to_bytes());
        }
        stop_thread(Failure::Abort, 0, pc, b"");
    }
    // SAFETY: the C library's own function.
    unsafe { hidden::abort() };
    syscall::exit_process(134)
}

export!(abort, 0 => abort_thread);

/// Type of the uncaught exception, if that is why the program aborts.
fn current_exception() -> Option<&'static CStr> {
    // SAFETY: looks up a function of the C++ library, which may be missing.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_current_exception_type".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: the Itanium C++ ABI: returns a type_info pointer or null; its second word is the
    // mangled name.
    unsafe {
        let function: extern "C" fn() -> *const *const c_char = core::mem::transmute(function);
        let info = function();
        (!info.is_null()).then(|| CStr::from_ptr(*info.add(1)))
    }
}

extern "C" fn assert_failed(
    condition: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    pc: u64,
) -> ! {
    let bytes = |text: *const c_char| {
        if text.is_null() {
            return &b"?"[..];
        }
        // SAFETY: the arguments of a failed assert are C strings.
        unsafe { CStr::from_ptr(text) }.to_bytes()
    };
    if controlled() {
        stop_thread(Failure::Assertion, 0, pc, bytes(condition));
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__assert_fail(condition, file, line, function) };
    syscall::exit_process(134)
}

export!(__assert_fail, 4 => assert_failed);

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
    const PROTECTION: i32 = 2;
    if signal == libc::SIGSEGV && code == PROTECTION {
        if controlled() && process().snapshot.is_exhausted_by(address) {
            crate::restore::undo::needs_own_process();
        }
        if process().snapshot.fault(address) {
            return;
        }
    }
    if signal == libc::SIGSYS && code == observation::SYS_USER_DISPATCH && observation::is_active() {
        // SAFETY: the kernel passes a valid pointer.
        observation::on_system_call(unsafe { &mut *context });
        return;
    }
    let is_crash = CRASHES.contains(&signal);
    if is_crash && code <= 0 && signal_masks::keep_pending(signal) {
        return;
    }
    let program = run().handlers[signal as usize];
    if program.handler > libc::SIG_IGN && (controlled() || !is_crash) && !handlers::fails_to_relay() {
        // SAFETY: the kernel passed the pointers.
        return unsafe { handlers::relay(program, signal, info, context) };
    }
    if !is_crash || code <= 0 && program.handler == libc::SIG_IGN {
        return;
    }
    if controlled() {
        // Elsewhere the pc of a record is a return address; a fault is at the instruction itself.
        trace_crash(signal, address as u64, pc + 1);
    }
    crash_for_real(signal);
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

/// The runtime met a state that should be impossible.
pub fn runtime_bug(file: &str, line: u32) -> ! {
    syscall::say("raddle: bug in the runtime at ");
    syscall::say(file);
    let mut digits = [b' '; 12];
    let mut rest = line;
    let mut at = digits.len() - 1;
    digits[at] = b'\n';
    while rest > 0 && at > 1 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    syscall::say(core::str::from_utf8(&digits).unwrap_or("\n"));
    crate::sched::controller::refuse("bug in the runtime: its message is on the program's standard error")
}

/// Ends the process because something that the runtime needs is missing.
pub fn exit_with_error(what: &str, why: &str) -> ! {
    syscall::say("raddle: ");
    syscall::say(what);
    syscall::say(" ");
    syscall::say(why);
    syscall::say("\n");
    syscall::exit_process(70)
}
