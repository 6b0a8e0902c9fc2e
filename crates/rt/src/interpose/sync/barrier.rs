//! Barriers. Waiting is two transitions: arrive, and leave once the round is open. Each thread's
//! own entry says whether it has arrived and whether its round is open. So a thread that leaves
//! does not need the object, which the program may have freed too early. Destroying waits for the
//! threads that leave.
//!
//! | bytes | here |
//! |---|---|
//! | 0..4 | threads that open it |
//! | 4..8 | threads that have arrived in this round |
//! | 8..16 | number of the round |
//! | 16..24 | tag, as in a mutex; there is no static initialiser |

use core::ffi::c_void;

use raddle_vocab::policy::mix;
use raddle_vocab::{Misuse, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::buffers::attributes;
use crate::interpose::sync::mutex::{DEAD, live_at};
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, WaitStage, controlled, run};
use crate::syscall::libc_real::real;
use crate::trace;

/// What one thread of a round gets as result.
const SERIAL_THREAD: i32 = -1;

#[repr(C)]
struct Barrier {
    size: u32,
    arrived: u32,
    round: u64,
    tag: u64,
}

/// The object at an address that the program passed.
fn at(address: u64) -> &'static mut Barrier {
    // SAFETY: the program passes a pointer to a barrier; a wrong pointer faults as it would in
    // libc.
    unsafe { &mut *(address as *mut Barrier) }
}

/// Whether the thread's round is open.
pub fn is_open(tid: usize) -> bool {
    matches!(run().fibers[tid].wait, WaitStage::Released { .. })
}

/// Whether a thread that was released from the barrier has not left it.
pub fn is_being_left(address: u64) -> bool {
    (0..run().threads).any(|tid| matches!(run().fibers[tid].wait, WaitStage::Released { obj, .. } if obj == address))
}

real! { hidden:
    fn pthread_barrier_init(barrier: u64, attr: *const c_void, count: u32) -> i32;
    fn pthread_barrier_destroy(barrier: u64) -> i32;
    fn pthread_barrier_wait(barrier: u64) -> i32;
}

/// Reports use of an invalid barrier, and makes it one that blocks no thread.
fn require(address: u64, pc: u64) {
    let misuse = match at(address).tag {
        tag if tag == live_at(address) => return,
        DEAD => Misuse::BarrierDestroyed,
        _ => Misuse::BarrierUninitialised,
    };
    trace::misuse(misuse, address, 0, pc);
    *at(address) = Barrier { size: 1, arrived: 0, round: 0, tag: live_at(address) };
}

fn has_arrived(tid: usize, address: u64) -> bool {
    run().fibers[tid].wait == WaitStage::Arrived { obj: address }
}

/// Threads that have arrived and wait for others, in order of their ranks.
fn waiting(address: u64) -> impl Iterator<Item = usize> {
    (0..run().threads).map(|rank| run().by_rank[rank] as usize).filter(move |&tid| has_arrived(tid, address))
}

extern "C" fn init(address: u64, attr: *const i32, count: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_barrier_init(address, attr.cast(), count) };
    }
    attributes::initialises_barrier(attr as usize, pc);
    if count == 0 {
        trace::misuse(Misuse::BarrierCount, address, 0, pc);
        return libc::EINVAL;
    }
    let op = AnnouncedOp::new(OpKind::BarrierInit, address, u64::from(count), pc);
    sched::arrive(op);
    if at(address).tag == live_at(address) && waiting(address).next().is_some() {
        trace::misuse(Misuse::ReinitInUse, address, 0, pc);
    }
    abandon(address);
    *at(address) = Barrier { size: count, arrived: 0, round: 0, tag: live_at(address) };
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_barrier_destroy(address) };
    }
    let op = AnnouncedOp::new(OpKind::BarrierDestroy, address, 0, pc);
    sched::arrive(op);
    require(address, pc);
    if let Some(waiter) = waiting(address).next() {
        trace::misuse(Misuse::BarrierDestroyWaited, address, waiter as u64, pc);
    }
    abandon(address);
    at(address).tag = DEAD;
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Threads that wait at a barrier that was destroyed wait for ever.
fn abandon(address: u64) {
    for tid in 0..run().threads {
        if has_arrived(tid, address) {
            run().fibers[tid].wait = WaitStage::Arrived { obj: 0 };
        }
    }
}

extern "C" fn wait(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_barrier_wait(address) };
    }
    let round = arrive(address, pc);
    let op = AnnouncedOp::new(OpKind::BarrierLeave, address, round, pc);
    sched::arrive(op);
    let serial = matches!(run().me().wait, WaitStage::Released { serial: true, .. });
    run().me().wait = WaitStage::None;
    sched::changed(address);
    virtual_time::observe(round_key(address, round));
    sched::commit(&op, Outcome::Done, u64::from(serial), 0);
    if serial { SERIAL_THREAD } else { 0 }
}

/// Clocks are published per round: an early arrival for the next round does not happen before a
/// late departure from this one.
fn round_key(address: u64, round: u64) -> u64 {
    address ^ mix(round.wrapping_add(1))
}

/// First half of a wait; returns the number of the round.
fn arrive(address: u64, pc: u64) -> u64 {
    let mut op = AnnouncedOp::new(OpKind::BarrierArrive, address, 0, pc);
    sched::arrive(op);
    require(address, pc);
    let barrier = at(address);
    op.arg = barrier.round;
    barrier.arrived += 1;
    run().me().wait = WaitStage::Arrived { obj: address };
    virtual_time::publish(round_key(address, op.arg));
    let last = barrier.arrived >= barrier.size;
    if last {
        barrier.arrived = 0;
        barrier.round += 1;
        open(address);
    }
    sched::commit(&op, if last { Outcome::Last } else { Outcome::Done }, 0, 0);
    op.arg
}

/// Releases all threads that have arrived; the first in order of rank becomes the serial thread.
fn open(address: u64) {
    let me = run().hot.tid as usize;
    let mut serial = true;
    for rank in 0..run().threads {
        let tid = run().by_rank[rank] as usize;
        if has_arrived(tid, address) {
            run().fibers[tid].wait = WaitStage::Released { obj: address, serial };
            serial = false;
            if tid != me {
                sched::mark(tid);
            }
        }
    }
}

export!(pthread_barrier_init, 3 => init);
export!(pthread_barrier_destroy, 1 => destroy);
export!(pthread_barrier_wait, 1 => wait);
