//! Functions that let the kernel write into the program's memory. Where the snapshot has made a
//! page read-only, the kernel does not raise a fault but fails with EFAULT. So such memory is made
//! writable first.

use core::ffi::{c_char, c_void};

use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::state::controlled;
use crate::syscall::libc_real::real;

/// Enough bytes for any structure that only the C library and the kernel know.
const ANY: usize = 512;

unsafe extern "C" {
    static stdout: *mut c_void;
    fn _IO_doallocbuf(stream: *mut c_void);
}

/// Allocates the buffer of standard output. Otherwise the first thread that prints would allocate
/// it on its own heap, and the addresses of its later blocks would depend on which thread prints
/// first.
pub fn prepare() {
    // SAFETY: the C library's own stream, which is not in use yet.
    unsafe { _IO_doallocbuf(stdout) };
}

/// These functions return something else in every run, so a run that calls them cannot be continued
/// from a checkpoint.
#[inline(always)]
fn note_changing_answer(name: &str) {
    if matches!(name, "getrusage" | "sysinfo") {
        undo::changed(undo::kind::OTHER);
    }
}

/// Functions and what the kernel writes: first byte and number of bytes of each piece.
macro_rules! written {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $ret:ty { $($at:expr => $bytes:expr),+ })*) => {
        real! { hidden: $(fn $name($($arg: $type),*) -> $ret;)* }
        $(
            /// As the C library's function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
                if controlled() {
                    $(touch($at as *const u8, $bytes as usize);)+
                    note_changing_answer(stringify!($name));
                }
                // SAFETY: passes on what the caller gave.
                unsafe { hidden::$name($($arg),*) }
            }
        )*
    };
}

written! {
    fn statx(directory: i32, path: *const c_char, flags: i32, wanted: u32, into: *mut c_void) -> i32 { into => ANY }
    fn statfs(path: *const c_char, into: *mut c_void) -> i32 { into => ANY }
    fn statfs64(path: *const c_char, into: *mut c_void) -> i32 { into => ANY }
    fn fstatfs(descriptor: i32, into: *mut c_void) -> i32 { into => ANY }
    fn fstatfs64(descriptor: i32, into: *mut c_void) -> i32 { into => ANY }
    fn readlink(path: *const c_char, into: *mut c_char, bytes: usize) -> isize { into => bytes }
    fn readlinkat(directory: i32, path: *const c_char, into: *mut c_char, bytes: usize) -> isize { into => bytes }
    fn uname(into: *mut c_void) -> i32 { into => ANY }
    fn sysinfo(into: *mut c_void) -> i32 { into => ANY }
    fn getgroups(most: i32, into: *mut u32) -> i32 { into => most.max(0) as usize * 4 }
    fn getrlimit(resource: i32, into: *mut c_void) -> i32 { into => 16 }
    fn getrlimit64(resource: i32, into: *mut c_void) -> i32 { into => 16 }
    fn getrusage(who: i32, into: *mut c_void) -> i32 { into => ANY }
    fn sched_getparam(process: i32, into: *mut c_void) -> i32 { into => 4 }
    fn epoll_pwait(queue: i32, into: *mut c_void, most: i32, milliseconds: i32, blocked: *const c_void) -> i32 {
        into => most.max(0) as usize * 12
    }
    fn accept(descriptor: i32, address: *mut c_void, bytes: *mut u32) -> i32 { address => ANY, bytes => 4 }
    fn accept4(descriptor: i32, address: *mut c_void, bytes: *mut u32, flags: i32) -> i32 { address => ANY, bytes => 4 }
    fn getsockname(descriptor: i32, address: *mut c_void, bytes: *mut u32) -> i32 { address => ANY, bytes => 4 }
    fn getpeername(descriptor: i32, address: *mut c_void, bytes: *mut u32) -> i32 { address => ANY, bytes => 4 }
    fn getsockopt(descriptor: i32, level: i32, name: i32, value: *mut c_void, bytes: *mut u32) -> i32 {
        value => ANY, bytes => 4
    }
    fn sendfile(to: i32, from: i32, offset: *mut i64, bytes: usize) -> isize { offset => 8 }
    fn sendfile64(to: i32, from: i32, offset: *mut i64, bytes: usize) -> isize { offset => 8 }
    fn setvbuf(stream: *mut c_void, buffer: *mut c_char, mode: i32, bytes: usize) -> i32 { buffer => bytes }
}
