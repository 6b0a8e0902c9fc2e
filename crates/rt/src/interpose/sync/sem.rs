//! Semaphores: the value in bytes 0..4 as in glibc, a tag (as in a mutex; there is no static
//! initialiser) in bytes 16..24.

use raddle_vocab::{Misuse, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::interpose::sync::mutex::{DEAD, live_at};
use crate::interpose::thread::cancel;
use crate::sched::{self, timeouts, virtual_time};
use crate::state::{AnnouncedOp, ThreadStatus, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;
use crate::trace;

/// Largest value.
const MAX: u32 = i32::MAX as u32;

/// A semaphore of the program, as laid out above.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Semaphore {
    value: u32,
    unused: [u32; 3],
    tag: u64,
    rest: u64,
}

impl Semaphore {
    /// One that was initialised at this address.
    pub const fn new(address: u64, value: u32) -> Self {
        Semaphore { value, unused: [0; 3], tag: live_at(address), rest: 0 }
    }
}

/// The object at an address that the program passed.
fn at(address: u64) -> &'static mut Semaphore {
    // SAFETY: the program passes a pointer to a semaphore; a wrong pointer faults as it would in
    // libc.
    unsafe { &mut *(address as *mut Semaphore) }
}

/// Whether there is a semaphore at the address.
pub fn is_live(address: u64) -> bool {
    at(address).tag == live_at(address)
}

/// Whether a wait would not block.
pub fn is_positive(address: u64) -> bool {
    is_live(address) && at(address).value > 0
}

/// Reports threads that wait for ever for an invalid semaphore: called at the end of a run.
pub fn report_stuck() {
    for tid in 0..run().threads {
        let fiber = &run().fibers[tid];
        if fiber.status != ThreadStatus::Pending || fiber.pending.kind != OpKind::SemWait {
            continue;
        }
        // The host reports a semaphore that was destroyed while threads waited.
        if !is_live(fiber.pending.obj) && at(fiber.pending.obj).tag != DEAD {
            trace::misuse_at_rest(tid, Misuse::SemUninitialised);
        }
    }
}

real! { hidden:
    fn sem_init(sem: u64, shared: i32, value: u32) -> i32;
    fn sem_destroy(sem: u64) -> i32;
    fn sem_wait(sem: u64) -> i32;
    fn sem_trywait(sem: u64) -> i32;
    fn sem_timedwait(sem: u64, until: *const libc::timespec) -> i32;
    fn sem_clockwait(sem: u64, clock: i32, until: *const libc::timespec) -> i32;
    fn sem_post(sem: u64) -> i32;
    fn sem_getvalue(sem: u64, value: *mut i32) -> i32;
}

/// Reports use of an invalid semaphore, and initialises it with the value 0.
fn require(address: u64, pc: u64) {
    let misuse = match at(address).tag {
        _ if is_live(address) => return,
        DEAD => Misuse::SemDestroyed,
        _ => Misuse::SemUninitialised,
    };
    trace::misuse(misuse, address, 0, pc);
    *at(address) = Semaphore::new(address, 0);
}

fn arrive(kind: OpKind, address: u64, pc: u64) -> AnnouncedOp {
    let op = AnnouncedOp::new(kind, address, 0, pc);
    sched::arrive(op);
    op
}

fn fail(code: i32) -> i32 {
    set_errno(code);
    -1
}

extern "C" fn init(address: u64, shared: i32, value: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_init(address, shared, value) };
    }
    if value > MAX {
        return fail(libc::EINVAL);
    }
    start(address, value, false, pc);
    0
}

/// Initialises a semaphore; one with a name lives on without being destroyed.
pub fn start(address: u64, value: u32, named: bool, pc: u64) {
    let op = AnnouncedOp::new(OpKind::SemInit, address, u64::from(value), pc);
    sched::arrive(op);
    if waiter(address).is_some() {
        trace::misuse(Misuse::ReinitInUse, address, 0, pc);
    }
    *at(address) = Semaphore::new(address, value);
    sched::commit(&op, Outcome::Done, u64::from(named), 0);
    sched::changed(address);
}

/// A thread that waits for the semaphore.
fn waiter(address: u64) -> Option<usize> {
    let waits = |tid: &usize| {
        let fiber = &run().fibers[*tid];
        fiber.status == ThreadStatus::Pending && fiber.pending.kind == OpKind::SemWait && fiber.pending.obj == address
    };
    (0..run().threads).find(|tid| waits(tid) && !is_positive(address))
}

extern "C" fn destroy(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_destroy(address) };
    }
    let op = arrive(OpKind::SemDestroy, address, pc);
    require(address, pc);
    let left = u64::from(at(address).value);
    *at(address) = Semaphore { tag: DEAD, value: 0, ..*at(address) };
    sched::commit(&op, Outcome::Done, 0, left);
    0
}

/// The operation has taken one.
fn take(op: &AnnouncedOp) -> i32 {
    at(op.obj).value -= 1;
    virtual_time::observe(op.obj);
    sched::commit(op, Outcome::Done, 0, 0);
    0
}

extern "C" fn wait(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_wait(address) };
    }
    cancel::point(pc);
    couriers::begin_call(InterruptibleCall::Restarts, pc);
    let op = arrive(OpKind::SemWait, address, pc);
    if couriers::end_call() && !is_positive(address) {
        sched::commit(&op, Outcome::Failed, 0, 0);
        return fail(libc::EINTR);
    }
    cancel::interrupted(!is_positive(address));
    take(&op)
}

extern "C" fn trywait(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_trywait(address) };
    }
    let op = arrive(OpKind::SemTryWait, address, pc);
    require(address, pc);
    if is_positive(address) {
        return take(&op);
    }
    sched::commit(&op, Outcome::Failed, 0, 0);
    fail(libc::EAGAIN)
}

extern "C" fn timedwait(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_timedwait(address, until) };
    }
    wait_until(address, until, pc)
}

extern "C" fn clockwait(address: u64, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_clockwait(address, clock, until) };
    }
    wait_until(address, until, pc)
}

fn wait_until(address: u64, until: *const libc::timespec, pc: u64) -> i32 {
    let Some(deadline) = virtual_time::deadline(until) else { return fail(libc::EINVAL) };
    cancel::point(pc);
    timeouts::entering(pc);
    let op = arrive(OpKind::SemTimedWait, address, pc);
    require(address, pc);
    if is_positive(address) {
        return take(&op);
    }
    sched::commit(&op, Outcome::TimedOut, 0, 0);
    timeouts::timed_out(&op, deadline);
    fail(libc::ETIMEDOUT)
}

extern "C" fn post(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_post(address) };
    }
    let op = arrive(OpKind::SemPost, address, pc);
    require(address, pc);
    let semaphore = at(address);
    let full = semaphore.value >= MAX;
    if full {
        trace::misuse(Misuse::SemOverflow, address, 0, pc);
    } else {
        semaphore.value += 1;
    }
    virtual_time::publish(address);
    sched::changed(address);
    sched::commit(&op, Outcome::Done, 0, 0);
    if full { fail(libc::EOVERFLOW) } else { 0 }
}

/// Reading the value is an atomic load of the whole object, whose content as memory the host does
/// not track.
extern "C" fn getvalue(address: u64, value: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_getvalue(address, value) };
    }
    let op = AnnouncedOp { log_size: 4, ..AnnouncedOp::new(OpKind::AtomicLoad, address, 0, pc) };
    sched::arrive(op);
    require(address, pc);
    let seen = at(address).value;
    // SAFETY: the caller passes room for the value.
    unsafe { *value = seen as i32 };
    sched::commit(&op, Outcome::Done, u64::from(seen), 0);
    crate::interpose::buffers::writes(value as usize, size_of::<i32>(), pc);
    0
}

export!(sem_init, 3 => init);
export!(sem_destroy, 1 => destroy);
export!(sem_wait, 1 => wait);
export!(sem_trywait, 1 => trywait);
export!(sem_timedwait, 2 => timedwait);
export!(sem_clockwait, 3 => clockwait);
export!(sem_post, 1 => post);
export!(sem_getvalue, 2 => getvalue);
