//! Sleeping and reading clocks, in virtual time. Neither is a transition: a sleep may end at any
//! later point, and the order of the next transitions decides when.

use core::ffi::c_void;

use raddle_wire::limit;

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers::writes;
use crate::interpose::io::readiness;
use crate::interpose::thread::cancel;
use crate::library::calls;
use crate::sched::controller::note_limit;
use crate::sched::virtual_time::{self, EPOCH, SECOND};
use crate::sched::{self, timeouts};
use crate::state::{ThreadStatus, controlled, process, run};
use crate::state_key;
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;

const ABSOLUTE: i32 = libc::TIMER_ABSTIME;

real! { hidden:
    fn nanosleep(span: *const libc::timespec, left: *mut libc::timespec) -> i32;
    fn clock_nanosleep(clock: i32, flags: i32, span: *const libc::timespec, left: *mut libc::timespec) -> i32;
    fn usleep(microseconds: u32) -> i32;
    fn sleep(seconds: u32) -> u32;
    fn clock_gettime(clock: i32, time: *mut libc::timespec) -> i32;
    fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> i32;
    fn time(time: *mut i64) -> i64;
    fn timespec_get(time: *mut libc::timespec, base: i32) -> i32;
    fn times(times: *mut libc::tms) -> i64;
    fn clock() -> i64;
    fn poll(descriptors: *mut c_void, count: u64, milliseconds: i32) -> i32;
    fn ppoll(descriptors: *mut c_void, count: u64, span: *const libc::timespec, mask: *const c_void) -> i32;
    fn pselect(
        count: i32,
        read: *mut c_void,
        write: *mut c_void,
        except: *mut c_void,
        span: *const libc::timespec,
        mask: *const c_void,
    ) -> i32;
    fn select(
        count: i32,
        read: *mut c_void,
        write: *mut c_void,
        except: *mut c_void,
        timeout: *mut libc::timeval,
    ) -> i32;
}

/// Sleeps of a thread after the exit of the process that use up all the events that are left.
const SLEEPS_AT_EXIT: u64 = 16;
/// Sleeps without a transition in between after which a thread stops for good if the process has
/// exited.
const IDLE_AT_EXIT: u32 = 4;

/// The running thread sleeps for this long. This is a cancellation point.
fn sleep_for(nanoseconds: u64, pc: u64) {
    cancel::point(pc);
    if run().exit.is_some() {
        sleep_at_exit();
    }
    virtual_time::slept(nanoseconds);
    crate::interpose::process::timers::after_sleep();
    timeouts::time_passes(pc);
    state_key::holds_nothing();
}

/// The running thread sleeps although the process has exited. It goes on as it could have done
/// before the exit, but not for long: it may do so for ever.
fn sleep_at_exit() {
    if run().me().private.idle_calls >= IDLE_AT_EXIT {
        sched::leave(ThreadStatus::Exited);
    }
    let share = process().exit_events / SLEEPS_AT_EXIT;
    run().hot.events_left -= i64::try_from(share).unwrap_or(i64::MAX);
}

/// `nanosleep` and `thrd_sleep`, under control: 0 or an error code.
pub fn sleep_span(span: *const libc::timespec, pc: u64) -> i32 {
    // SAFETY: the caller passes a span or null.
    match unsafe { span.as_ref() }.and_then(virtual_time::span) {
        Some(nanoseconds) => {
            sleep_for(nanoseconds, pc);
            0
        }
        None => libc::EINVAL,
    }
}

extern "C-unwind" fn nanosleep(span: *const libc::timespec, left: *mut libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::nanosleep(span, left) };
    }
    match sleep_span(span, pc) {
        0 => 0,
        code => {
            set_errno(code);
            -1
        }
    }
}

/// `clock_nanosleep`, which returns its error code.
pub extern "C-unwind" fn clock_nanosleep(
    clock: i32,
    flags: i32,
    span: *const libc::timespec,
    left: *mut libc::timespec,
    pc: u64,
) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::clock_nanosleep(clock, flags, span, left) };
    }
    if flags & ABSOLUTE == 0 {
        return sleep_span(span, pc);
    }
    let Some(deadline) = virtual_time::deadline(span) else { return libc::EINVAL };
    sleep_for(deadline.saturating_sub(run().me().clock), pc);
    0
}

extern "C-unwind" fn usleep(microseconds: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::usleep(microseconds) };
    }
    sleep_for(u64::from(microseconds) * 1_000, pc);
    0
}

extern "C-unwind" fn sleep(seconds: u32, pc: u64) -> u32 {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::sleep(seconds) };
    }
    sleep_for(u64::from(seconds) * SECOND, pc);
    0
}

/// What a clock of the system shows; `None` if it is not modelled.
fn show(clock: i32) -> Option<u64> {
    match clock {
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(virtual_time::read()),
        0..=11 => Some(EPOCH + virtual_time::read()),
        // Clocks of the processor time of a certain process or thread have negative numbers.
        ..0 => Some(virtual_time::read()),
        _ => None,
    }
}

fn parts(nanoseconds: u64) -> libc::timespec {
    libc::timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 }
}

/// `clock_gettime`.
pub extern "C" fn clock_gettime(clock: i32, time: *mut libc::timespec, pc: u64) -> i32 {
    writes(time as usize, size_of::<libc::timespec>(), pc);
    let shown = if controlled() { show(clock) } else { None };
    let Some(shown) = shown else {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::clock_gettime(clock, time) };
    };
    // SAFETY: the caller passes room for the time.
    unsafe { *time = parts(shown) };
    0
}

/// The time of day, under control.
fn now() -> u64 {
    EPOCH + virtual_time::read()
}

extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void, pc: u64) -> i32 {
    writes(time as usize, size_of::<libc::timeval>(), pc);
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::gettimeofday(time, zone) };
    }
    let shown = parts(now());
    if !time.is_null() {
        // SAFETY: the caller passes room for the time.
        unsafe { *time = libc::timeval { tv_sec: shown.tv_sec, tv_usec: shown.tv_nsec / 1_000 } };
    }
    0
}

extern "C" fn time(time: *mut i64, pc: u64) -> i64 {
    writes(time as usize, size_of::<i64>(), pc);
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::time(time) };
    }
    let seconds = parts(now()).tv_sec;
    if !time.is_null() {
        // SAFETY: the caller passes room for the time.
        unsafe { *time = seconds };
    }
    seconds
}

extern "C" fn timespec_get(time: *mut libc::timespec, base: i32, pc: u64) -> i32 {
    const UTC: i32 = 1;
    writes(time as usize, size_of::<libc::timespec>(), pc);
    if !controlled() || base != UTC {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timespec_get(time, base) };
    }
    // SAFETY: the caller passes room for the time.
    unsafe { *time = parts(now()) };
    base
}

extern "C" fn times(times: *mut libc::tms, pc: u64) -> i64 {
    writes(times as usize, size_of::<libc::tms>(), pc);
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::times(times) };
    }
    const TICKS: u64 = 100;
    let ticks = (now() - EPOCH) / (SECOND / TICKS);
    if !times.is_null() {
        // SAFETY: the caller passes room for the times.
        unsafe { *times = libc::tms { tms_utime: ticks as i64, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 } };
    }
    ticks as i64
}

extern "C" fn clock(_pc: u64) -> i64 {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::clock() };
    }
    ((now() - EPOCH) / 1_000) as i64
}

/// A poll of no descriptor is a sleep.
pub extern "C-unwind" fn poll(descriptors: *mut c_void, count: u64, milliseconds: i32, pc: u64) -> i32 {
    if !controlled() || count == 0 && milliseconds < 0 {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::poll(descriptors, count, milliseconds) };
    }
    if count != 0 {
        return readiness::poll(descriptors.cast(), count, milliseconds, pc);
    }
    sleep_for(milliseconds as u64 * 1_000_000, pc);
    0
}

/// A select of no descriptor is a sleep.
extern "C-unwind" fn select(
    count: i32,
    read: *mut c_void,
    write: *mut c_void,
    except: *mut c_void,
    timeout: *mut libc::timeval,
    pc: u64,
) -> i32 {
    // SAFETY: null, or the caller passes a span.
    let span = unsafe { timeout.as_ref() }.map(|span| {
        let nanoseconds = (span.tv_sec as u64).saturating_mul(SECOND);
        nanoseconds.saturating_add((span.tv_usec as u64).saturating_mul(1_000))
    });
    let sets = [read.cast(), write.cast(), except.cast()];
    match span {
        Some(nanoseconds) if controlled() && count == 0 => {
            sleep_for(nanoseconds, pc);
            0
        }
        span if controlled() && count > 0 => {
            let milliseconds = span.map_or(-1, |span| span.div_ceil(1_000_000).min(i32::MAX as u64) as i32);
            readiness::select(count, sets, milliseconds, pc).unwrap_or_else(|| {
                note_limit(limit::DESCRIPTORS);
                // SAFETY: passes on what the caller gave.
                unsafe { hidden::select(count, read, write, except, timeout) }
            })
        }
        // SAFETY: passes on what the caller gave.
        _ => unsafe { hidden::select(count, read, write, except, timeout) },
    }
}

/// `ppoll`. Signals that only the call lets through are not modelled.
extern "C-unwind" fn poll_masked(
    descriptors: *mut c_void,
    count: u64,
    span: *const libc::timespec,
    mask: *const c_void,
    pc: u64,
) -> i32 {
    if !controlled() || !mask.is_null() {
        name_masked(b"ppoll", pc);
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::ppoll(descriptors, count, span, mask) };
    }
    // SAFETY: null, or the caller passes a span.
    let milliseconds = unsafe { span.as_ref() }.map_or(-1, |span| {
        let seconds = (span.tv_sec as u64).saturating_mul(1_000);
        seconds.saturating_add((span.tv_nsec as u64).div_ceil(1_000_000)).min(i32::MAX as u64) as i32
    });
    poll(descriptors, count, milliseconds, pc)
}

/// `pselect`, as [`poll_masked`].
extern "C-unwind" fn select_masked(
    count: i32,
    read: *mut c_void,
    write: *mut c_void,
    except: *mut c_void,
    span: *const libc::timespec,
    mask: *const c_void,
) -> i32 {
    let pc = return_address();
    if !controlled() || !mask.is_null() {
        name_masked(b"pselect", pc);
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pselect(count, read, write, except, span, mask) };
    }
    // SAFETY: null, or the caller passes a span.
    let mut span = unsafe { span.as_ref() }
        .map(|span| libc::timeval { tv_sec: span.tv_sec, tv_usec: (span.tv_nsec + 999) / 1_000 });
    select(count, read, write, except, span.as_mut().map_or(core::ptr::null_mut(), core::ptr::from_mut), pc)
}

fn name_masked(name: &[u8], pc: u64) {
    if controlled() {
        calls::note(name, pc);
    }
}

export!(ppoll, 4 => poll_masked);
export!(pselect, many => select_masked);
export!(nanosleep, 2 => nanosleep);
export!(clock_nanosleep, 4 => clock_nanosleep);
export!(usleep, 1 => usleep);
export!(sleep, 1 => sleep);
export!(clock_gettime, 2 => clock_gettime);
export!(gettimeofday, 2 => gettimeofday);
export!(time, 1 => time);
export!(timespec_get, 2 => timespec_get);
export!(times, 1 => times);
export!(clock, 0 => clock);
export!(poll, 3 => poll);
export!(select, 5 => select);
