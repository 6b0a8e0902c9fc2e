//! Child processes. A child runs by itself, outside of the search, which is named in the report:
//! what it does to files, and to whom it talks, is not known.
//!
//! To wait for a child is a transition that blocks its thread, not the program. How long the child
//! takes must make no difference, so no thread asks whether it has ended: a thread that waits goes
//! on when no other thread can, or when the schedule says so, and then really waits. A schedule
//! that lets it go on too early, because the child waits for another thread of the program, cannot
//! be followed.
//!
//! What a run leaves behind is killed at its end, and its exit is collected.

use core::ffi::c_void;

use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::interpose::io::regular_files::thing;
use crate::interpose::process::counter;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut c_void) -> i32;
    fn waitid(kind: i32, id: u32, info: *mut libc::siginfo_t, options: i32) -> i32;
    fn pclose(stream: *mut c_void) -> i32;
}

/// Milliseconds after which a child is taken to wait for the program, where the schedule lets a
/// thread wait for it.
const SOON: u32 = 1_000;
/// The same where no other thread can go on.
const LATE: u32 = 8_000;

/// A child process is about to be started.
pub fn starts() {
    if controlled() {
        note_limit(limit::CHILD_PROCESS);
        undo::needs_own_process();
        counter::let_children_read();
        run().has_children = true;
    }
}

/// All children are one object.
fn object() -> u64 {
    io::file(thing(0, 23))
}

/// What a call waits for, as `waitid` has it.
#[derive(Clone, Copy)]
struct Awaited {
    kind: i32,
    id: u32,
    options: i32,
}

impl Awaited {
    /// As `waitpid` says it.
    fn by_number(pid: i32, options: i32) -> Self {
        let (kind, id) = match pid {
            -1 => (libc::P_ALL, 0),
            0 => (libc::P_PGID, 0),
            1.. => (libc::P_PID, pid as u32),
            _ => (libc::P_PGID, pid.unsigned_abs()),
        };
        let options = options & (libc::WUNTRACED | libc::WCONTINUED);
        Awaited { kind: kind as i32, id, options: options | libc::WEXITED }
    }

    /// Whether a wait would be over now: there is such a child, or none that could be waited for.
    fn is_over(self) -> bool {
        // SAFETY: all-zero is a valid value.
        let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
        let options = self.options | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the description is a local.
        let failed = unsafe { syscall!(libc::SYS_waitid, self.kind, self.id, &raw mut info, options, 0usize) } < 0;
        failed || info.si_signo != 0
    }

    /// Waits for so long; whether it is over.
    fn is_over_within(self, milliseconds: u32) -> bool {
        let nap = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        for _ in 0..milliseconds {
            if self.is_over() {
                return true;
            }
            // SAFETY: sleeps; the span is a local.
            unsafe { syscall!(libc::SYS_nanosleep, &raw const nap, 0usize) };
        }
        self.is_over()
    }
}

/// Waits until the call cannot block, as a transition. A call that never waits finds what a child
/// has done that does not wait for the program.
fn wait(awaited: Awaited, never_waits: bool, pc: u64) {
    let events = if never_waits { 0 } else { io::WAITS_FOR_CHILD };
    let op = AnnouncedOp::new(OpKind::Io, object(), io::waits_for(0, events), pc);
    sched::arrive(op);
    if never_waits {
        awaited.is_over_within(SOON);
        return sched::commit(&op, Outcome::Done, 0, 0);
    }
    let is_scheduled = process().plan.at < process().plan.len;
    if !awaited.is_over_within(if is_scheduled { SOON } else { LATE }) {
        if is_scheduled {
            sched::diverge();
        }
        note_limit(limit::EXTERNAL_WAIT);
        sched::finish(raddle_vocab::RunStatus::Cut, 0);
    }
    sched::commit(&op, Outcome::Done, 0, 0);
}

fn wait_for(pid: i32, status: *mut i32, options: i32, usage: *mut c_void, pc: u64) -> i32 {
    if controlled() {
        wait(Awaited::by_number(pid, options), options & libc::WNOHANG != 0, pc);
        touch(status.cast(), size_of::<i32>());
        touch(usage.cast(), size_of::<libc::rusage>());
    }
    // SAFETY: passes on what the caller gave.
    let found = unsafe { hidden::wait4(pid, status, options, usage) };
    if found > 0 && !status.is_null() {
        writes(status as usize, size_of::<i32>(), pc);
    }
    found
}

extern "C" fn wait_any(status: *mut i32, pc: u64) -> i32 {
    wait_for(-1, status, 0, core::ptr::null_mut(), pc)
}

extern "C" fn wait_any_with_usage(status: *mut i32, options: i32, usage: *mut c_void, pc: u64) -> i32 {
    wait_for(-1, status, options, usage, pc)
}

extern "C" fn wait_one(pid: i32, status: *mut i32, options: i32, pc: u64) -> i32 {
    wait_for(pid, status, options, core::ptr::null_mut(), pc)
}

extern "C" fn wait_with_usage(pid: i32, status: *mut i32, options: i32, usage: *mut c_void, pc: u64) -> i32 {
    wait_for(pid, status, options, usage, pc)
}

extern "C" fn wait_by_kind(kind: i32, id: u32, info: *mut libc::siginfo_t, options: i32, pc: u64) -> i32 {
    if controlled() {
        if options & (libc::WEXITED | libc::WSTOPPED | libc::WCONTINUED) == 0 {
            set_errno(libc::EINVAL);
            return -1;
        }
        let awaited = Awaited { kind, id, options: options & !(libc::WNOHANG | libc::WNOWAIT) };
        wait(awaited, options & libc::WNOHANG != 0, pc);
        touch(info.cast(), size_of::<libc::siginfo_t>());
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::waitid(kind, id, info, options) };
    if result == 0 {
        writes(info as usize, size_of::<libc::siginfo_t>(), pc);
    }
    result
}

/// Closes the stream of a command, whose input ends with that, and waits for the command.
extern "C" fn close_command(stream: *mut c_void, pc: u64) -> i32 {
    if controlled() {
        sched::perform(AnnouncedOp::new(OpKind::Io, object(), 0, pc), Outcome::Done, 0, 0);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::pclose(stream) }
}

/// The run is over: its children end, and their exits are collected.
pub fn end_all() {
    const MOST: usize = 4096;
    if !core::mem::take(&mut run().has_children) {
        return;
    }
    let mut text = [0u8; MOST];
    // SAFETY: opens a file of the kernel by its name, and reads it into the local.
    let len = unsafe {
        let path = c"/proc/thread-self/children";
        let file = syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let len = if file < 0 { 0 } else { syscall!(libc::SYS_read, file, text.as_mut_ptr(), MOST) };
        syscall!(libc::SYS_close, file);
        len.max(0) as usize
    };
    let numbers = text[..len].split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    for digits in numbers {
        let number =
            digits.iter().fold(0i32, |number, digit| number.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
        // SAFETY: ends a child of this process and collects its exit.
        unsafe {
            syscall!(libc::SYS_kill, number, libc::SIGKILL);
            syscall!(libc::SYS_wait4, number, 0usize, 0usize, 0usize);
        }
    }
}

export!(wait, 1 => wait_any);
export!(wait3, 3 => wait_any_with_usage);
export!(waitpid, 3 => wait_one);
export!(wait4, 4 => wait_with_usage);
export!(waitid, 4 => wait_by_kind);
export!(pclose, 1 => close_command);
