//! One process of which each target is a fork, so that all targets have equal addresses where the
//! system does not let randomisation be switched off. The host's side is `exec::fork_server`.

use crate::arch::syscall::dup2;
use crate::syscall::libc_real::real;
use crate::syscall::{exit_process, syscall};

/// Files that a request brings along: the shared one, standard input, output and error.
const FILES: usize = 4;

real! { hidden:
    fn fork() -> i32;
}

/// Ancillary data with descriptors, as the kernel lays it out.
#[repr(C)]
struct Rights {
    len: usize,
    level: i32,
    kind: i32,
    files: [i32; FILES],
}

/// Serves requests for as long as the host lives. Returns in each target, with the descriptor of
/// the file that it shares with the host.
pub fn serve(socket: i32) -> i32 {
    while let Some((host, files)) = receive(socket) {
        // SAFETY: the C library's own fork; the process has one thread.
        let middle = unsafe { hidden::fork() };
        if middle == 0 {
            // SAFETY: as above. Its parent ends, so that the target is a child of the host, which
            // inherits orphans.
            match unsafe { hidden::fork() } {
                0 => return become_target(socket, host, files),
                target => {
                    answer(socket, target);
                    exit_process(0);
                }
            }
        }
        if middle < 0 {
            answer(socket, -1);
        }
        for file in files {
            // SAFETY: closes what came with the request.
            unsafe { syscall!(libc::SYS_close, file) };
        }
        // SAFETY: waits for the process in the middle, which ends at once.
        unsafe { syscall!(libc::SYS_wait4, middle, 0usize, 0usize, 0usize) };
    }
    exit_process(0)
}

fn answer(socket: i32, target: i32) {
    // SAFETY: writes a local.
    unsafe { syscall!(libc::SYS_write, socket, &raw const target, size_of::<i32>()) };
}

/// The next request: the host's number, and files. `None` when the host is gone.
fn receive(socket: i32) -> Option<(i32, [i32; FILES])> {
    let mut host = 0i32;
    let mut part = libc::iovec { iov_base: (&raw mut host).cast(), iov_len: size_of::<i32>() };
    let mut rights = Rights { len: 0, level: 0, kind: 0, files: [-1; FILES] };
    // SAFETY: an all-zero header is a valid value to be filled in.
    let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut rights).cast();
    header.msg_controllen = size_of::<Rights>();
    // SAFETY: all buffers are locals of the sizes that the header says.
    let received = unsafe { syscall!(libc::SYS_recvmsg, socket, &raw mut header, 0usize) };
    let has_files = rights.level == libc::SOL_SOCKET && rights.kind == libc::SCM_RIGHTS;
    (received == size_of::<i32>() as isize && has_files).then_some((host, rights.files))
}

/// Takes the files of the request as its own, and dies with the host.
fn become_target(socket: i32, host: i32, files: [i32; FILES]) -> i32 {
    let [shared, streams @ ..] = files;
    // SAFETY: system calls with values only.
    unsafe {
        syscall!(libc::SYS_close, socket);
        syscall!(libc::SYS_setpgid, 0usize, 0usize);
        for (number, file) in streams.into_iter().enumerate() {
            dup2(file, number as i32);
            syscall!(libc::SYS_close, file);
        }
        // The signal comes when the parent ends, and the process in the middle is about to.
        loop {
            let parent = syscall!(libc::SYS_getppid) as i32;
            if parent == host {
                break;
            }
            // The host is gone, or cannot inherit orphans.
            if parent <= 1 {
                exit_process(0);
            }
            syscall!(libc::SYS_sched_yield);
        }
        syscall!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if syscall!(libc::SYS_getppid) as i32 != host {
            exit_process(0);
        }
    }
    shared
}
