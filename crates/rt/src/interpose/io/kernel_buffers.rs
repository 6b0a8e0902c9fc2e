//! Functions that let the kernel write into the program's memory. Where the snapshot has made a
//! page read-only, the kernel does not raise a fault but fails with EFAULT. So such memory is made
//! writable first. What the kernel has written is an access of the caller.

use core::ffi::c_void;

use crate::arch::entry::export;
use crate::interpose::buffers::writes;
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

/// Functions: how many arguments they have, what has to be writable (first byte and number of bytes
/// of each piece), and which accesses a call was that returned `result`.
macro_rules! written {
    ($(fn $name:ident, $count:tt($($arg:ident: $type:ty),*) -> $ret:ty { $($at:expr => $bytes:expr),+ }
        |$result:ident, $pc:ident| $accesses:expr;)*) => {
        real! { hidden: $(fn $name($($arg: $type),*) -> $ret;)* }
        $(
            const _: () = {
                extern "C" fn body($($arg: $type,)* $pc: u64) -> $ret {
                    if controlled() {
                        $(touch($at as *const u8, $bytes as usize);)+
                        note_changing_answer(stringify!($name));
                    }
                    // SAFETY: passes on what the caller gave.
                    let $result = unsafe { hidden::$name($($arg),*) };
                    $accesses;
                    $result
                }
                export!($name, $count => body);
            };
        )*
    };
}

/// The call has written so many bytes if it succeeded.
fn filled<T>(result: i32, into: *mut T, bytes: usize, pc: u64) {
    if result >= 0 {
        writes(into as usize, bytes, pc);
    }
}

written! {
    fn uname, 1(into: *mut c_void) -> i32 { into => ANY } |result, pc| filled(result, into, 390, pc);
    fn sysinfo, 1(into: *mut c_void) -> i32 { into => ANY } |result, pc| filled(result, into, 112, pc);
    fn getgroups, 2(most: i32, into: *mut u32) -> i32 { into => most.max(0) as usize * 4 }
        |result, pc| if most > 0 { filled(result, into, result.max(0) as usize * 4, pc) };
    fn getrusage, 2(who: i32, into: *mut c_void) -> i32 { into => ANY } |result, pc| filled(result, into, 144, pc);
    fn getresuid, 3(real: *mut u32, effective: *mut u32, saved: *mut u32) -> i32 {
        real => 4, effective => 4, saved => 4
    } |result, pc| for at in [real, effective, saved] { filled(result, at, 4, pc) };
    fn getresgid, 3(real: *mut u32, effective: *mut u32, saved: *mut u32) -> i32 {
        real => 4, effective => 4, saved => 4
    } |result, pc| for at in [real, effective, saved] { filled(result, at, 4, pc) };
    fn clock_getres, 2(clock: i32, into: *mut c_void) -> i32 { into => 16 } |result, pc| filled(result, into, 16, pc);
    fn tcgetattr, 2(descriptor: i32, into: *mut c_void) -> i32 { into => 60 } |result, pc| filled(result, into, 60, pc);
}
