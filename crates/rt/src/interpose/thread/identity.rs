//! The identity of a thread: names, numbers, attributes; and operations of a thread on itself that
//! are no transitions.

use core::ffi::{CStr, c_char};

use raddle_vocab::Misuse;

use crate::arch::PAGE;
use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::couriers;
use crate::interpose::process::pending_signals;
use crate::interpose::process::settings;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::thread::lifecycle;
use crate::sched::timeouts;
use crate::state::thread_private::NAME_BYTES;
use crate::state::{ThreadStatus, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::syscall;
use crate::trace;

real! { hidden:
    fn pthread_setname_np(thread: u64, name: *const c_char) -> i32;
    fn pthread_getname_np(thread: u64, name: *mut c_char, bytes: usize) -> i32;
    fn pthread_getattr_np(thread: u64, attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_init(attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_setdetachstate(attr: *mut libc::pthread_attr_t, state: i32) -> i32;
    fn pthread_attr_setstack(attr: *mut libc::pthread_attr_t, low: *mut core::ffi::c_void, bytes: usize) -> i32;
    fn pthread_kill(thread: u64, signal: i32) -> i32;
    fn sched_yield() -> i32;
    fn thrd_yield();
    fn gettid() -> i32;
    fn getpid() -> i32;
    fn prctl(option: i32, a: usize, b: usize, c: usize, d: usize) -> i32;
}

/// The thread with this handle; reports misuse if there is none.
pub fn thread(handle: u64, pc: u64) -> Option<usize> {
    let found = lifecycle::by_live_handle(handle, pc);
    if found.is_none() {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
    }
    found
}

/// A transition on the name of a thread.
fn touch_name(tid: usize, how: FileAccess, pc: u64) {
    shared_state::touch(SharedPart::Name(run().fibers[tid].key), how, pc);
}

fn set_name(tid: usize, name: &[u8]) {
    let kept = &mut run().fibers[tid].private.name;
    *kept = [0; NAME_BYTES];
    let len = name.len().min(NAME_BYTES - 1);
    kept[..len].copy_from_slice(&name[..len]);
    trace::name(tid as u16, &name[..len]);
}

extern "C" fn setname(handle: u64, name: *const c_char, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setname_np(handle, name) };
    }
    // SAFETY: the caller passes a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    if name.len() >= NAME_BYTES {
        return libc::ERANGE;
    }
    match thread(handle, pc) {
        Some(tid) => {
            touch_name(tid, FileAccess::Change, pc);
            set_name(tid, name);
            0
        }
        None => libc::ESRCH,
    }
}

/// The name that a thread was given; otherwise that of the process.
fn name_of(tid: usize) -> [u8; NAME_BYTES] {
    let mut name = run().fibers[tid].private.name;
    if name[0] == 0 {
        // SAFETY: writes the process's name into the local, which has the size that the kernel
        // wants.
        unsafe { syscall!(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr()) };
    }
    name
}

extern "C" fn getname(handle: u64, to: *mut u8, bytes: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getname_np(handle, to.cast(), bytes) };
    }
    let Some(tid) = thread(handle, pc) else { return libc::ESRCH };
    if bytes < NAME_BYTES {
        return libc::ERANGE;
    }
    touch_name(tid, FileAccess::Observe, pc);
    writes(to as usize, NAME_BYTES, pc);
    // SAFETY: the caller passes room for as many bytes.
    unsafe { core::ptr::copy_nonoverlapping(name_of(tid).as_ptr(), to, NAME_BYTES) };
    0
}

extern "C" fn getattr(handle: u64, attr: *mut libc::pthread_attr_t, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getattr_np(handle, attr) };
    }
    let Some(tid) = thread(handle, pc) else { return libc::ESRCH };
    let fiber = &run().fibers[tid];
    let (mut low, high) = fiber.stack;
    if tid == 0 {
        // The part of the stack that main has not grown into yet cannot be read.
        low = low.max(high.saturating_sub(8 << 20));
    }
    let state = if fiber.detached { libc::PTHREAD_CREATE_DETACHED } else { libc::PTHREAD_CREATE_JOINABLE };
    let low = low.next_multiple_of(PAGE);
    writes(attr as usize, size_of::<libc::pthread_attr_t>(), pc);
    // SAFETY: the caller passes room for an attribute object.
    unsafe {
        hidden::pthread_attr_init(attr);
        hidden::pthread_attr_setdetachstate(attr, state);
        hidden::pthread_attr_setstack(attr, low as *mut _, high - low)
    }
}

/// The number of the running thread.
pub fn number() -> i32 {
    number_of(couriers::self_id() as usize)
}

/// A number that identifies a thread as the kernel's would, and does not depend on other threads.
pub fn number_of(tid: usize) -> i32 {
    if tid == 0 {
        return process().pid;
    }
    (run().fibers[tid].key & 0x3fff_ffff | 0x4000_0000) as i32
}

/// The thread with this number.
pub fn by_number(number: i32) -> Option<usize> {
    (0..run().threads).find(|&tid| !couriers::is_foreign(tid) && number_of(tid) == number)
}

extern "C" fn get_number(_pc: u64) -> i32 {
    if controlled() {
        number()
    } else {
        // SAFETY: no preconditions.
        unsafe { hidden::gettid() }
    }
}

/// The process has the same number in every run, also in a forked one.
extern "C" fn get_process(_pc: u64) -> i32 {
    if controlled() {
        process().pid
    } else {
        // SAFETY: no preconditions.
        unsafe { hidden::getpid() }
    }
}

extern "C" fn kill(handle: u64, signal: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_kill(handle, signal) };
    }
    let Some(tid) = thread(handle, pc) else { return libc::ESRCH };
    // Whether it has ended is no matter where its signals have couriers.
    if signal == 0 || !couriers::in_use() && run().fibers[tid].status == ThreadStatus::Ended {
        return 0;
    }
    pending_signals::to_thread(tid, signal, pc)
}

/// Any schedule is allowed at any time, so yielding is no transition. But where there is a choice,
/// other threads go first.
pub extern "C" fn yield_now(pc: u64) -> i32 {
    if controlled() {
        timeouts::idle_call(pc);
        return 0;
    }
    // SAFETY: no preconditions.
    unsafe { hidden::sched_yield() }
}

extern "C" fn yield_c11(pc: u64) {
    if controlled() {
        timeouts::idle_call(pc);
    } else {
        // SAFETY: no preconditions.
        unsafe { hidden::thrd_yield() };
    }
}

extern "C" fn control_process(option: i32, a: usize, b: usize, c: usize, d: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::prctl(option, a, b, c, d) };
    }
    settings::with_errno(control(option, [a, b, c, d], pc))
}

/// `prctl` as the kernel's call.
pub fn control(option: i32, operands: [usize; 4], pc: u64) -> i64 {
    let me = couriers::self_id() as usize;
    match option {
        libc::PR_SET_NAME => {
            touch_name(me, FileAccess::Change, pc);
            // SAFETY: the caller passes a C string.
            set_name(me, unsafe { CStr::from_ptr(operands[0] as *const c_char) }.to_bytes());
            0
        }
        libc::PR_GET_NAME => {
            touch_name(me, FileAccess::Observe, pc);
            writes(operands[0], NAME_BYTES, pc);
            // SAFETY: the caller passes room for a name.
            unsafe { *(operands[0] as *mut [u8; NAME_BYTES]) = name_of(me) };
            0
        }
        _ => settings::control(option, operands, pc),
    }
}

export!(pthread_setname_np, 2 => setname);
export!(pthread_getname_np, 3 => getname);
export!(pthread_getattr_np, 2 => getattr);
export!(pthread_kill, 2 => kill);
export!(getpid, 0 => get_process);
export!(gettid, 0 => get_number);
export!(sched_yield, 0 => yield_now);
export!(thrd_yield, 0 => yield_c11);
export!(prctl, 5 => control_process);
