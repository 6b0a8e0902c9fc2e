//! Transfers over channels of the kernel's that it would not do at once. A call that writes more
//! than there is room for waits for room again and again: each part is a transition of its own. The
//! kernel itself never waits, because then no other thread could run.

use core::ffi::c_void;

use raddle_vocab::io::ChannelKind;

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::descriptor_uses::wait_for;
use crate::interpose::io::descriptors::{channel, is_nonblocking, moves};
use crate::interpose::io::net;
use crate::interpose::io::partial::{self, Portion};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::restore::snapshot::touch;
use crate::state::controlled;
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

/// Whether the descriptor is an end of a pipe or of a pair of sockets.
fn is_stream(descriptor: i32) -> bool {
    let identity = channel(descriptor);
    identity != 0 && matches!(ChannelKind::of(identity), Some(ChannelKind::Pipe | ChannelKind::SocketPair))
}

/// Makes a system call on a descriptor that waits, without waiting.
fn at_once(descriptor: i32, call: impl FnOnce() -> isize) -> isize {
    // SAFETY: changes a flag of the open file, and sets it back before any other thread can run.
    unsafe {
        let flags = syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL);
        syscall!(libc::SYS_fcntl, descriptor, libc::F_SETFL, flags as i32 | libc::O_NONBLOCK);
        let result = call();
        syscall!(libc::SYS_fcntl, descriptor, libc::F_SETFL, flags);
        result
    }
}

/// Writes more than a pipe takes at once. `None` if the call needs no such care.
pub fn write(descriptor: i32, from: *const c_void, bytes: usize, pc: u64) -> Option<isize> {
    if !controlled() || bytes <= libc::PIPE_BUF || !is_stream(descriptor) || is_nonblocking(descriptor) {
        return None;
    }
    reads(from as usize, bytes, pc);
    let mut done = 0;
    loop {
        let used = wait_for(descriptor, libc::POLLOUT, pc);
        moves(used.number);
        let (number, left) = (used.number, bytes - done);
        // SAFETY: passes on what the caller gave.
        let result = at_once(number, || unsafe {
            syscall!(libc::SYS_write, number, from.cast::<u8>().wrapping_add(done), left)
        });
        used.end();
        match result {
            1.. if done + result as usize == bytes => return Some(bytes as isize),
            1.. => done += result as usize,
            _ if result == -(libc::EAGAIN as isize) => {}
            _ if done > 0 => return Some(done as isize),
            _ => {
                set_errno(-result as i32);
                return Some(-1);
            }
        }
    }
}

real! { hidden:
    fn sendfile(to: i32, from: i32, offset: *mut i64, bytes: usize) -> isize;
}

/// `sendfile` reads one file, at its own offset or at the one that is given, and writes another
/// one. The latter is what others see, so it comes last.
extern "C" fn send_file(to: i32, from: i32, offset: *mut i64, bytes: usize, pc: u64) -> isize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sendfile(to, from, offset, bytes) };
    }
    net::gives_up_on(to, b"sendfile", pc);
    net::tap::misses(to, b"sendfile");
    touch(offset.cast(), size_of::<i64>());
    if offset.is_null() {
        regular_files::touches_at_offset(from, FileAccess::Observe, pc);
    } else {
        regular_files::touches(from, FileAccess::Observe, pc);
    }
    let used = wait_for(to, libc::POLLOUT, pc);
    moves(used.number);
    // SAFETY: passes on what the caller gave.
    let call = || unsafe { hidden::sendfile(used.number, from, offset, bytes) };
    let result = if is_stream(to) { at_once(used.number, call) } else { call() };
    writes(offset as usize, size_of::<i64>(), pc);
    used.end();
    result
}

export!(sendfile, 4 => send_file);
export!(sendfile64, 4 => send_file);

/// How much of a read of so many bytes is done, if that is a choice of the search.
pub fn choose(descriptor: i32, bytes: usize, pc: u64) -> Portion {
    if controlled() && is_stream(descriptor) { partial::choose(bytes, pc) } else { Portion::All }
}

/// The bytes to ask for: those of the portion, of what is there.
pub fn shortened(descriptor: i32, portion: Portion, bytes: usize) -> usize {
    if portion == Portion::All {
        return bytes;
    }
    let mut there = 0i32;
    // SAFETY: asks for the bytes that are there, into a local.
    unsafe { syscall!(libc::SYS_ioctl, descriptor, libc::FIONREAD, &raw mut there) };
    if there <= 0 { bytes } else { portion.of(bytes.min(there as usize)) }
}
