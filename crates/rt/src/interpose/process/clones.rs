//! Processes that a program makes by `clone`, by `_Fork` or by a system call, without the handlers
//! of `pthread_atfork`, by which the runtime learns of a `fork`.
//!
//! A child with a copy of the memory is as after `fork`. A child that runs in the memory of the
//! program while its parent is suspended (`CLONE_VM` with `CLONE_VFORK`) is not under control
//! meanwhile. Any other one is a thread that the scheduler does not know: the run ends there.

use core::ffi::{c_int, c_void};

use raddle_vocab::RunStatus;

use crate::arch::entry::{export, return_address};
use crate::arch::syscall::modern;
use crate::interpose::process::{children, kernel_state};
use crate::library::calls;
use crate::restore::snapshot::touch;
use crate::sched;
use crate::state::{controlled, run};
use crate::syscall;
use crate::syscall::libc_real::real;

type Main = extern "C" fn(*mut c_void) -> c_int;

real! { hidden:
    fn _Fork() -> i32;
    fn clone(
        function: Main,
        stack: *mut c_void,
        flags: i32,
        argument: *mut c_void,
        parent: usize,
        tls: usize,
        child: usize,
    ) -> i32;
}

const IN_OUR_MEMORY: u64 = libc::CLONE_VM as u64;
const SUSPENDS: u64 = libc::CLONE_VFORK as u64;

/// What a child is to the scheduler.
enum Child {
    /// A process with memory of its own.
    Copy,
    /// A process in the memory of its parent, which is suspended.
    InPlace,
    /// It shares memory with a parent that goes on.
    Thread,
}

fn kind(flags: u64) -> Child {
    if flags & IN_OUR_MEMORY == 0 {
        Child::Copy
    } else if flags & SUSPENDS != 0 && flags & (libc::CLONE_THREAD | libc::CLONE_SETTLS) as u64 == 0 {
        Child::InPlace
    } else {
        Child::Thread
    }
}

/// Ends the run before a thread is made that the scheduler does not know.
fn refuse(name: &[u8], pc: u64) -> ! {
    calls::note(name, pc);
    sched::finish(RunStatus::Cut, 0)
}

extern "C" fn fork_bare() -> i32 {
    children::starts();
    // SAFETY: the C library's own function.
    let pid = unsafe { hidden::_Fork() };
    if pid == 0 {
        kernel_state::step_aside();
    }
    pid
}

/// What a child begins with.
struct Beginning {
    function: Main,
    argument: *mut c_void,
}

extern "C" fn begin(beginning: *mut c_void) -> c_int {
    kernel_state::step_aside();
    // SAFETY: the parent passes what lies on its stack, of which the child has a copy.
    let Beginning { function, argument } = unsafe { &*beginning.cast::<Beginning>() };
    function(*argument)
}

extern "C-unwind" fn clone_process(
    function: Main,
    stack: *mut c_void,
    flags: i32,
    argument: *mut c_void,
    parent: usize,
    tls: usize,
    child: usize,
) -> i32 {
    let pc = return_address();
    let call = |function: Main, argument: *mut c_void| {
        // SAFETY: passes on what the caller gave; `begin` gets what it expects.
        unsafe { hidden::clone(function, stack, flags, argument, parent, tls, child) }
    };
    if !controlled() {
        return call(function, argument);
    }
    will_write(u64::from(flags as u32), parent);
    match kind(u64::from(flags as u32)) {
        Child::Copy => {
            children::starts();
            let mut beginning = Beginning { function, argument };
            call(begin, (&raw mut beginning).cast())
        }
        Child::InPlace => {
            children::starts();
            run().hot.controlled = false;
            let pid = call(function, argument);
            run().hot.controlled = true;
            pid
        }
        Child::Thread => refuse(b"clone", pc),
    }
}

/// The flags by which a child that returns from the system call gets a copy of the memory; `None`
/// if it would be a thread or have another stack. One that suspends its parent is treated as
/// `vfork` is.
fn of_a_copy(flags: u64, stack: u64) -> Option<u64> {
    let is_other = stack != 0 || matches!(kind(flags), Child::Thread);
    (!is_other).then_some(flags & !(IN_OUR_MEMORY | SUSPENDS))
}

/// Makes the system call, if it is one that makes a child.
pub fn by_number(number: i64, operands: [usize; 6], pc: u64) -> Option<i64> {
    let (number, operands) = modern(number, operands);
    match number {
        libc::SYS_clone => Some(clone_by_number(operands, pc)),
        libc::SYS_clone3 => Some(clone_by_record(operands, pc)),
        _ => None,
    }
}

fn clone_by_number(mut operands: [usize; 6], pc: u64) -> i64 {
    let [flags, stack, parent, ..] = operands;
    let Some(flags) = of_a_copy(flags as u64, stack as u64) else { refuse(b"syscall(SYS_clone)", pc) };
    operands[0] = flags as usize;
    start(libc::SYS_clone, operands, flags, parent)
}

fn clone_by_record(operands: [usize; 6], pc: u64) -> i64 {
    /// Words of the record, and those of them that the first version of the call has.
    const WORDS: usize = 11;
    const FIRST: usize = 8;
    let [record, size, ..] = operands;
    if size < FIRST * size_of::<u64>() {
        return -i64::from(libc::EINVAL);
    }
    let mut words = [0u64; WORDS];
    let size = size.min(size_of_val(&words));
    // SAFETY: the caller passes a record of this size.
    unsafe { core::ptr::copy_nonoverlapping(record as *const u8, words.as_mut_ptr().cast(), size) };
    let [flags, descriptor, _, parent, _, stack, ..] = words;
    let Some(flags) = of_a_copy(flags, stack) else { refuse(b"syscall(SYS_clone3)", pc) };
    words[0] = flags;
    if flags & libc::CLONE_PIDFD as u64 != 0 {
        touch(descriptor as *const u8, size_of::<i32>());
    }
    start(libc::SYS_clone3, [words.as_ptr() as usize, size, 0, 0, 0, 0], flags, parent as usize)
}

fn start(number: i64, operands: [usize; 6], flags: u64, parent: usize) -> i64 {
    children::starts();
    will_write(flags, parent);
    // SAFETY: what the program asks of the kernel; the child has a copy of the stack.
    let pid = unsafe { syscall::call(number, operands) };
    if pid == 0 {
        kernel_state::step_aside();
    }
    pid as i64
}

/// The kernel writes the number of the child there, if the flags say so.
fn will_write(flags: u64, parent: usize) {
    if flags & (libc::CLONE_PARENT_SETTID | libc::CLONE_PIDFD) as u64 != 0 {
        touch(parent as *const u8, size_of::<i32>());
    }
}

export!(_Fork, 0 => fork_bare);
export!(clone, many => clone_process);
export!(__clone, many => clone_process);
