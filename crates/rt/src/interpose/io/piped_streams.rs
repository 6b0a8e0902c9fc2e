//! Reading a pipe by a stream.
//!
//! The C library goes on reading until a function has all it wants, and inside it no other thread
//! could run. So the runtime reads in its place, as much at a time as the C library would ask the
//! kernel for, and waits before each time. It holds the lock of the stream meanwhile, unless it is
//! a function that does not (`fgets_unlocked`): other threads do not get the rest of its line.
//!
//! Scanning cannot be taken to pieces: where it would have to wait, the run ends.

use core::ffi::c_void;

use crate::arch::entry::export;
use crate::interpose::io::stream_locks::Locking;
use crate::interpose::io::{descriptor_uses, descriptors, net, stream_locks, streams};
use crate::syscall::libc_real::real;
use crate::syscall::{errno, set_errno, syscall};

real! { hidden:
    fn fgetc(stream: *mut c_void) -> i32;
    fn fread(into: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
}

/// A call that reads from a stream of a pipe.
pub struct PipedStream {
    stream: usize,
    descriptor: i32,
    pc: u64,
    has_begun: bool,
    locking: Locking,
}

impl PipedStream {
    /// The call from `pc`, if the stream is one of a pipe and the program is under control.
    pub fn of(stream: usize, locking: Locking, pc: u64) -> Option<Self> {
        let descriptor = streams::channel_of(stream)?;
        Some(PipedStream { stream, descriptor, pc, has_begun: false, locking })
    }

    /// Waits until the C library can go on without waiting.
    fn get_ready(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            if self.locking == Locking::Call {
                stream_locks::hold(self.stream, self.pc);
            }
            streams::takes(self.stream, self.locking, self.pc);
        } else if streams::has_read_all(self.stream) {
            descriptor_uses::wait_for(self.descriptor, libc::POLLIN, self.pc).end();
        }
    }

    /// The next byte; `None` at the end and after an error.
    pub fn byte(&mut self) -> Option<u8> {
        self.get_ready();
        // SAFETY: the program passes a stream.
        u8::try_from(unsafe { hidden::fgetc(self.stream as *mut c_void) }).ok()
    }

    /// Reads so many bytes, fewer only at the end and after an error; how many it has read.
    pub fn bytes(&mut self, into: usize, wanted: usize) -> usize {
        let mut done = 0;
        while done < wanted {
            self.get_ready();
            let piece = self.piece(into + done, wanted - done);
            if piece == 0 {
                break;
            }
            done += piece;
        }
        done
    }

    /// What can be read without waiting; 0 at the end and after an error.
    fn piece(&mut self, into: usize, wanted: usize) -> usize {
        let buffered = streams::buffered(self.stream).min(wanted);
        if buffered > 0 {
            // SAFETY: the program passes a stream and room for more bytes.
            return unsafe { hidden::fread(into as *mut c_void, 1, buffered, self.stream as *mut c_void) };
        }
        let direct = if streams::has_read_all(self.stream) { self.direct(into, wanted) } else { 0 };
        if direct > 0 {
            return direct;
        }
        // Fills the buffer, or notes the end or the error.
        // SAFETY: the program passes a stream.
        let Ok(byte) = u8::try_from(unsafe { hidden::fgetc(self.stream as *mut c_void) }) else { return 0 };
        // SAFETY: the program passes room for more bytes.
        unsafe { *(into as *mut u8) = byte };
        1
    }

    /// What does not fit into the buffer is read around it, in whole blocks.
    fn direct(&self, into: usize, wanted: usize) -> usize {
        const SMALL: usize = 128;
        let block = streams::room(self.stream);
        if block == 0 || wanted < block {
            return 0;
        }
        let count = if block >= SMALL { wanted - wanted % block } else { wanted };
        // SAFETY: the program passes room for more bytes.
        let read = unsafe { syscall!(libc::SYS_read, self.descriptor, into, count) };
        read.max(0).cast_unsigned()
    }

    /// Whether the last byte was missing because of an error that the program is told of.
    pub fn has_failed(&self) -> bool {
        !streams::is_at_end(self.stream) && errno() != libc::EAGAIN
    }

    /// The call is over.
    pub fn end(self) {
        if self.has_begun && self.locking == Locking::Call {
            stream_locks::release(self.stream, self.pc);
        }
    }
}

/// Calls a function of the C library that reads from the stream, having waited for a first byte.
/// The run ends here if it would have to wait for more.
pub fn scan<R>(stream: usize, name: &[u8], pc: u64, call: impl FnOnce() -> R) -> R {
    let Some(mut input) = PipedStream::of(stream, Locking::Call, pc) else {
        streams::takes(stream, Locking::Call, pc);
        return call();
    };
    input.get_ready();
    let result = without_waiting(stream, name, pc, call);
    input.end();
    result
}

/// `fgetc` and its kin.
extern "C" fn read_byte(stream: usize, pc: u64) -> i32 {
    if let Some(mut input) = PipedStream::of(stream, Locking::Call, pc) {
        let byte = input.byte();
        input.end();
        return byte.map_or(libc::EOF, i32::from);
    }
    streams::takes(stream, Locking::Call, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::fgetc(stream as *mut c_void) }
}

/// `getchar`.
extern "C" fn read_input_byte(pc: u64) -> i32 {
    read_byte(streams::input_stream(), pc)
}

/// Calls a function that need not wait for its first byte. The run ends if it would have to wait.
pub fn without_waiting<R>(stream: usize, name: &[u8], pc: u64, call: impl FnOnce() -> R) -> R {
    let Some(descriptor) = streams::channel_of(stream).filter(|&at| !descriptors::is_nonblocking(at)) else {
        return call();
    };
    let before = errno();
    set_errno(0);
    set_nonblocking(descriptor, true);
    let result = call();
    set_nonblocking(descriptor, false);
    if errno() == libc::EAGAIN {
        net::gives_up(name, pc);
    }
    if errno() == 0 {
        set_errno(before);
    }
    result
}

/// Whether reading the descriptor waits. No other thread uses it meanwhile.
fn set_nonblocking(descriptor: i32, on: bool) {
    // SAFETY: asks for and sets the flags of a descriptor that is open.
    unsafe {
        let flags = syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) as i32 & !libc::O_NONBLOCK;
        let flags = if on { flags | libc::O_NONBLOCK } else { flags };
        syscall!(libc::SYS_fcntl, descriptor, libc::F_SETFL, flags);
    }
}

export!(fgetc, 1 => read_byte);
export!(getc, 1 => read_byte);
export!(_IO_getc, 1 => read_byte);
export!(getchar, 0 => read_input_byte);
