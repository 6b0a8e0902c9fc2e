//! Where the program has to do with other processes (`raddle run` without scripts), time that
//! threads sleep for, or wait for with time-outs, passes for real: what others send comes in
//! between.

use raddle_vocab::io;
use raddle_wire::config_flag;

use crate::interpose::io::readiness;
use crate::sched::changed_channels;
use crate::state::{ThreadStatus, process, run};
use crate::syscall::now;

/// When the clocks of threads and the real one showed the same.
#[derive(Clone, Copy)]
pub struct RealStart {
    real: u64,
    virtual_: u64,
}

impl RealStart {
    /// Not known yet.
    pub const NONE: RealStart = RealStart { real: 0, virtual_: 0 };
}

/// Nanoseconds of a wait in the kernel, at most.
const LONGEST: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// Whether time passes for real: the program has a socket.
pub fn is_real() -> bool {
    process().config_flags & config_flag::REAL_SOCKETS != 0 && run().channels.contains(&io::NETWORK)
}

/// How far the clock of the thread is ahead of the real one.
fn ahead(tid: usize) -> u64 {
    let now = now();
    let start = &mut run().real_start;
    if start.real == 0 {
        *start = RealStart { real: now, virtual_: run().fibers[tid].clock };
    }
    let elapsed = now - start.real;
    run().fibers[tid].clock.saturating_sub(start.virtual_).saturating_sub(elapsed)
}

/// Whether the thread has slept for time that has not passed yet.
pub fn sleeps(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    is_real() && fiber.private.yielded && fiber.status == ThreadStatus::Pending && ahead(tid) > MILLISECOND
}

/// No thread can step but by time. The next one is `tid`: waits until its time has come. False if
/// something has come from other processes meanwhile.
pub fn wait_for(tid: usize) -> bool {
    loop {
        let ahead = ahead(tid);
        if ahead <= MILLISECOND {
            return true;
        }
        let milliseconds = (ahead.min(LONGEST) / MILLISECOND) as i32;
        if readiness::wait_for_outside_within(milliseconds) {
            changed_channels();
            return false;
        }
    }
}
