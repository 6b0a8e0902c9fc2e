//! Streams of the C library. They do not call the exported functions for descriptors, so an
//! operation on a stream is modelled as one on its descriptor, at its offset. Writes to standard
//! output and error are invisible to other threads.

use core::ffi::{CStr, c_void};
use core::sync::atomic::AtomicPtr;

use crate::arch::entry::intercept;
use crate::interpose::io::regular_files::{self, FileAccess, OpenFile};
use crate::interpose::io::{descriptors, stream_locks};
use crate::interpose::process::shared_state::{self, Part};
use crate::state::controlled;

unsafe extern "C" {
    static stdin: *mut c_void;
    static stdout: *mut c_void;
    fn __errno_location() -> *mut i32;
    fn fileno(stream: *mut c_void) -> i32;
}

/// Arguments of a call.
type Arguments = [usize; 4];

fn descriptor(stream: usize) -> Option<i32> {
    if !controlled() || stream == 0 {
        return None;
    }
    // SAFETY: the program passes a stream. One in memory has no descriptor, which must not show in
    // errno.
    unsafe {
        let before = *__errno_location();
        let descriptor = fileno(stream as *mut c_void);
        *__errno_location() = before;
        Some(descriptor)
    }
}

/// A transition on what the stream reads or writes. One in memory has its buffer; what a stream has
/// of a pipe may be in its buffer, too.
fn touch(stream: usize, how: FileAccess, pc: u64) {
    stream_locks::wait_for(stream, pc);
    match descriptor(stream) {
        Some(descriptor) if descriptor < 0 => {
            shared_state::touch(Part::Stream(stream), FileAccess::Change, pc);
        }
        Some(descriptor) if descriptors::channel(descriptor) != 0 => {
            descriptors::touches(descriptor, FileAccess::Change, pc);
        }
        Some(descriptor) => {
            regular_files::touches_at_offset(descriptor, how, pc);
            descriptors::moves(descriptor);
        }
        None => {}
    }
}

pub fn input(stream: usize, pc: u64) {
    touch(stream, FileAccess::Observe, pc);
}

fn output(stream: usize, pc: u64) {
    touch(stream, FileAccess::Change, pc);
}

fn close(stream: usize, pc: u64) {
    output(stream, pc);
    if let Some(descriptor) = descriptor(stream) {
        regular_files::set(descriptor, OpenFile::NONE);
    }
}

/// The stream that functions without one write to.
fn standard_output(pc: u64) {
    // SAFETY: reads the C library's variable.
    output(unsafe { stdout } as usize, pc);
}

/// The stream that functions without one read from.
fn standard_input(pc: u64) {
    // SAFETY: reads the C library's variable.
    input(unsafe { stdin } as usize, pc);
}

/// Exports C functions that act before they continue as the C library's function, with all
/// arguments that they were given: some take any number.
macro_rules! before {
    ($($($name:ident)+ => $act:expr;)+) => { $($(
        const _: () = {
            /// Acts, and returns where to continue.
            extern "C" fn act(a: usize, b: usize, c: usize, d: usize, pc: u64) -> *mut c_void {
                static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without a zero inside"),
                };
                let act: fn(Arguments, u64) = $act;
                act([a, b, c, d], pc);
                crate::syscall::libc_real::find(&REAL, NAME)
            }

            intercept!($name => act);
        };
    )+)+ };
}

before! {
    fgetc getc _IO_getc fgetc_unlocked getc_unlocked fscanf __isoc99_fscanf __isoc23_fscanf vfscanf __isoc99_vfscanf
    fgetwc getwc fseek fseeko fseeko64 rewind fsetpos => |a, pc| input(a[0], pc);
    ungetc => |a, pc| input(a[1], pc);
    fgets fgets_unlocked getline fgetws => |a, pc| input(a[2], pc);
    getdelim __getdelim fread_unlocked => |a, pc| input(a[3], pc);
    getchar getchar_unlocked scanf __isoc99_scanf __isoc23_scanf vscanf __isoc99_vscanf getwchar
        => |_, pc| standard_input(pc);
    fprintf vfprintf __fprintf_chk __vfprintf_chk fflush fflush_unlocked fwprintf => |a, pc| output(a[0], pc);
    fputs fputs_unlocked fputc putc fputc_unlocked putc_unlocked _IO_putc fputwc fputws => |a, pc| output(a[1], pc);
    printf vprintf __printf_chk __vprintf_chk puts putchar putchar_unlocked wprintf vwprintf
        => |_, pc| standard_output(pc);
    fwrite fwrite_unlocked => |a, pc| output(a[3], pc);
    fclose => |a, pc| close(a[0], pc);
}
