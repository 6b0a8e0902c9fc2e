//! Threads: creation, end, joining, detaching.

use core::ffi::c_void;

use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{MemOrder, Misuse, OpKind, Outcome, RunStatus};

use crate::arch::context;
use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::cxx_objects;
use crate::interpose::io::net;
use crate::interpose::memory::heap;
use crate::interpose::process::couriers::{self, Errand};
use crate::interpose::process::end;
use crate::interpose::sync::mutex;
use crate::interpose::thread::{cancel, schedule, unwind};
use crate::restore::thread_storage;
use crate::sched::controller::explain;
use crate::sched::{self, ranks, timeouts, virtual_time};
use crate::state::{AnnouncedOp, Fiber, ThreadStatus, controlled, process, run};
use crate::state_key;
use crate::syscall::libc_real::real;
use crate::trace::{self, dead_frames};

real! { hidden:
    fn pthread_create(handle: *mut u64, attr: *const c_void, entry: *const c_void, arg: *mut c_void) -> i32;
    fn pthread_join(thread: u64, result: *mut usize) -> i32;
    fn pthread_tryjoin_np(thread: u64, result: *mut usize) -> i32;
    fn pthread_timedjoin_np(thread: u64, result: *mut usize, until: *const libc::timespec) -> i32;
    fn pthread_clockjoin_np(thread: u64, result: *mut usize, clock: i32, until: *const libc::timespec) -> i32;
    fn pthread_detach(thread: u64) -> i32;
    fn pthread_attr_init(attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_destroy(attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_getdetachstate(attr: *const libc::pthread_attr_t, state: *mut i32) -> i32;
    fn pthread_attr_getstack(attr: *const libc::pthread_attr_t, address: *mut *mut c_void, bytes: *mut usize) -> i32;
    fn pthread_attr_getstacksize(attr: *const libc::pthread_attr_t, bytes: *mut usize) -> i32;
}

/// Creates a real thread, for the pool.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create_real(handle: *mut u64, attr: *const c_void, entry: *const c_void, argument: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { hidden::pthread_create(handle, attr, entry, argument) }
}

/// What an attribute object for a new thread asks for.
struct Attributes {
    detached: bool,
    /// Lowest address and size of a stack that the program provides.
    stack: Option<(usize, usize)>,
    /// Size of the stack, if it is more than the pool's stacks have.
    stack_bytes: Option<usize>,
}

impl Attributes {
    fn read(attr: *const libc::pthread_attr_t, pool_bytes: usize) -> Self {
        let mut attributes = Attributes { detached: false, stack: None, stack_bytes: None };
        if attr.is_null() {
            return attributes;
        }
        let (mut state, mut address, mut bytes) = (0, core::ptr::null_mut(), 0);
        // SAFETY: the caller passes an attribute object; the results are locals.
        unsafe {
            hidden::pthread_attr_getdetachstate(attr, &raw mut state);
            hidden::pthread_attr_getstack(attr, &raw mut address, &raw mut bytes);
        }
        attributes.detached = state == libc::PTHREAD_CREATE_DETACHED;
        // Without a stack provided by the program, address plus size is 0.
        if (address as usize).wrapping_add(bytes) != 0 {
            attributes.stack = Some((address as usize, bytes));
        } else if bytes > pool_bytes && bytes != default_stack_bytes() {
            attributes.stack_bytes = Some(bytes);
        }
        attributes
    }
}

/// Stack size of a thread whose creator asks for none.
fn default_stack_bytes() -> usize {
    let mut bytes = 0;
    // SAFETY: the object is initialised before it is asked, and destroyed after.
    unsafe {
        let mut attr: libc::pthread_attr_t = core::mem::zeroed();
        hidden::pthread_attr_init(&raw mut attr);
        hidden::pthread_attr_getstacksize(&raw const attr, &raw mut bytes);
        hidden::pthread_attr_destroy(&raw mut attr);
    }
    bytes
}

/// `pthread_create` and its C11 form.
pub extern "C" fn create(
    handle: *mut u64,
    attr: *const libc::pthread_attr_t,
    entry: usize,
    argument: usize,
    pc: u64,
) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_create(handle, attr.cast(), entry as *const c_void, argument as *mut c_void) };
    }
    // The handle is there before the new thread starts.
    writes(handle as usize, size_of::<u64>(), pc);
    reads(attr as usize, size_of::<libc::pthread_attr_t>(), pc);
    let schedule = match schedule::asked_for(attr, pc) {
        Ok(schedule) => schedule,
        Err(error) => return error,
    };
    let mut op = AnnouncedOp::new(OpKind::Create, entry as u64, 0, pc);
    sched::arrive(op);
    if run().threads == MAX_THREADS {
        explain("the program creates more than 256 threads in one run, which is more than raddle can follow");
        crate::sched::controller::name_limit(raddle_wire::limit::THREADS);
        sched::finish(RunStatus::Damaged, MAX_THREADS as i32);
    }
    let (slot, former) = take_slot();
    // Before there is a new thread: the program may have passed no room for the handle.
    // SAFETY: the caller passes room for the handle.
    unsafe { handle.write(process().pool[slot].handle) };
    let tid = ranks::add_thread(slot, (entry, argument));
    match former {
        Some(former) => takes_over(former, tid),
        None => thread_storage::save(slot),
    }
    if schedule.is_some() {
        run().fibers[tid].private.schedule = schedule;
    }
    apply(&Attributes::read(attr, process().pool[slot].stack.1 - process().pool[slot].stack.0), tid, pc);
    op.arg = tid as u64;
    sched::commit(&op, Outcome::Done, u64::from(run().fibers[tid].detached), 0);
    0
}

/// Main creates the thread of a scripted party, which is none of the program's: it is never joined,
/// and gets no signals.
pub fn create_party(party: Party, number: usize) {
    let mut op = AnnouncedOp::new(OpKind::Create, party.place(0), 0, 0);
    sched::arrive(op);
    let (slot, _) = take_slot();
    let tid = ranks::add_party(slot, (net::party::play as *const () as usize, number), party.component());
    thread_storage::save(slot);
    let fiber = &mut run().fibers[tid];
    (fiber.detached, fiber.blocked, fiber.private.party) = (true, u64::MAX, Some(number as u8));
    fiber.private.party_code = party.code();
    op.arg = tid as u64;
    sched::commit(&op, Outcome::Done, 1, 0);
}

/// The running thread creates the courier of a signal, which is none of the program's threads.
pub fn create_courier(errand: Errand, pc: u64) {
    let mut op = AnnouncedOp::new(OpKind::Create, handler::place(errand.signal as u8), 0, pc);
    sched::arrive(op);
    if run().threads == MAX_THREADS {
        explain("the program sends more signals in one run than raddle can follow");
        crate::sched::controller::name_limit(raddle_wire::limit::THREADS);
        sched::finish(RunStatus::Damaged, MAX_THREADS as i32);
    }
    let (slot, former) = take_slot();
    let tid = ranks::add_courier(slot, (couriers::carry as *const () as usize, 0));
    match former {
        Some(former) => takes_over(former, tid),
        None => thread_storage::save(slot),
    }
    let fiber = &mut run().fibers[tid];
    (fiber.detached, fiber.blocked, fiber.private.errand) = (true, u64::MAX, Some(errand));
    op.arg = tid as u64;
    sched::commit(&op, Outcome::Done, 1, 0);
    trace::name_of_courier(tid as u16, errand.signal as u8);
}

/// A new thread uses the slot of a former one.
fn takes_over(former: usize, tid: usize) {
    let run = run();
    thread_storage::reset(run.fibers[tid].slot as usize);
    heap::inherit(run.hot.tid as usize, tid);
    // Mappings of the former thread may still be there.
    run.fibers[tid].mapped_bytes = run.fibers[former].mapped_bytes;
    run.fibers[tid].private.low_mapped_bytes = run.fibers[former].private.low_mapped_bytes;
    run.fibers[tid].private.large_mapped_bytes = run.fibers[former].private.large_mapped_bytes;
}

/// A slot for a new thread, and the thread that has used it before, if there is one. Only slots of
/// threads that the creator itself has joined are used again: otherwise addresses would depend on
/// other threads.
fn take_slot() -> (usize, Option<usize>) {
    let run = run();
    let former = run.me().private.reusable as usize;
    if former != 0 {
        run.me().private.reusable = run.fibers[former].private.next_reusable;
        return (run.fibers[former].slot as usize, Some(former));
    }
    let creator = run.me().slot as usize;
    let nth = usize::from(run.slot_children[creator]);
    run.slot_children[creator] += 1;
    let wanted = slot_of_child(creator, nth);
    let slot = if wanted < MAX_THREADS && !run.slots.contains(wanted) {
        wanted
    } else {
        // No slot is left for this creator. There are never more slots in use than threads.
        (1..MAX_THREADS).find(|&slot| !run.slots.contains(slot)).unwrap_or(MAX_THREADS - 1)
    };
    if slot >= process().pool_len {
        sched::finish(RunStatus::NeedPool, slot as i32 + 1);
    }
    run.slots.insert(slot);
    (slot, None)
}

/// The slot for the `nth` child, from 0, of a thread: it follows from the creator's, not from the
/// order in which threads create others. Three of four slots are for children of main; the others
/// are for children of other threads.
fn slot_of_child(creator: usize, nth: usize) -> usize {
    if creator == 0 {
        return nth + 1 + (nth + 1) / 3;
    }
    let sum = creator - 1 + nth;
    let pair = sum * (sum + 1) / 2 + nth;
    pair * 4 + 3
}

/// Gives a new thread what its attributes ask for.
fn apply(attributes: &Attributes, tid: usize, pc: u64) {
    let fiber = &mut run().fibers[tid];
    fiber.detached = attributes.detached;
    let own = attributes.stack.or_else(|| {
        let bytes = attributes.stack_bytes?;
        Some((heap::allocate_stack(bytes, pc)?, bytes))
    });
    if let Some((low, bytes)) = own {
        fiber.stack = (low, low + bytes);
        // SAFETY: the memory is the program's to use as this thread's stack, or was allocated for
        // it just now.
        fiber.sp = unsafe { context::prepare(low + bytes, crate::sched::startup::fiber_body) };
    }
}

/// The running thread ends: its start function returned, or its stack was unwound.
pub fn end(result: usize) -> ! {
    let me = run().me();
    (me.result, me.private.ends) = (result, true);
    unwind::run_finalisers();
    mutex::release_robust();
    let me = run().me();
    if me.private.errand.is_none() && me.private.party.is_none() {
        dead_frames::thread_ends();
    }
    let op = AnnouncedOp::new(OpKind::ThreadEnd, 0, 0, couriers::place_of_end());
    sched::arrive(op);
    let me = run().hot.tid;
    run().me().private.over = true;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed_thread(me);
    if me == 0 {
        wait_for_all();
    }
    run().me().status = ThreadStatus::Ended;
    if is_waiting_main(0) {
        sched::mark(0);
    }
    sched::leave(ThreadStatus::Ended)
}

/// Main has ended, but not the process: it lives until all threads have ended, and then exits as if
/// main had called `exit(0)`. Main waits by joining them. Threads that were detached by an
/// operation cannot be joined any more; main only polls them.
fn wait_for_all() -> ! {
    let is_unseen = |tid: &usize| {
        let private = &run().fibers[*tid].private;
        !private.main_saw_end && !couriers::is_foreign(*tid)
    };
    while let Some(tid) = (1..run().threads).map(|rank| run().by_rank[rank] as usize).find(is_unseen) {
        let fiber = &run().fibers[tid];
        if !fiber.joined {
            let join = AnnouncedOp::new(OpKind::Join, 0, tid as u64, 0);
            let op = if fiber.private.was_detached { poll_life(tid, 0) } else { join };
            sched::arrive(op);
            let outcome = if run().fibers[tid].joined { Outcome::Refused } else { Outcome::Done };
            sched::commit(&op, outcome, 1, 0);
            acquire_from(tid);
        }
        run().fibers[tid].private.main_saw_end = true;
    }
    // Handlers of `exit` have frames there again.
    run().me().private.frames_are_over = false;
    // SAFETY: the last thread ends the process.
    unsafe { end::exit_process(0) }
}

/// Whether the thread is main, has ended, and waits for the others. A poll of a life word may be
/// taken for the read of a spin loop.
pub fn is_waiting_main(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.private.over && matches!(fiber.status, ThreadStatus::Pending | ThreadStatus::AtSpinRead)
}

/// Whether a join, or a poll of whether it would succeed, is enabled.
pub fn can_join_or_poll(tid: usize, joined: usize) -> bool {
    if is_waiting_main(tid) { run().fibers[joined].private.over } else { can_join(joined) }
}

/// The latest thread with this handle.
pub fn by_handle(handle: u64) -> Option<usize> {
    let run = run();
    (0..run.threads).rev().find(|&tid| process().pool[run.fibers[tid].slot as usize].handle == handle)
}

/// The thread with this handle, for a call at `pc`. The handle names none any more once the thread
/// was joined, or has ended and was detached.
pub fn by_live_handle(handle: u64, pc: u64) -> Option<usize> {
    by_handle(handle).filter(|&tid| !run().fibers[tid].joined && !has_ended_detached(tid, pc))
}

/// Whether the thread was detached and has ended, which it may do before the call or behind it.
fn has_ended_detached(tid: usize, pc: u64) -> bool {
    if !run().fibers[tid].detached || tid == couriers::self_id() as usize {
        return false;
    }
    let look = poll_life(tid, pc);
    sched::arrive(look);
    let over = run().fibers[tid].private.over;
    sched::commit(&look, if over { Outcome::Done } else { Outcome::TimedOut }, u64::from(over), 0);
    over
}

/// Whether a join of this thread is enabled: it has ended, or may not be joined.
pub fn can_join(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.private.over || fiber.joined || fiber.detached
}

/// Address of the *life word* of a thread: a word that polling threads load, which says whether it
/// has ended. No real address is so high; the host uses the same addresses.
fn life_address(tid: usize) -> u64 {
    1 << 63 | (tid as u64) << 3
}

/// The load of that word.
fn poll_life(tid: usize, pc: u64) -> AnnouncedOp {
    AnnouncedOp {
        order: MemOrder::Acquire as u8,
        log_size: 4,
        ..AnnouncedOp::new(OpKind::AtomicLoad, life_address(tid), 0, pc)
    }
}

/// The thread whose life word has this address.
pub fn polled_thread(address: u64) -> usize {
    ((address & (u64::MAX >> 1)) >> 3) as usize
}

/// Whether the address is that of a life word.
#[inline(always)]
pub fn is_life_word(address: u64) -> bool {
    address >> 63 != 0
}

/// What the word holds: 0 while the thread lives.
pub fn life_word(address: u64) -> u64 {
    u64::from(can_join(polled_thread(address)))
}

/// The thread that a join names; reports handles that may not be joined.
fn joinable(handle: u64, pc: u64) -> Result<usize, i32> {
    let Some(tid) = by_handle(handle) else {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
        return Err(libc::ESRCH);
    };
    if tid == couriers::self_id() as usize {
        trace::misuse(Misuse::JoinSelf, 0, tid as u64, pc);
        return Err(libc::EDEADLK);
    }
    // A thread that was created detached: this depends on no transition.
    if run().fibers[tid].detached && !run().fibers[tid].private.was_detached {
        trace::misuse(Misuse::JoinDetached, 0, tid as u64, pc);
        return Err(libc::EINVAL);
    }
    Ok(tid)
}

/// `pthread_join` and its C11 form.
pub extern "C" fn join(handle: u64, result: *mut usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_join(handle, result) };
    }
    let object = core::mem::take(&mut run().me().private.joins);
    cancel::point(pc);
    match joinable(handle, pc) {
        Ok(tid) => {
            state_key::holds(object.0 as u64);
            sched::arrive(AnnouncedOp::new(OpKind::Join, 0, tid as u64, pc));
            cancel::interrupted(!can_join(tid));
            let code = finish_join(tid, result, pc);
            if code == 0 {
                cxx_objects::joined(object);
            }
            code
        }
        Err(code) => code,
    }
}

/// What is wrong about joining or detaching a thread that was joined or detached, and what the call
/// returns. The handle of a joined thread names none any more.
fn claimed(fiber: &Fiber) -> (Misuse, i32) {
    if fiber.joined { (Misuse::JoinTwice, libc::ESRCH) } else { (Misuse::JoinDetached, libc::EINVAL) }
}

/// Performs the join: the thread has ended, or may not be joined.
fn finish_join(tid: usize, result: *mut usize, pc: u64) -> i32 {
    let op = AnnouncedOp::new(OpKind::Join, 0, tid as u64, pc);
    let joined = &mut run().fibers[tid];
    if joined.joined || joined.detached {
        let (misuse, code) = claimed(joined);
        trace::misuse(misuse, 0, tid as u64, pc);
        sched::commit(&op, Outcome::Refused, 0, 0);
        return code;
    }
    joined.joined = true;
    if !result.is_null() {
        // SAFETY: the caller passes room for the result.
        unsafe { *result = joined.result };
    }
    acquire_from(tid);
    // Main's slot is never used again: its stack holds the start of the process.
    if tid != 0 {
        let former = core::mem::replace(&mut run().me().private.reusable, tid as u16);
        run().fibers[tid].private.next_reusable = former;
    }
    sched::commit(&op, Outcome::Done, 0, 0);
    writes(result as usize, size_of::<usize>(), pc);
    0
}

/// Everything that the thread did happens before what the running one does next.
fn acquire_from(tid: usize) {
    virtual_time::take_from(tid);
    heap::inherit(tid, run().hot.tid as usize);
}

/// A join that fails with this code where it would wait.
fn join_or(handle: u64, result: *mut usize, code: i32, pc: u64) -> i32 {
    let tid = match joinable(handle, pc) {
        Ok(tid) => tid,
        Err(code) => return code,
    };
    // Polling and joining are two transitions, so that a poll that comes too early is explored.
    let look = poll_life(tid, pc);
    sched::arrive(look);
    let (over, joinable) = (run().fibers[tid].private.over, can_join(tid));
    // A poll that comes too early is a join that fails.
    sched::commit(&look, if over { Outcome::Done } else { Outcome::TimedOut }, u64::from(over), 0);
    if !joinable {
        return code;
    }
    sched::arrive(AnnouncedOp::new(OpKind::Join, 0, tid as u64, pc));
    finish_join(tid, result, pc)
}

extern "C" fn tryjoin(handle: u64, result: *mut usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_tryjoin_np(handle, result) };
    }
    join_or(handle, result, libc::EBUSY, pc)
}

extern "C" fn timedjoin(handle: u64, result: *mut usize, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_timedjoin_np(handle, result, until) };
    }
    join_until(handle, result, until, pc)
}

extern "C" fn clockjoin(handle: u64, result: *mut usize, clock: i32, until: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_clockjoin_np(handle, result, clock, until) };
    }
    join_until(handle, result, until, pc)
}

fn join_until(handle: u64, result: *mut usize, until: *const libc::timespec, pc: u64) -> i32 {
    if until.is_null() {
        return join(handle, result, pc);
    }
    let Some(deadline) = virtual_time::deadline(until) else { return libc::EINVAL };
    timeouts::entering(pc);
    let code = join_or(handle, result, libc::ETIMEDOUT, pc);
    if code == libc::ETIMEDOUT {
        let life = by_handle(handle).map_or(0, life_address);
        timeouts::timed_out(&AnnouncedOp::new(OpKind::AtomicLoad, life, 0, pc), deadline);
    }
    code
}

/// `pthread_detach` and its C11 form.
pub extern "C" fn detach(handle: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_detach(handle) };
    }
    let Some(tid) = by_handle(handle) else {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
        return libc::ESRCH;
    };
    let op = AnnouncedOp::new(OpKind::Detach, 0, tid as u64, pc);
    sched::arrive(op);
    let fiber = &mut run().fibers[tid];
    let code = if fiber.joined || fiber.detached {
        let (misuse, code) = claimed(fiber);
        trace::misuse(misuse, 0, tid as u64, pc);
        code
    } else {
        fiber.detached = true;
        fiber.private.was_detached = true;
        0
    };
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed_thread(tid as u16);
    code
}

export!(pthread_create, 4 => create);
export!(pthread_join, 2 => join);
export!(pthread_tryjoin_np, 2 => tryjoin);
export!(pthread_timedjoin_np, 3 => timedjoin);
export!(pthread_clockjoin_np, 4 => clockjoin);
export!(pthread_detach, 1 => detach);
