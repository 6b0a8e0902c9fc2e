//! Ending a thread from the inside: `pthread_exit`, cancellation, and the cleanup handlers of C.
//!
//! Frames of C++ are unwound by the unwinder, with destructors and `catch (...)`. Handlers that C
//! code compiled without exceptions has pushed are `jmp_buf`s in its frames. When unwinding has
//! passed the frame of the innermost one, control jumps there; the handler runs and then continues
//! the unwinding ([`next`]).

use core::cell::UnsafeCell;
use core::ffi::c_void;

use raddle_vocab::policy::MAX_THREADS;

use crate::arch::entry::export;
use crate::arch::unwind::CLEANUP_LINK;
use crate::interpose::process::{couriers, failure};
use crate::interpose::thread::lifecycle;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;

/// The head of an exception object, as the C++ ABI lays it out.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: extern "C" fn(i32, *mut Exception),
    private: [u64; 2],
}

/// One per thread. Their content while in use is the same in every run, so they are not part of the
/// run's state.
struct Exceptions(UnsafeCell<[Exception; MAX_THREADS]>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Exceptions {}

static EXCEPTIONS: Exceptions = Exceptions(UnsafeCell::new(
    [const { Exception { class: 0, cleanup: not_rethrown, private: [0; 2] } }; MAX_THREADS],
));

type Stop = extern "C" fn(i32, i32, u64, *mut Exception, *mut u8, *mut c_void) -> i32;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> i32;
}

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut u8) -> usize;
    /// The buffers of cleanup handlers start like a `jmp_buf`.
    #[link_name = "_longjmp"]
    fn jump(buffer: usize, value: i32) -> !;
}

/// Called if a `catch (...)` ends without rethrowing: an error of the program, as in glibc.
extern "C" fn not_rethrown(_reason: i32, _exception: *mut Exception) {
    failure::stop_thread(raddle_vocab::Failure::Abort, 0, 0, b"FATAL: exception not rethrown")
}

real! { hidden:
    fn pthread_exit(result: usize);
    fn __pthread_register_cancel(buffer: usize);
    fn __pthread_unregister_cancel(buffer: usize);
    fn __pthread_unwind_next(buffer: usize);
    fn __call_tls_dtors();
}

/// Word of a handler's buffer that points to the next outer one.
fn link(buffer: usize) -> *mut usize {
    (buffer + CLEANUP_LINK) as *mut usize
}

/// Ends the running thread with this result, unwinding its stack first.
pub fn exit_thread(result: usize) -> ! {
    if run().me().private.acts_for.is_some() {
        couriers::gives_up();
    }
    run().me().result = result;
    let tid = run().hot.tid as usize;
    // SAFETY: rule 4 of the crate; each thread ends once, so the entry is in use only here.
    unsafe {
        let exception = (&raw mut (*EXCEPTIONS.0.get())[tid]);
        *exception = Exception { class: 0, cleanup: not_rethrown, private: [0; 2] };
        _Unwind_ForcedUnwind(exception, stop, core::ptr::null_mut());
    }
    // The unwinder does not know some frame: the frames that it could not unwind are dropped.
    finish()
}

/// Called for each frame that is unwound.
extern "C" fn stop(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut Exception,
    context: *mut u8,
    _argument: *mut c_void,
) -> i32 {
    const END_OF_STACK: i32 = 16;
    const GO_ON: i32 = 0;
    let ends = actions & END_OF_STACK != 0;
    let handler = run().me().private.cleanup;
    // SAFETY: the context is the unwinder's own.
    let frame = unsafe { _Unwind_GetCFA(context) };
    // A buffer below this frame belongs to a frame that has been passed.
    if handler != 0 && (ends || handler < frame) {
        // SAFETY: the program registered the buffer, in a frame that is still intact above this
        // one.
        unsafe {
            run().me().private.cleanup = *link(handler);
            crate::interpose::exceptions::landed();
            jump(handler, 1);
        }
    }
    if ends {
        finish();
    }
    GO_ON
}

/// The stack is unwound.
fn finish() -> ! {
    let result = run().me().result;
    lifecycle::end(result)
}

/// Runs the destructors of the running thread's thread-local objects.
pub fn run_local_destructors() {
    // SAFETY: the list is that of the running thread, as its thread-local storage is in place.
    unsafe { hidden::__call_tls_dtors() };
}

/// Runs the destructors of the running thread, which is ending: of thread-local objects, then of
/// thread-specific data.
pub fn run_finalisers() {
    run_local_destructors();
    crate::interpose::thread::keys::run_destructors();
}

extern "C-unwind" fn exit(result: usize, _pc: u64) -> ! {
    if controlled() {
        exit_thread(result);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::pthread_exit(result) };
    unreachable!("pthread_exit came back")
}

extern "C" fn register(buffer: usize, _pc: u64) {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__pthread_register_cancel(buffer) };
    }
    // SAFETY: the buffer lives in the caller's frame until it unregisters it.
    unsafe { *link(buffer) = run().me().private.cleanup };
    run().me().private.cleanup = buffer;
}

extern "C" fn unregister(buffer: usize, _pc: u64) {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__pthread_unregister_cancel(buffer) };
    }
    // SAFETY: as in `register`.
    run().me().private.cleanup = unsafe { *link(buffer) };
}

extern "C-unwind" fn next(buffer: usize, _pc: u64) -> ! {
    if controlled() {
        exit_thread(run().me().result);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__pthread_unwind_next(buffer) };
    unreachable!("unwinding came back")
}

export!(pthread_exit, 1 => exit);
export!(__pthread_register_cancel, 1 => register);
export!(__pthread_unregister_cancel, 1 => unregister);
export!(__pthread_unwind_next, 1 => next);
