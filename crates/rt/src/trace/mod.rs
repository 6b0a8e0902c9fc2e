//! The trace: records of a run, written into the shared file.

pub mod access_granularity;
pub mod dead_frames;
pub mod faults;
pub mod filter;
pub mod hooks;
pub mod runs;

use raddle_vocab::{Failure, MappingChange, Misuse, OpKind, Outcome, RunStatus, handler};
use raddle_wire::{record, record::flag};

use crate::arch::unwind::FRAME_POINTER_REGISTER;
use crate::interpose::annotations::section;
use crate::interpose::io::effects;
use crate::interpose::process::couriers;
use crate::interpose::sync::histories;
use crate::spinloop::{awaits, detector};
use crate::state::{AnnouncedOp, Fiber, ThreadStatus, UpdateDetail, process, run};

/// Bytes kept free behind `Hot::end` for the records at the end of a run.
pub const RESERVE: usize = 1 << 18;
/// Stacks of allocations and frees that are recorded in a run, at most.
const MAX_BLOCK_STACKS: u32 = 1 << 12;
/// Stacks of operations that are recorded in a run, at most.
const MAX_STEP_STACKS: u32 = 1 << 13;
/// Frames of a stack that are recorded, at most.
const MAX_FRAMES: usize = 128;
/// Frames whose registers are recorded: local variables of outer ones are known by address only.
const MAX_REGISTERS: usize = 24;

/// Appends words; the run ends here if there is no room or the bound on events is reached.
#[inline(always)]
pub fn push<const N: usize>(words: [u64; N]) {
    let hot = &mut run().hot;
    let next = hot.next;
    // SAFETY: `next` lies within the arena or at its end.
    let after = unsafe { next.add(N) };
    if after > hot.end || hot.events_left <= 0 {
        overflow();
    }
    hot.events_left -= 1;
    hot.next = after;
    for (index, word) in words.into_iter().enumerate() {
        // SAFETY: checked against the end just above.
        unsafe { next.add(index).write(word) };
    }
}

/// Words of a step.
const STEP: usize = 6;

/// Ends the run here if the next step could not be recorded: a run is cut between operations, never
/// within one.
#[inline(always)]
pub fn ensure_room() {
    let hot = &run().hot;
    // SAFETY: there is a reserve behind `end`, which `next` is not beyond.
    if unsafe { hot.next.add(STEP) } > hot.end || hot.events_left <= 0 {
        overflow();
    }
}

#[cold]
#[inline(never)]
fn overflow() -> ! {
    let run = run();
    if run.hot.events_left <= 0 {
        if run.exit.is_some() {
            crate::sched::controller::note_limit(raddle_wire::limit::EXIT_EVENTS);
            crate::sched::finish(RunStatus::Rest, 0);
        }
        crate::sched::finish(RunStatus::Cut, 0);
    }
    crate::sched::finish(RunStatus::TraceFull, 0)
}

/// Appends words without regard to the bounds, within the reserve.
fn push_reserved(words: &[u64]) {
    let hot = &mut run().hot;
    // SAFETY: `end` lies `RESERVE` bytes before the arena's end.
    let limit = unsafe { hot.end.byte_add(RESERVE) };
    for &word in words {
        if hot.next < limit {
            // SAFETY: below the limit of the arena.
            unsafe {
                hot.next.write(word);
                hot.next = hot.next.add(1);
            }
        }
    }
}

/// The marks of an access that waits while another thread is inside an atomic section, and of an
/// operation before which a handler may run.
#[inline]
fn marks(tid: u16, op: &AnnouncedOp) -> u8 {
    let outside = if process().has_sections && section::waits(tid, op.kind) { record::OUTSIDE } else { 0 };
    outside | if couriers::in_use() { record::EXPOSED } else { 0 }
}

/// Records the operation that the running thread has just performed.
#[inline]
pub fn step(op: &AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    let run = run();
    let tid = run.hot.tid;
    let count = run.me().count;
    push([
        record::header(op.kind as u8, if op.log_size == 4 { flag::WIDE } else { 0 }, tid, count),
        op.obj,
        record::pack_pc(op.pc, record::step_extra(op.order, outcome as u8, op.log_size | marks(tid, op))),
        op.arg,
        value,
        old,
    ]);
    if process().plan.flags & raddle_wire::job_flag::DETAIL != 0 {
        stack_of_step(op.kind);
    }
}

/// Records from where the operation was called: the call itself may lie in a library. Without room
/// for it the step goes without. So do input and output, whose effects are written into the record
/// of the step, which has to be the last one, and accesses, which are no calls.
#[cold]
#[inline(never)]
fn stack_of_step(kind: OpKind) {
    use OpKind::{Exit, Io, Read, ThreadEnd, ThreadStart, Write};
    let is_call = !matches!(kind, ThreadStart | ThreadEnd | Exit | Io | Read | Write);
    // SAFETY: there is a reserve behind `end`, which `next` is not beyond.
    let has_room = unsafe { run().hot.next.add(1 + MAX_FRAMES) } <= run().hot.end;
    if is_call && has_room && run().step_stacks < MAX_STEP_STACKS {
        run().step_stacks += 1;
        let frames = frames();
        push_reserved(&[record::header(record::STACK, 0, run().hot.tid, frames.len as u32)]);
        push_reserved(&frames.addresses[..frames.len]);
    }
}

/// Records what the step before, an atomic operation, is beside its record: within the reserve,
/// because a run is cut between operations, never within one.
pub fn atomic_detail(flags: u8, tid: u16, behind: u16, detail: UpdateDetail) {
    let header = record::header(record::ATOMIC_DETAIL, flags, tid, u32::from(behind));
    push_reserved(&[header, detail.operand, u64::from(detail.how)]);
}

/// Records the key of the present state, which is no event; nothing if there is no room.
pub fn key(flags: u8, key: [u64; 2]) {
    push_extra([record::header(record::KEY, flags, run().hot.tid, 0), key[0], key[1]]);
}

/// Appends words that are no event; nothing if there is no room.
fn push_extra<const N: usize>(words: [u64; N]) {
    let hot = &mut run().hot;
    // SAFETY: `next` lies within the arena or at its end.
    let after = unsafe { hot.next.add(words.len()) };
    if after <= hot.end {
        for (index, word) in words.into_iter().enumerate() {
            // SAFETY: checked against the end just above.
            unsafe { hot.next.add(index).write(word) };
        }
        hot.next = after;
    }
}

/// Records something about a read in a spin loop, which is no event; nothing if there is no room.
pub fn awaits(flags: u8, tid: u16, [state, value]: [u64; 2]) {
    let words = [record::header(record::AWAIT, flags, tid, 0), state, value];
    if flags & flag::PENDING != 0 {
        return push_reserved(&words);
    }
    push_extra(words);
}

/// Records a heap block's birth or death, which is an access of the running thread.
pub fn block(kind: u8, address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    let count = hot.count;
    hot.count += 1;
    filter::forget(address, size);
    runs::separate();
    let hot = &run().hot;
    push([record::header(kind, 0, hot.tid, count), address, record::pack_pc(pc, 0), size]);
    stack_of_block();
}

/// Records that mapped memory changes, which is an access of the running thread.
pub fn mapping(change: MappingChange, address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    let count = hot.count;
    hot.count += 1;
    filter::forget(address, size);
    runs::separate();
    let hot = &run().hot;
    push([record::header(record::MAPPING, 0, hot.tid, count), address, record::pack_pc(pc, change as u16), size]);
    stack_of_block();
}

/// Records the end of the running thread's stack or thread-local storage.
pub fn thread_ends(address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    let (count, change) = (hot.count, MappingChange::ThreadEnd as u16);
    hot.count += 1;
    push([record::header(record::MAPPING, 0, hot.tid, count), address, record::pack_pc(pc, change), size]);
}

/// Records the stack of what happens to a block or mapping if the job asks for detail.
fn stack_of_block() {
    if process().plan.flags & raddle_wire::job_flag::DETAIL != 0 && run().block_stacks < MAX_BLOCK_STACKS {
        run().block_stacks += 1;
        stack();
    }
}

/// Records that the running thread failed.
pub fn failure(kind: Failure, address: u64, pc: u64, text: &[u8]) {
    let hot = &run().hot;
    let text = &text[..text.len().min(1024)];
    push([
        record::header(record::FAILURE, 0, hot.tid, hot.count),
        address,
        record::pack_pc(pc, kind as u16),
        text.len() as u64,
    ]);
    if !text.is_empty() {
        self::text(record::TEXT, text);
    }
    stack_if_detailed();
}

/// Records that the running thread misused an object.
pub fn misuse(kind: Misuse, obj: u64, arg: u64, pc: u64) {
    let hot = &run().hot;
    push([record::header(record::MISUSE, 0, hot.tid, hot.count), obj, record::pack_pc(pc, kind as u16), arg]);
    stack_if_detailed();
    crate::sched::debugger::failed();
}

/// Records that the pending operation of a thread, at the end of the run, is misuse.
pub fn misuse_at_rest(tid: usize, kind: Misuse) {
    let fiber = &run().fibers[tid];
    let header = record::header(record::MISUSE, 0, tid as u16, fiber.count);
    push_reserved(&[header, fiber.pending.obj, record::pack_pc(fiber.pending.pc, kind as u16), 0]);
}

/// Records what became of a party at the end of the run.
pub fn failure_at_rest(tid: usize, kind: Failure, text: &[u8]) {
    let (header, pc) = (run().fibers[tid].count, run().fibers[tid].pending.pc);
    push_reserved(&[
        record::header(record::FAILURE, 0, tid as u16, header),
        0,
        record::pack_pc(pc, kind as u16),
        text.len() as u64,
    ]);
    push_reserved(&[record::header(record::TEXT, 0, tid as u16, text.len() as u32)]);
    for chunk in text.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        push_reserved(&[u64::from_le_bytes(word)]);
    }
}

/// Records bytes that belong to the record before.
fn text(kind: u8, bytes: &[u8]) {
    text_of(kind, run().hot.tid, bytes);
}

/// Records the name of a thread.
pub fn name(tid: u16, bytes: &[u8]) {
    text_of(record::THREAD_NAME, tid, bytes);
}

/// Records what a courier delivers, as its name.
pub fn name_of_courier(tid: u16, signal: u8) {
    const MOST: usize = 64;
    let (mut text, mut len) = ([0; MOST], 0);
    let parts = [handler::PREFIX, handler::name(signal)];
    for &byte in parts.iter().flat_map(|part| part.as_bytes()).take(MOST) {
        text[len] = byte;
        len += 1;
    }
    name(tid, &text[..len]);
}

fn text_of(kind: u8, tid: u16, bytes: &[u8]) {
    push([record::header(kind, 0, tid, bytes.len() as u32)]);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        run().hot.events_left += 1;
        push([u64::from_le_bytes(word)]);
    }
}

/// Records that the running thread stopped before an access because a segment says so.
pub fn parked_at_access(kind: u8, address: u64, size: u64, pc: u64) {
    let hot = &run().hot;
    let kind = match kind {
        record::READ | record::READ_RANGE => record::READ_RANGE,
        _ => record::WRITE_RANGE,
    };
    push([record::header(kind, flag::PENDING, hot.tid, hot.count), address, record::pack_pc(pc, 0), size]);
    stack_if_detailed();
}

/// Records the pending operation of a thread at the end of a run.
pub fn pending(tid: usize, fiber: &Fiber, blocked: bool) {
    let flags = flag::PENDING
        | match fiber.status {
            // What its signal would have done is unknown: it is at rest.
            ThreadStatus::Pending | ThreadStatus::AtSpinRead | ThreadStatus::EndlessLoop
                if blocked && fiber.private.signalled =>
            {
                flag::FAILED
            }
            ThreadStatus::EndlessLoop => flag::AWAIT,
            ThreadStatus::AtSpinRead if detector::is_failed_spin_round(tid) => {
                flag::AWAIT | if detector::is_stale(tid) { flag::STALE } else { 0 }
            }
            ThreadStatus::Failed => flag::FAILED,
            ThreadStatus::Ended => flag::ENDED,
            ThreadStatus::Exited => flag::ENDED | flag::FAILED,
            _ if crate::interpose::thread::lifecycle::is_waiting_main(tid) => flag::ENDED,
            // It goes round in a loop of timed waits.
            _ if blocked && crate::sched::timeouts::is_exhausted(tid) => flag::AWAIT,
            _ if blocked => flag::BLOCKED,
            _ => 0,
        };
    let op = &fiber.pending;
    let found = match fiber.status {
        ThreadStatus::AtSpinRead => detector::found(tid).unwrap_or(0),
        _ if op.kind == OpKind::Io => effects::pending_value(tid, op),
        _ => 0,
    };
    push_reserved(&[
        record::header(op.kind as u8, flags, tid as u16, fiber.count),
        op.obj,
        record::pack_pc(op.pc, record::step_extra(op.order, 0, op.log_size | marks(tid as u16, op))),
        op.arg,
        found,
        0,
    ]);
    if histories::are_kept() && op.kind.is_atomic_access() {
        atomic_detail(flag::PENDING, tid as u16, 0, fiber.private.detail);
    }
    if flags & flag::AWAIT != 0 && fiber.status == ThreadStatus::AtSpinRead {
        awaits::note(tid, flag::PENDING);
    }
}

/// Records the stack if the job asks for detail.
fn stack_if_detailed() {
    if process().plan.flags & raddle_wire::job_flag::DETAIL != 0 {
        stack();
    }
}

/// Records the return addresses on the running thread's stack, innermost first. They belong to the
/// record before.
fn stack() {
    stack_with(0);
}

/// Records where the running thread stands at the end of the run.
pub fn stack_at_end() {
    stack_with(flag::PENDING);
}

fn stack_with(flags: u8) {
    let frames = frames();
    let tid = run().hot.tid;
    push_reserved(&[record::header(record::STACK, flags, tid, frames.len as u32)]);
    push_reserved(&frames.addresses[..frames.len]);
    let registers = &frames.registers[..frames.len.min(MAX_REGISTERS)];
    push_reserved(&[record::header(record::FRAMES, 0, tid, registers.len() as u32)]);
    push_reserved(registers.as_flattened());
}

/// The frames of the running thread, without those of the runtime.
fn frames() -> Frames {
    let mut frames = Frames { len: 0, addresses: [0; MAX_FRAMES], registers: [[0; 2]; MAX_REGISTERS] };
    // SAFETY: the callback writes to `frames` only, which outlives the call.
    unsafe { _Unwind_Backtrace(collect, &raw mut frames) };
    frames
}

#[repr(C)]
struct Frames {
    len: usize,
    addresses: [u64; MAX_FRAMES],
    registers: [[u64; 2]; MAX_REGISTERS],
}

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_Backtrace(callback: extern "C" fn(*mut u8, *mut Frames) -> i32, argument: *mut Frames) -> i32;
    fn _Unwind_GetIP(context: *mut u8) -> u64;
    fn _Unwind_GetCFA(context: *mut u8) -> usize;
    fn _Unwind_GetGR(context: *mut u8, register: i32) -> u64;
}

extern "C" fn collect(context: *mut u8, frames: *mut Frames) -> i32 {
    const GO_ON: i32 = 0;
    const END: i32 = 5;
    // SAFETY: called back by the unwinder with the argument that `stack` passed.
    let frames = unsafe { &mut *frames };
    if frames.len == MAX_FRAMES {
        return END;
    }
    // SAFETY: the context is the unwinder's own.
    let ip = unsafe { _Unwind_GetIP(context) };
    // Frames of the runtime itself are left out.
    if ip != 0 && !crate::sched::startup::is_runtime_code(ip) {
        frames.addresses[frames.len] = ip;
        if let Some(registers) = frames.registers.get_mut(frames.len) {
            // SAFETY: the context is the unwinder's own; the frame pointer is saved by every
            // callee.
            *registers = unsafe { [_Unwind_GetCFA(context) as u64, _Unwind_GetGR(context, FRAME_POINTER_REGISTER)] };
        }
        frames.len += 1;
    }
    GO_ON
}
