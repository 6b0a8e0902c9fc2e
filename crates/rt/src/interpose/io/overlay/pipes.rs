//! Named pipes that a run has made. The kernel's pipe is made with the first descriptor, and is
//! held by a descriptor without access, which counts as none of its ends.

use raddle_wire::limit;

use super::opening::Opened;
use super::{Errno, NodeNumber, close, hold, overlay, reopen};
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::regular_files;
use crate::sched::controller::note_limit;
use crate::syscall::syscall;

/// The kernel's pipe, without access.
fn pipe(number: NodeNumber) -> Result<i32, Errno> {
    let held = overlay().node(number).held;
    if held >= 0 {
        return Ok(held);
    }
    let mut ends = [0i32; 2];
    // SAFETY: two descriptors are written into the local.
    let result = unsafe { syscall!(libc::SYS_pipe2, ends.as_mut_ptr(), libc::O_CLOEXEC) };
    if result < 0 {
        return Err(-result as Errno);
    }
    let bare = reopen(ends[0], libc::O_PATH | libc::O_CLOEXEC) as i32;
    let held = hold(bare);
    for descriptor in [ends[0], ends[1], bare] {
        close(descriptor);
    }
    overlay().node(number).held = held?;
    held
}

/// Whether a descriptor of the run can read from the pipe.
fn has_reader(number: NodeNumber) -> bool {
    (0..MAX_CHANNELS as i32).any(|descriptor| {
        // SAFETY: asks for the flags of a descriptor.
        let flags = || unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) } as i32;
        let reads = |flags: i32| flags & libc::O_PATH == 0 && flags & libc::O_ACCMODE != libc::O_WRONLY;
        regular_files::node(descriptor) == number && reads(flags())
    })
}

/// Opens a named pipe. A thread that would wait for the other end does not: that is named.
pub fn open(number: NodeNumber, flags: i32) -> Result<Opened, Errno> {
    if overlay().node(number).about.st_mode & libc::S_IFMT != libc::S_IFIFO {
        return Err(libc::ENXIO);
    }
    let held = pipe(number)?;
    let waits = flags & libc::O_NONBLOCK == 0 && flags & libc::O_ACCMODE != libc::O_RDWR;
    if waits {
        note_limit(limit::FILES);
    } else if flags & libc::O_ACCMODE == libc::O_WRONLY && !has_reader(number) {
        return Err(libc::ENXIO);
    }
    let result = reopen(held, flags | libc::O_NONBLOCK);
    if result < 0 {
        return Err(-result as Errno);
    }
    // SAFETY: sets the flags that the program asked for.
    unsafe { syscall!(libc::SYS_fcntl, result, libc::F_SETFL, flags & (libc::O_NONBLOCK | libc::O_APPEND)) };
    Ok(Opened { descriptor: result as i32, node: number })
}
