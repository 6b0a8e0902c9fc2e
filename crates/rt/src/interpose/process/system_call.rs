//! `syscall()`: futexes, clocks and numbers of threads are modelled; other calls go to the kernel.

use crate::arch::entry::{export, return_address};
use crate::interpose::process::{random_bytes, time};
use crate::interpose::sync::futex::{self, Call};
use crate::interpose::thread::{affinity, identity};
use crate::restore::snapshot;
use crate::sched::controller::note_limit;
use crate::state::{controlled, process};
use crate::syscall::libc_real::real;
use crate::syscall::{self, set_errno};
use raddle_wire::limit;

real! { hidden:
    fn syscall(number: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64;
}

extern "C-unwind" fn system_call(number: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64 {
    let pc = return_address();
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::syscall(number, a, b, c, d, e, f) };
    }
    let result = match number {
        libc::SYS_futex => futex::perform(&Call {
            word: a as u64,
            operation: b as i32,
            value: c as u32,
            time: d,
            other: e as u64,
            value3: f as u32,
            pc,
        }),
        libc::SYS_getpid => i64::from(process().pid),
        libc::SYS_gettid => i64::from(identity::number()),
        libc::SYS_sched_getaffinity => affinity::get(a as i32, b, c as *mut u8),
        libc::SYS_sched_setaffinity => affinity::set(a as i32, b, c as *const u8),
        libc::SYS_getrandom => random_bytes::random(a as *mut u8, b, c as u32),
        libc::SYS_sched_yield => i64::from(identity::yield_now(pc)),
        libc::SYS_clock_gettime => i64::from(time::clock_gettime(a as i32, b as *mut libc::timespec, pc)),
        libc::SYS_nanosleep => -i64::from(time::sleep_span(a as *const libc::timespec, pc)),
        libc::SYS_clock_nanosleep => {
            -i64::from(time::clock_nanosleep(a as i32, b as i32, c as *const libc::timespec, core::ptr::null_mut(), pc))
        }
        _ => pass_on(number, [a, b, c, d, e, f]),
    };
    if result < 0 && result > -4096 {
        set_errno(-result as i32);
        return -1;
    }
    result
}

/// Calls that neither block nor change anything that outlives the run.
fn is_harmless(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_getppid
            | libc::SYS_getuid
            | libc::SYS_geteuid
            | libc::SYS_getgid
            | libc::SYS_getegid
            | libc::SYS_membarrier
            | libc::SYS_getcpu
            | libc::SYS_uname
            | libc::SYS_sysinfo
            | libc::SYS_madvise
            | libc::SYS_mincore
            | libc::SYS_prlimit64
            | libc::SYS_getrlimit
            | libc::SYS_rt_sigpending
    )
}

fn pass_on(number: i64, operands: [usize; 6]) -> i64 {
    if !is_harmless(number) {
        note_limit(limit::SYSTEM_CALL);
    }
    // SAFETY: what the program asks of the kernel.
    let result = unsafe { syscall::call(number, operands) };
    if result != -(libc::EFAULT as isize) {
        return result as i64;
    }
    // The kernel may have met a page that the snapshot has made read-only.
    const ROOM: usize = 1 << 16;
    for operand in operands {
        snapshot::touch(operand as *const u8, ROOM);
    }
    // SAFETY: as above: the call failed before it did anything.
    unsafe { syscall::call(number, operands) as i64 }
}

export!(syscall, many => system_call);
