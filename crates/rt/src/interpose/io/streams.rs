//! Streams of the C library. They do not call the exported functions for descriptors, so an
//! operation on a stream is modelled as one on its descriptor, at its offset. Writes to standard
//! output and error are invisible to other threads.

use core::ffi::c_void;
use core::mem::offset_of;

use crate::arch::entry::export;
use crate::interpose::before::before;
use crate::interpose::buffers::{reads, reads_text, writes};
use crate::interpose::io::descriptor_ends;
use crate::interpose::io::regular_files::{self, FileAccess, OpenFile};
use crate::interpose::io::stream_locks;
use crate::interpose::io::stream_locks::Locking::{self, Call, Caller};
use crate::interpose::io::{descriptor_uses, descriptors, net, slots};
use crate::interpose::memory::heap;
use crate::interpose::process::couriers;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::restore::{snapshot, undo};
use crate::state::controlled;
use crate::syscall::libc_real::real;

real! { hidden:
    fn fflush(stream: *mut c_void) -> i32;
}

unsafe extern "C" {
    /// The first of all streams.
    #[link_name = "_IO_list_all"]
    static first_stream: *mut c_void;
    static stdin: *mut c_void;
    static stdout: *mut c_void;
    fn __errno_location() -> *mut i32;
    fn fileno(stream: *mut c_void) -> i32;
}

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

/// The call reads the object that the stream is, which `fclose` frees. The word that counts is the
/// descriptor: no macro of the C library writes it, so it is read alike by functions that lock the
/// stream and by those that do not. Standard streams are never freed.
pub fn uses(stream: usize, pc: u64) {
    if heap::is_in_arena(stream) {
        reads(stream + offset_of!(StreamHead, descriptor), size_of::<i32>(), pc);
    }
}

/// What a call does to the words of a stream that its macros read and write.
#[derive(Clone, Copy)]
enum Words {
    /// It asks for a flag.
    Flags,
    /// It moves in the buffer.
    All,
}

impl Words {
    /// The call makes its accesses, before its transition: they can be transitions, too.
    fn access(self, stream: usize, pc: u64) {
        match self {
            _ if stream == 0 => {}
            Words::Flags => reads(stream + offset_of!(StreamHead, flags), size_of::<i32>(), pc),
            Words::All => writes(stream, offset_of!(StreamHead, write) + 2 * size_of::<usize>(), pc),
        }
    }

    /// What that is to the state of the stream.
    fn change(self) -> FileAccess {
        match self {
            Words::Flags => FileAccess::Observe,
            Words::All => FileAccess::Change,
        }
    }
}

/// A transition on what the stream reads or writes. One in memory has its buffer; what a stream has
/// of a pipe may be in its buffer, too.
fn touch(stream: usize, how: FileAccess, words: Words, locking: Locking, pc: u64) {
    couriers::calls_unsafe(pc);
    uses(stream, pc);
    stream_locks::in_call(stream, locking, pc, |counts| {
        if counts {
            words.access(stream, pc);
        }
        transition(stream, how, words, pc);
    });
}

fn transition(stream: usize, how: FileAccess, words: Words, pc: u64) {
    match descriptor(stream) {
        Some(descriptor) if descriptor < 0 => {
            shared_state::touch(SharedPart::Stream(stream), FileAccess::Change, pc);
        }
        Some(descriptor) if net::of(descriptor).is_some() => net::gives_up(b"a stream of a socket", pc),
        Some(descriptor) if descriptors::channel(descriptor) != 0 => {
            net::tap::misses(descriptor, b"a stream");
            descriptors::touches(descriptor, FileAccess::Change, pc);
        }
        Some(descriptor) => {
            slots::use_settled(descriptor, pc, || {
                // A device gives the same to all, but the stream has its buffer and its flags.
                if regular_files::get(descriptor).is_device() {
                    shared_state::touch(SharedPart::Stream(stream), words.change(), pc);
                } else {
                    regular_files::performs_at_offset(descriptor, how, pc);
                }
            });
            descriptors::moves(descriptor);
        }
        None => {}
    }
}

/// The program reads from the stream, or asks for its position.
pub fn input(stream: usize, locking: Locking, pc: u64) {
    touch(stream, FileAccess::Observe, Words::All, locking, pc);
}

/// The program asks for a flag of the stream.
fn asks(stream: usize, locking: Locking, pc: u64) {
    touch(stream, FileAccess::Observe, Words::Flags, locking, pc);
}

/// The program reads at least a byte from the stream. If its buffer is empty, the C library will
/// read the descriptor: the thread waits here until that cannot block, as others could not run
/// meanwhile.
pub fn takes(stream: usize, locking: Locking, pc: u64) {
    let Some(descriptor) = channel_of(stream) else { return input(stream, locking, pc) };
    couriers::calls_unsafe(pc);
    uses(stream, pc);
    stream_locks::in_call(stream, locking, pc, |counts| {
        if counts {
            Words::All.access(stream, pc);
        }
        if has_read_all(stream) {
            descriptor_uses::wait_for(descriptor, libc::POLLIN, pc).end();
        } else {
            transition(stream, FileAccess::Observe, Words::All, pc);
        }
    });
}

/// The descriptor of a stream that reads or writes a pipe and the like.
pub fn channel_of(stream: usize) -> Option<i32> {
    let channel = descriptor(stream).filter(|&descriptor| descriptor >= 0 && net::of(descriptor).is_none());
    channel.filter(|&descriptor| descriptors::channel(descriptor) != 0)
}

fn head(stream: usize) -> &'static StreamHead {
    // SAFETY: the program passes a stream, which begins with these words.
    unsafe { &*(stream as *const StreamHead) }
}

/// Whether the buffer of the stream holds nothing to read, nor were bytes put back.
pub fn has_read_all(stream: usize) -> bool {
    let head = head(stream);
    let is_other_empty = head.flags & READS_WHAT_WAS_PUT_BACK == 0 || head.saved[0] == head.saved[2];
    head.read[0] == head.read[1] && is_other_empty
}

/// Bytes that can be read without a look at the rest of the buffer, or the descriptor.
pub fn buffered(stream: usize) -> usize {
    let head = head(stream);
    head.read[1].saturating_sub(head.read[0])
}

/// The size of the stream's buffer; 0 if it has none yet.
pub fn room(stream: usize) -> usize {
    let head = head(stream);
    head.buffer[1].saturating_sub(head.buffer[0])
}

/// Whether no call takes the lock of the stream.
pub fn is_locked_by_callers(stream: usize) -> bool {
    controlled() && stream != 0 && head(stream).flags & LOCKED_BY_CALLERS != 0
}

/// Whether the stream has seen the end of its input.
pub fn is_at_end(stream: usize) -> bool {
    head(stream).flags & SEEN_END != 0
}

/// A function of wide characters reads from the stream: they have a buffer of their own. The run
/// ends if it might wait for a pipe.
pub fn wide_input(stream: usize, locking: Locking, pc: u64) {
    let waits = |&descriptor: &i32| {
        has_read_all(stream)
            && !descriptors::is_nonblocking(descriptor)
            && !descriptors::is_ready(descriptor, libc::POLLIN)
    };
    input(stream, locking, pc);
    if channel_of(stream).filter(waits).is_some() {
        net::gives_up(b"wide input (of an empty pipe)", pc);
    }
}

/// The program writes to the stream.
pub fn output(stream: usize, locking: Locking, pc: u64) {
    touch(stream, FileAccess::Change, Words::All, locking, pc);
}

fn close(stream: usize, pc: u64) {
    let descriptor = descriptor(stream);
    if let Some(descriptor) = descriptor {
        undo::loses(descriptor);
        descriptor_ends::ends(descriptor, pc);
    }
    output(stream, Call, pc);
    if let Some(descriptor) = descriptor {
        regular_files::set(descriptor, OpenFile::NONE);
    }
}

extern "C" fn flush(stream: *mut c_void, pc: u64) -> i32 {
    if !stream.is_null() {
        output(stream as usize, Call, pc);
    } else if controlled() {
        flush_all(pc);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::fflush(stream) }
}

export!(fflush, 1 => flush);

/// The stream is written, in a transition, if it holds something.
pub fn flushes(stream: *mut c_void, pc: u64) {
    output(stream as usize, Call, pc);
    if head(stream as usize).flags & IS_WRITTEN != 0 {
        // SAFETY: a stream that is open.
        unsafe { hidden::fflush(stream) };
    }
}

/// Streams that are written one by one by a call that writes all.
const STREAMS: usize = 64;

/// Writes all streams, each in a transition of its own: those that hold nothing, too, because
/// another thread may have come first.
fn flush_all(pc: u64) {
    let mut done = [0; STREAMS];
    for at in 0..STREAMS {
        let Some(next) = written_streams().find(|stream| !done[..at].contains(stream)) else { break };
        done[at] = next;
        output(next, Call, pc);
        if written_streams().any(|stream| stream == next) {
            // SAFETY: a stream that is open.
            unsafe { hidden::fflush(next as *mut c_void) };
        }
    }
}

/// The streams that `fflush` of all streams has to write. What standard output and error hold is
/// invisible to other threads.
fn written_streams() -> impl Iterator<Item = usize> {
    // SAFETY: reads the C library's variable.
    let first = unsafe { first_stream } as usize;
    let next = |&stream: &usize| Some(head(stream).links[1]);
    let all = core::iter::successors(Some(first), next).take_while(|&stream| stream != 0);
    all.filter(|&stream| head(stream).flags & ONLY_READ == 0 && head(stream).descriptor > 2)
}

/// The stream that functions without one write to.
pub fn standard_output(locking: Locking, pc: u64) {
    // SAFETY: reads the C library's variable.
    output(unsafe { stdout } as usize, locking, pc);
}

/// The stream that functions without one read from.
pub fn input_stream() -> usize {
    // SAFETY: reads the C library's variable.
    unsafe { stdin as usize }
}

/// The program reads at least a byte from it.
fn standard_input(locking: Locking, pc: u64) {
    takes(input_stream(), locking, pc);
}

/// The same for functions of wide characters, which have a buffer of their own.
fn wide_standard_input(locking: Locking, pc: u64) {
    wide_input(input_stream(), locking, pc);
}

/// First words of a stream, as the C library lays them out for its macros.
#[repr(C)]
struct StreamHead {
    flags: u64,
    /// Next byte, end, base.
    read: [usize; 3],
    /// Base, next byte, end.
    write: [usize; 3],
    /// Base, end.
    buffer: [usize; 2],
    /// Base, start of what was put back, end. Base and end are those of `read` while the other is
    /// read.
    saved: [usize; 3],
    /// Markers, and the next stream.
    links: [usize; 2],
    descriptor: i32,
}

/// `__fsetlocking` was called so.
const LOCKED_BY_CALLERS: u64 = 0x8000;
/// The program gave the buffer.
const USER_BUFFER: u64 = 1;
/// It was opened for reading only.
const ONLY_READ: u64 = 8;
/// The end of the input was met.
const SEEN_END: u64 = 0x10;
/// The bytes of `read` are those that the program has put back.
const READS_WHAT_WAS_PUT_BACK: u64 = 0x100;
/// The stream is being written to.
const IS_WRITTEN: u64 = 0x800;

/// The buffer of standard output, if it holds output only and belongs to the C library: nothing but
/// the C library reads it, to hand it to the kernel.
pub fn output_buffer() -> core::ops::Range<usize> {
    // SAFETY: the C library's stream, which is there as long as the process; checked for null.
    let Some(head) = (unsafe { stdout.cast::<StreamHead>().as_ref() }) else { return 0..0 };
    let is_output = head.flags & (USER_BUFFER | IS_WRITTEN) == IS_WRITTEN && head.read[0] == head.read[1];
    if is_output { head.buffer[0]..head.buffer[1] } else { 0..0 }
}

/// Bytes of a position that `fgetpos` stores.
const POSITION: usize = 16;
/// Bytes of the buffer that `setbuf` is given.
const BUFFER: usize = libc::BUFSIZ as usize;

/// The kernel will fill the buffer.
fn writable(buffer: usize, bytes: usize) {
    if controlled() {
        snapshot::touch(buffer as *const u8, bytes);
    }
}

before! {
    getw => |a, pc| takes(a[0], Call, pc);
    fgetc_unlocked getc_unlocked __uflow __underflow => |a, pc| takes(a[0], Caller, pc);
    fgetwc getwc fwscanf vfwscanf __isoc99_fwscanf __isoc99_vfwscanf => |a, pc| wide_input(a[0], Call, pc);
    fgetwc_unlocked getwc_unlocked __wuflow __wunderflow => |a, pc| wide_input(a[0], Caller, pc);
    fgetpos fgetpos64 => |a, pc| { writes(a[1], POSITION, pc); input(a[0], Call, pc); };
    fsetpos fsetpos64 => |a, pc| { reads(a[1], POSITION, pc); input(a[0], Call, pc); };
    fseek fseeko fseeko64 rewind ftell ftello ftello64 clearerr
        => |a, pc| input(a[0], Call, pc);
    clearerr_unlocked => |a, pc| input(a[0], Caller, pc);
    feof ferror => |a, pc| asks(a[0], Call, pc);
    feof_unlocked ferror_unlocked => |a, pc| asks(a[0], Caller, pc);
    __freading __fwriting __freadable __fwritable __flbf => |a, pc| asks(a[0], Call, pc);
    __fpending __fbufsize => |a, pc| asks(a[0], Caller, pc);
    __fsetlocking => |a, pc| input(a[0], Caller, pc);
    fwide => |a, pc| input(a[0], Call, pc);
    ungetc ungetwc => |a, pc| input(a[1], Call, pc);
    getchar_unlocked => |_, pc| standard_input(Caller, pc);
    getwchar wscanf vwscanf __isoc99_wscanf __isoc99_vwscanf => |_, pc| wide_standard_input(Call, pc);
    getwchar_unlocked => |_, pc| wide_standard_input(Caller, pc);
    fwprintf vfwprintf __fwprintf_chk __vfwprintf_chk => |a, pc| output(a[0], Call, pc);
    fflush_unlocked __overflow __woverflow => |a, pc| output(a[0], Caller, pc);
    setbuf => |a, pc| { writable(a[1], BUFFER); input(a[0], Call, pc); };
    setbuffer => |a, pc| { writable(a[1], a[2]); input(a[0], Call, pc); };
    setvbuf => |a, pc| { writable(a[1], a[3]); input(a[0], Call, pc); };
    setlinebuf => |a, pc| input(a[0], Call, pc);
    fputs => |a, pc| { reads_text(a[0], pc); output(a[1], Call, pc); };
    fputs_unlocked => |a, pc| { reads_text(a[0], pc); output(a[1], Caller, pc); };
    fputc putc _IO_putc fputwc fputws putwc putw => |a, pc| output(a[1], Call, pc);
    fputc_unlocked putc_unlocked fputwc_unlocked fputws_unlocked putwc_unlocked => |a, pc| output(a[1], Caller, pc);
    fwrite => |a, pc| { reads(a[0], a[1].saturating_mul(a[2]), pc); output(a[3], Call, pc); };
    fwrite_unlocked => |a, pc| { reads(a[0], a[1].saturating_mul(a[2]), pc); output(a[3], Caller, pc); };
    puts => |a, pc| { reads_text(a[0], pc); standard_output(Call, pc); };
    putchar wprintf vwprintf __wprintf_chk __vwprintf_chk putwchar => |_, pc| standard_output(Call, pc);
    putchar_unlocked putwchar_unlocked => |_, pc| standard_output(Caller, pc);
    perror => |a, pc| reads_text(a[0], pc);
    fclose => |a, pc| close(a[0], pc);
}
