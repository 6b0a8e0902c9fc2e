//! `syscall()`: futexes, clocks, numbers of threads, calls on files and child processes are
//! modelled; other calls go to the kernel.

use raddle_wire::CALL_NAME_BYTES;

use crate::arch::entry::{export, return_address};
use crate::interpose::io::calls as file_calls;
use crate::interpose::process::{clones, end, random_bytes, settings, time};
use crate::interpose::sync::futex::{self, Call};
use crate::interpose::thread::{affinity, identity, schedule};
use crate::library::{self, CallKind, calls};
use crate::restore::snapshot;
use crate::state::{controlled, process};
use crate::syscall::libc_real::real;
use crate::syscall::{self, set_errno};

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
        libc::SYS_exit_group => end::end_process(a as i32, pc),
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
        libc::SYS_sched_getaffinity => affinity::get(a as i32, b, c as *mut u8, pc),
        libc::SYS_sched_setaffinity => affinity::set(a as i32, b, c as *const u8, pc),
        libc::SYS_prctl => identity::control(a as i32, [b, c, d, e], pc),
        libc::SYS_prlimit64 => settings::process_limit(a as i32, b as i32, c as *const _, d as *mut _, pc),
        libc::SYS_getrlimit => settings::process_limit(0, a as i32, core::ptr::null(), b as *mut _, pc),
        libc::SYS_setrlimit => settings::process_limit(0, a as i32, b as *const _, core::ptr::null_mut(), pc),
        libc::SYS_sched_setscheduler => schedule::set_by_number(a as i32, Some(b as i32), c as *const _, pc),
        libc::SYS_sched_getscheduler => schedule::policy_of(a as i32, pc),
        libc::SYS_sched_setparam => schedule::set_by_number(a as i32, None, b as *const _, pc),
        libc::SYS_sched_getparam => schedule::parameter_of(a as i32, b as *mut _, pc),
        libc::SYS_getpriority => schedule::priority_of(a as i32, b as i32, pc),
        libc::SYS_setpriority => schedule::set_priority(a as i32, b as i32, c as i32, pc),
        libc::SYS_getrandom => random_bytes::random(a as *mut u8, b, c as u32),
        libc::SYS_sched_yield => i64::from(identity::yield_now(pc)),
        libc::SYS_clock_gettime => i64::from(time::clock_gettime(a as i32, b as *mut libc::timespec, pc)),
        libc::SYS_nanosleep => -i64::from(time::sleep_span(a as *const libc::timespec, pc)),
        libc::SYS_clock_nanosleep => {
            -i64::from(time::clock_nanosleep(a as i32, b as i32, c as *const libc::timespec, core::ptr::null_mut(), pc))
        }
        _ => match file_calls::by_number(number, [a, b, c, d, e, f], pc) {
            Some(result) => result as i64,
            None => clones::by_number(number, [a, b, c, d, e, f], pc)
                .unwrap_or_else(|| pass_on(number, [a, b, c, d, e, f], pc)),
        },
    };
    if result < 0 && result > -4096 {
        set_errno(-result as i32);
        return -1;
    }
    result
}

/// The kernel makes the call. Its effect is not part of the search, unless the list says that it
/// has none.
fn pass_on(number: i64, operands: [usize; 6], pc: u64) -> i64 {
    match library::system_call(number) {
        Some((name, CallKind::Unmodelled(_))) => calls::note(Text::of(name).bytes(), pc),
        Some(_) => {}
        None => calls::note(Text::number(number).bytes(), pc),
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

/// How a call is named: `syscall(SYS_bpf)`.
struct Text {
    bytes: [u8; CALL_NAME_BYTES],
    len: usize,
}

impl Text {
    fn of(name: &str) -> Self {
        Text::new(&[b"syscall(SYS_", name.as_bytes(), b")"])
    }

    fn number(number: i64) -> Self {
        let mut digits = [0; 20];
        let (mut start, mut left) = (digits.len(), number.unsigned_abs());
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        Text::new(&[b"syscall(", if number < 0 { b"-" } else { b"" }, &digits[start..], b")"])
    }

    fn new(parts: &[&[u8]]) -> Self {
        let mut text = Text { bytes: [0; CALL_NAME_BYTES], len: 0 };
        for &byte in parts.iter().flat_map(|part| part.iter()).take(CALL_NAME_BYTES) {
            text.bytes[text.len] = byte;
            text.len += 1;
        }
        text
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

export!(syscall, unknown => system_call);
