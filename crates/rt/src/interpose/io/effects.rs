//! What an operation on channels leaves behind, for the host (see `raddle_vocab::readiness`): what
//! its things are ready for, and which queues of `epoll` it has changed. A transition ends where
//! its thread stops next, so its record is completed there.

use raddle_vocab::OpKind;
use raddle_vocab::io::{self, ChannelKind, Endpoint};
use raddle_vocab::readiness::{Condition, IoCondition, IoEffect, Readiness};
use raddle_wire::{job_flag, limit, record};

use crate::interpose::io::descriptors::{MAX_CHANNELS, channel, is_ready};
use crate::interpose::io::net::party::PartyWait;
use crate::interpose::io::{channels, net, queues};
use crate::sched::controller::name_limit;
use crate::state::{AnnouncedOp, process, run};
use crate::syscall::syscall;

/// The last operation on a channel, whose record is not complete.
#[derive(Clone, Copy)]
pub struct OpenRecord {
    /// Where its value is; null if there is none.
    value: *mut u64,
    op: AnnouncedOp,
    condition: Option<IoCondition>,
    /// The descriptor that it makes or ends, and whether it ends.
    number: Option<(u16, bool)>,
}

impl OpenRecord {
    /// None.
    pub const NONE: OpenRecord = OpenRecord {
        value: core::ptr::null_mut(),
        op: AnnouncedOp { kind: OpKind::Io, order: 0, log_size: 0, obj: 0, arg: 0, pc: 0 },
        condition: None,
        number: None,
    };
}

/// Whether this is a channel, a socket, a port or a queue, whose readiness operations wait for.
fn has_readiness(thing: u64) -> bool {
    ChannelKind::of(thing).is_some_and(|kind| kind != ChannelKind::Timer) || Endpoint::of(thing).is_some()
}

/// What the operation that the thread stands before waits for, if the host can know whether it is
/// met.
pub fn condition(tid: usize, op: &AnnouncedOp) -> Option<IoCondition> {
    let private = &run().fibers[tid].private;
    let (descriptor, events) = io::waited_for(op.arg);
    let thing = io::thing(op.obj);
    if !has_readiness(thing) || private.polled.1 > 0 {
        return None;
    }
    let end_of = |socket: u16| net::socket(usize::from(socket) - 1).end;
    match events {
        io::WAITS_FOR_PROGRAM => match private.party_wait {
            PartyWait::Listener => Some(IoCondition::on_second(Condition::Listener)),
            PartyWait::Room { .. } => Some(IoCondition::new(Condition::Output(end_of(private.socket)))),
            PartyWait::Step { .. } => Some(IoCondition::new(Condition::Script)),
            PartyWait::None | PartyWait::Caller => None,
        },
        io::WAITS_FOR_QUEUE => io::second(op.arg).map(|_| IoCondition::on_second(Condition::Answer)),
        libc::POLLIN | libc::POLLOUT => {
            let end = match private.socket {
                0 if Endpoint::of(thing).is_some() => 0,
                0 => queues::side(descriptor),
                // Where a datagram goes is another socket.
                socket if events == libc::POLLOUT && !net::socket(usize::from(socket) - 1).is_connected_kind() => {
                    return None;
                }
                socket => end_of(socket),
            };
            let input = events == libc::POLLIN;
            Some(IoCondition::new(if input { Condition::Input(end) } else { Condition::Output(end) }))
        }
        _ => None,
    }
}

/// Whether all that the operation touches is state that the runtime keeps, and that keys of states
/// cover.
pub fn is_all_kept(op: &AnnouncedOp) -> bool {
    let is_kept = |thing: u64| Endpoint::of(thing).is_some() || channels::is_kept(thing);
    // That something may have become ready is no state of its own.
    let is_second_kept = |thing: u64| is_kept(thing) || thing == io::file(io::READINESS);
    is_kept(io::thing(op.obj)) && io::lists(op.obj) == [None, None] && io::second(op.arg).is_none_or(is_second_kept)
}

/// The value of the record of a pending operation.
pub fn pending_value(tid: usize, op: &AnnouncedOp) -> u64 {
    IoEffect::waiting(condition(tid, op)).pack()[0]
}

/// The running thread performs the operation, whose record was written last.
pub fn begins(op: &AnnouncedOp) {
    if op.arg & io::ASKS != 0 {
        return;
    }
    // A thread may have stopped before a data access, behind the last one.
    settle();
    let tid = run().hot.tid as usize;
    // SAFETY: the record was just written, and lies in front of the next one.
    let value = unsafe { run().hot.next.sub(record::STEP_WORDS - record::STEP_VALUE) };
    run().open_record = OpenRecord { value, op: *op, condition: condition(tid, op), number: None };
    queues::forget_changes();
}

/// The operation under way makes the descriptor, or ends it.
pub fn note_number(descriptor: i32, is_end: bool) {
    let open = &mut run().open_record;
    if !open.value.is_null() && (0..MAX_CHANNELS as i32).contains(&descriptor) {
        open.number = Some((descriptor as u16, is_end));
    }
}

/// The queue only looked at its members: others that do so may come before or after.
pub fn only_observes() {
    let open = &mut run().open_record;
    if !open.value.is_null() {
        open.op.arg |= io::OBSERVES;
    }
}

/// Whether the record of the last operation is complete.
#[inline(always)]
pub fn is_settled() -> bool {
    run().open_record.value.is_null()
}

/// Completes the record of the last operation.
#[inline]
pub fn settle() {
    if !is_settled() {
        complete();
    }
}

#[inline(never)]
fn complete() {
    let OpenRecord { value, op, condition, number } = core::mem::replace(&mut run().open_record, OpenRecord::NONE);
    let thing = io::thing(op.obj);
    let second = io::second(op.arg);
    let mut effect = IoEffect::waiting(condition);
    effect.object = readiness(thing);
    effect.second = second.map_or(Readiness::default(), readiness);
    if let Some((descriptor, is_end)) = number {
        effect.note_number(descriptor, is_end);
    }
    queues::each_change(|queue| {
        let identity = queues::identity(queue);
        let is_operand = thing == identity || second == Some(identity);
        if !is_operand && !effect.add_queue(queue as u16, queues::known_readiness(queue)) {
            name_limit(limit::DESCRIPTORS);
        }
    });
    let [first, last] = effect.pack();
    // SAFETY: the words of a record of this run, which stays where it is. In front of the value is
    // the operand.
    unsafe {
        *value.sub(1) = op.arg;
        *value = first;
        *value.add(1) = last;
    }
}

/// What a thing is ready for now.
fn readiness(thing: u64) -> Readiness {
    let mut found = Readiness::default();
    match Endpoint::of(thing) {
        Some(Endpoint::Queue(descriptor)) => {
            if let Some(is_ready) = queues::known_readiness(i32::from(descriptor)) {
                found.add(Condition::Input(0), is_ready);
            }
        }
        Some(_) => net::add_readiness(thing as u32, &mut found),
        // A child process may use it at any moment.
        None if run().has_children => {}
        None if has_readiness(thing) => add_channel(thing, &mut found),
        None => {}
    }
    found
}

/// What the ends of a channel of the kernel's are ready for.
fn add_channel(identity: u64, found: &mut Readiness) {
    let has_keys = process().plan.flags & job_flag::KEYS != 0;
    for descriptor in (0..MAX_CHANNELS as i32).filter(|&descriptor| channel(descriptor) == identity) {
        // SAFETY: asks for the flags of a descriptor.
        let access = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) } as i32 & libc::O_ACCMODE;
        let side = queues::side(descriptor);
        run().is_crowded |= has_keys && channels::is_crowded(descriptor);
        if access != libc::O_WRONLY {
            found.add(Condition::Input(side), is_ready(descriptor, libc::POLLIN));
        }
        if access != libc::O_RDONLY {
            found.add(Condition::Output(side), is_ready(descriptor, libc::POLLOUT));
        }
    }
}
