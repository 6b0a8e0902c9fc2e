//! Functions of the C library that walk through directories: `glob`, `ftw`, `fts`. They reach the
//! kernel by ways inside the C library that no export can hide. So while a thread is in such a
//! function, the kernel reports its system calls (Syscall User Dispatch), and those on files are
//! made as the run sees the file system. Functions of the program that are called back run without
//! it.
//!
//! The handler of the report does nothing itself: it lets the program go on with a call of
//! [`perform`]. So a thread can be left there as in every other call.
//!
//! A kernel before Linux 5.11 cannot report system calls. Then the function sees the real files,
//! which is named as a limit if the run has changed any.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use raddle_wire::limit;

use crate::arch::entry::export;
use crate::arch::signal;
use crate::interpose::buffers::{reads_text, writes};
use crate::interpose::io::calls::{self, private};
use crate::interpose::io::overlay::overlay;
use crate::sched::controller::note_limit;
use crate::spinloop::observation::{self, ALLOW, BLOCK};
use crate::state::run;
use crate::syscall;
use crate::syscall::libc_real::real;

/// The call that a thread is in.
#[derive(Clone, Copy)]
pub struct Traversal {
    /// Where the program made it; 0 if it is in none.
    pc: u64,
    /// The function of the program that is called back, or 0.
    callback: usize,
}

impl Traversal {
    /// In no such call.
    pub const NONE: Traversal = Traversal { pc: 0, callback: 0 };
}

static SELECTOR: AtomicU8 = AtomicU8::new(ALLOW);

/// Reports begin, for the running thread.
fn resume() -> bool {
    observation::spoil();
    let reports = observation::dispatch(crate::sched::startup::module_range(), &SELECTOR);
    SELECTOR.store(if reports { BLOCK } else { ALLOW }, Relaxed);
    reports
}

/// Reports end, while the thread is in the runtime or in a function of the program.
fn pause() {
    SELECTOR.store(ALLOW, Relaxed);
}

/// Calls a function of the C library that walks through directories.
fn traverse<T>(pc: u64, callback: usize, call: impl FnOnce() -> T) -> T {
    let is_needed = private() && (!overlay().is_empty() || run().threads > 1);
    if !is_needed {
        return call();
    }
    let before = core::mem::replace(&mut run().me().private.traversal, Traversal { pc, callback });
    if !resume() && !overlay().is_empty() {
        note_limit(limit::FILES);
    }
    let result = call();
    pause();
    run().me().private.traversal = before;
    observation::stop_dispatch();
    result
}

/// The kernel has reported a system call. False if none was expected.
pub fn reported(interrupted: &mut libc::ucontext_t) -> bool {
    if SELECTOR.load(Relaxed) != BLOCK {
        return false;
    }
    pause();
    if run().me().private.traversal.pc == 0 {
        // Another thread runs in a function that was called back.
        signal::repeat_system_call(interrupted);
    } else {
        // SAFETY: the context of the handler that runs; the stack is that of a thread.
        unsafe { signal::call_instead(interrupted) };
    }
    true
}

/// Makes a system call that was reported.
pub extern "C" fn perform(number: i64, operands: &[usize; 6]) -> isize {
    let pc = run().me().private.traversal.pc;
    let result = calls::by_number(number, *operands, pc).unwrap_or_else(|| {
        // SAFETY: what the C library asks of the kernel.
        unsafe { syscall::call(number, *operands) }
    });
    if run().me().private.traversal.pc != 0 {
        resume();
    }
    result
}

real! { hidden:
    fn glob(pattern: *const c_char, flags: i32, on_error: *const c_void, into: *mut c_void) -> i32;
    fn ftw(path: *const c_char, callback: *const c_void, descriptors: i32) -> i32;
    fn nftw(path: *const c_char, callback: *const c_void, descriptors: i32, flags: i32) -> i32;
    fn fts_open(paths: *const *const c_char, options: i32, compare: *const c_void) -> *mut c_void;
    fn fts_read(stream: *mut c_void) -> *mut c_void;
    fn fts_children(stream: *mut c_void, options: i32) -> *mut c_void;
    fn fts_close(stream: *mut c_void) -> i32;
}

/// Calls the program's function without reports.
fn call_back<T>(call: impl FnOnce(usize) -> T) -> T {
    pause();
    let traversal = core::mem::replace(&mut run().me().private.traversal, Traversal::NONE);
    let result = call(traversal.callback);
    run().me().private.traversal = traversal;
    if traversal.pc != 0 {
        resume();
    }
    result
}

type OnError = extern "C" fn(*const c_char, i32) -> i32;
type OnFile = extern "C" fn(*const c_char, *const libc::stat, i32, *mut c_void) -> i32;

extern "C" fn on_error(path: *const c_char, code: i32) -> i32 {
    // SAFETY: the address of the program's function of this type.
    call_back(|function| unsafe { core::mem::transmute::<usize, OnError>(function) }(path, code))
}

/// `ftw` passes one argument fewer, which the program's function does not look at.
extern "C" fn on_file(path: *const c_char, about: *const libc::stat, kind: i32, place: *mut c_void) -> i32 {
    // SAFETY: the address of the program's function, of this type or with one argument fewer.
    call_back(|function| unsafe { core::mem::transmute::<usize, OnFile>(function) }(path, about, kind, place))
}

/// The runtime's function if the program has one to be called back, and the walk is watched.
fn replaced(callback: *const c_void, by: *const ()) -> *const c_void {
    if callback.is_null() || run().me().private.traversal.pc == 0 { callback } else { by.cast() }
}

extern "C" fn find_paths(
    pattern: *const c_char,
    flags: i32,
    callback: *const c_void,
    into: *mut c_void,
    pc: u64,
) -> i32 {
    reads_text(pattern as usize, pc);
    writes(into as usize, size_of::<libc::glob_t>(), pc);
    // SAFETY: passes on what the caller gave.
    traverse(pc, callback as usize, || unsafe {
        hidden::glob(pattern, flags, replaced(callback, on_error as *const ()), into)
    })
}

extern "C" fn walk(path: *const c_char, callback: *const c_void, descriptors: i32, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    traverse(pc, callback as usize, || unsafe {
        hidden::ftw(path, replaced(callback, on_file as *const ()), descriptors)
    })
}

extern "C" fn walk_with_flags(
    path: *const c_char,
    callback: *const c_void,
    descriptors: i32,
    flags: i32,
    pc: u64,
) -> i32 {
    // SAFETY: passes on what the caller gave.
    traverse(pc, callback as usize, || unsafe {
        hidden::nftw(path, replaced(callback, on_file as *const ()), descriptors, flags)
    })
}

extern "C" fn open_tree(paths: *const *const c_char, options: i32, compare: *const c_void, pc: u64) -> *mut c_void {
    // SAFETY: passes on what the caller gave.
    traverse(pc, 0, || unsafe { hidden::fts_open(paths, options, compare) })
}

extern "C" fn read_tree(stream: *mut c_void, pc: u64) -> *mut c_void {
    // SAFETY: passes on what the caller gave.
    traverse(pc, 0, || unsafe { hidden::fts_read(stream) })
}

extern "C" fn read_children(stream: *mut c_void, options: i32, pc: u64) -> *mut c_void {
    // SAFETY: passes on what the caller gave.
    traverse(pc, 0, || unsafe { hidden::fts_children(stream, options) })
}

extern "C" fn close_tree(stream: *mut c_void, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    traverse(pc, 0, || unsafe { hidden::fts_close(stream) })
}

export!(glob, 4 => find_paths);
export!(glob64, 4 => find_paths);
export!(ftw, 3 => walk);
export!(ftw64, 3 => walk);
export!(nftw, 4 => walk_with_flags);
export!(nftw64, 4 => walk_with_flags);
export!(fts_open, 3 => open_tree);
export!(fts64_open, 3 => open_tree);
export!(fts_read, 1 => read_tree);
export!(fts64_read, 1 => read_tree);
export!(fts_children, 2 => read_children);
export!(fts64_children, 2 => read_children);
export!(fts_close, 1 => close_tree);
export!(fts64_close, 1 => close_tree);
