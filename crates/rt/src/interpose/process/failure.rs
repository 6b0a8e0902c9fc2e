//! Threads that fail, and a runtime that cannot go on.

use core::ffi::{CStr, c_char};

use raddle_vocab::Failure;

use crate::arch::entry::export;
use crate::interpose::annotations::section;
use crate::state::{ThreadStatus, controlled};
use crate::syscall;
use crate::syscall::libc_real::real;
use crate::{sched, trace};

real! { hidden:
    fn abort();
    fn __assert_fail(condition: *const c_char, file: *const c_char, line: u32, function: *const c_char);
}

/// The running thread has failed: records this and lets the other threads run.
pub fn stop_thread(kind: Failure, address: u64, pc: u64, text: &[u8]) -> ! {
    trace::failure(kind, address, pc, text);
    sched::debugger::failed();
    sched::leave(ThreadStatus::Failed)
}

extern "C" fn abort_thread(pc: u64) -> ! {
    if controlled() {
        if let Some(name) = current_exception() {
            stop_thread(Failure::Exception, 0, pc, name.to_bytes());
        }
        let is_assumption = section::is_called_in(raddle_wire::role::ASSUME, pc);
        stop_thread(if is_assumption { Failure::Assume } else { Failure::Abort }, 0, pc, b"");
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
