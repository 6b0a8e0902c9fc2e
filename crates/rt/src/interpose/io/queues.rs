//! Queues of `epoll`. Which descriptors are in a queue, for what, and which of them are listed as
//! ready is state of the run. The kernel's queue of a descriptor only checks what `epoll_ctl` is
//! given.
//!
//! The rules are the kernel's. A descriptor is listed when it is added or changed and is ready, and
//! when something happens to it that it is in the queue for. `epoll_wait` looks at those that are
//! listed, in order: one that is not ready is no longer listed, one that is gets reported. Then it
//! is listed again, behind the others, unless it is edge-triggered; one that is wanted once is
//! wanted for nothing.
//!
//! A wait is one transition on the queue, which is enabled if it would report something. An
//! operation on a channel changes a queue if it lists a descriptor there, or changes whether one
//! would be reported.

use core::ffi::c_void;

use raddle_vocab::io::{ChannelKind, Endpoint};
use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::descriptors::{MAX_CHANNELS, channel};
use crate::interpose::io::readiness::{revents, timed_out};
use crate::interpose::io::{effects, net, slots};
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::interpose::process::timers;
use crate::library::calls;
use crate::restore::snapshot::touch;
use crate::sched;
use crate::sched::controller::{name_limit, note_limit};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn epoll_create1(flags: i32) -> i32;
    fn epoll_create(size: i32) -> i32;
    fn epoll_ctl(queue: i32, operation: i32, descriptor: i32, event: *mut c_void) -> i32;
    fn epoll_wait(queue: i32, into: *mut c_void, most: i32, milliseconds: i32) -> i32;
    fn epoll_pwait(queue: i32, into: *mut c_void, most: i32, milliseconds: i32, blocked: *const c_void) -> i32;
    fn epoll_pwait2(
        queue: i32,
        into: *mut c_void,
        most: i32,
        span: *const libc::timespec,
        blocked: *const c_void,
    ) -> i32;
}

/// Members of all queues together.
const MEMBERS: usize = 256;
/// Bits of the events of a member that are no events.
const HOW: u32 = (libc::EPOLLET | libc::EPOLLONESHOT | libc::EPOLLEXCLUSIVE | libc::EPOLLWAKEUP) as u32;
/// Events that are reported whether they are wanted or not.
const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
/// Queues inside of queues that are looked into.
const DEPTH: u32 = 5;

/// What happened to a descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// There is something to be read.
    Input,
    /// There is room to write.
    Output,
    /// Anything.
    All,
}

impl Notice {
    /// Whether a member is told that is wanted for these events.
    fn concerns(self, wanted: u32) -> bool {
        let events = match self {
            Notice::Input => libc::EPOLLIN | libc::EPOLLRDNORM | libc::EPOLLPRI | libc::EPOLLRDBAND,
            Notice::Output => libc::EPOLLOUT | libc::EPOLLWRNORM | libc::EPOLLWRBAND,
            Notice::All => !0,
        };
        wanted & !HOW & events as u32 != 0
    }
}

/// A descriptor in a queue.
#[derive(Clone, Copy)]
struct Member {
    queue: i32,
    descriptor: i32,
    /// What the program wants, and gets back. One that was reported once is wanted for nothing.
    wanted: libc::epoll_event,
    /// Its turn among those that are listed; 0 if it is not.
    turn: u32,
    /// Whether a wait would have reported it behind the last operation.
    was_due: bool,
}

impl Member {
    const NONE: Member =
        Member { queue: 0, descriptor: 0, wanted: libc::epoll_event { events: 0, u64: 0 }, turn: 0, was_due: false };

    /// Events that it is ready for.
    fn found(&self, depth: u32) -> u32 {
        let events = self.wanted.events & !HOW;
        if events == 0 {
            return 0;
        }
        u32::from(revents(self.descriptor, !0, depth).cast_unsigned()) & events
    }

    fn is_edge(&self) -> bool {
        self.wanted.events & libc::EPOLLET as u32 != 0
    }

    /// Whether a wait would look at it and report it.
    fn is_due(&self, depth: u32) -> bool {
        (self.turn != 0 || !self.is_edge()) && self.found(depth) != 0
    }
}

/// Which descriptors are in which queue.
pub struct Queues {
    members: [Member; MEMBERS],
    len: usize,
    turns: u32,
    /// End of a socket pair that each descriptor refers to.
    sides: [u8; MAX_CHANNELS],
    /// Descriptors that are queues, a bit each.
    made: [u64; MAX_CHANNELS / 64],
    /// Queues that the operation under way has changed, a bit for each descriptor.
    changed: [u64; MAX_CHANNELS / 64],
}

impl Queues {
    /// None.
    pub const NEW: Queues = Queues {
        members: [Member::NONE; MEMBERS],
        len: 0,
        turns: 0,
        sides: [0; MAX_CHANNELS],
        made: [0; MAX_CHANNELS / 64],
        changed: [0; MAX_CHANNELS / 64],
    };

    fn note_change(&mut self, queue: i32) {
        let number = queue as usize;
        if let Some(word) = self.changed.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn turn(&mut self) -> u32 {
        self.turns += 1;
        self.turns
    }

    fn position(&self, queue: i32, descriptor: i32) -> Option<usize> {
        self.members[..self.len].iter().position(|member| (member.queue, member.descriptor) == (queue, descriptor))
    }

    fn add(&mut self, queue: i32, descriptor: i32, wanted: libc::epoll_event) {
        let at = match self.position(queue, descriptor) {
            Some(at) => at,
            None if self.len == MEMBERS => return name_limit(limit::DESCRIPTORS),
            None => {
                self.members[self.len] = Member { queue, descriptor, ..Member::NONE };
                self.len += 1;
                self.len - 1
            }
        };
        self.members[at].wanted = wanted;
        self.members[at].wanted.events |= ALWAYS;
    }

    fn remove(&mut self, is_unwanted: impl Fn(&Member) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            if !is_unwanted(&self.members[at]) {
                self.members[kept] = self.members[at];
                kept += 1;
            } else if self.members[at].was_due {
                self.note_change(self.members[at].queue);
            }
        }
        self.len = kept;
    }

    /// Calls the function for each word that the program gets back for a member.
    pub fn each_word(&self, call: impl FnMut(u64)) {
        self.members[..self.len].iter().map(|member| member.wanted.u64).for_each(call);
    }

    fn of(&self, queue: i32) -> impl Iterator<Item = &Member> {
        self.members[..self.len].iter().filter(move |member| member.queue == queue)
    }
}

/// Whether the descriptor is a queue that has members.
pub fn is_queue(descriptor: i32) -> bool {
    run().queues.len > 0 && run().queues.of(descriptor).next().is_some()
}

/// Calls the function for each descriptor in the queue, with what is wanted of it.
pub fn each_wanted(queue: i32, call: &mut dyn FnMut(i32, i16)) {
    for member in run().queues.of(queue) {
        call(member.descriptor, (member.wanted.events & !HOW) as i16);
    }
}

/// Whether a wait for the queue would report something.
pub fn is_ready(queue: i32, depth: u32) -> bool {
    depth < DEPTH && run().queues.of(queue).any(|member| member.is_due(depth + 1))
}

/// The queue is about to be closed.
pub fn closing(queue: i32, pc: u64) {
    if run().threads > 1 {
        let op = AnnouncedOp::new(OpKind::Io, identity(queue), slots::may_make_ready(0), pc);
        sched::perform(op, Outcome::Done, 0, 0);
    }
}

/// The descriptor is closed: it is in no queue any more, and is none. What other descriptors refer
/// to stays in queues under its number, which is not modelled.
pub fn closed(descriptor: i32, is_shared: bool) {
    let queues = &mut run().queues;
    if let Some(word) = usize::try_from(descriptor).ok().and_then(|at| queues.made.get_mut(at / 64)) {
        *word &= !(1 << (descriptor % 64));
    }
    if queues.len > 0 {
        if is_shared && queues.members[..queues.len].iter().any(|member| member.descriptor == descriptor) {
            note_limit(limit::DESCRIPTORS);
        }
        queues.remove(|member| member.queue == descriptor || member.descriptor == descriptor);
    }
}

/// The operation under way begins: no queue is changed by it yet.
pub fn forget_changes() {
    run().queues.changed = [0; MAX_CHANNELS / 64];
}

/// Calls the function for each queue that the operation under way has changed.
pub fn each_change(mut call: impl FnMut(i32)) {
    let queues = &mut run().queues;
    for at in 0..queues.len {
        let member = queues.members[at];
        let is_due = member.is_due(1);
        if is_due != member.was_due {
            queues.members[at].was_due = is_due;
            queues.note_change(member.queue);
        }
    }
    let changed = core::mem::take(&mut queues.changed);
    let is_changed = |&queue: &i32| changed[queue as usize / 64] >> (queue % 64) & 1 != 0;
    (0..MAX_CHANNELS as i32).filter(is_changed).for_each(&mut call);
}

/// Whether a wait for the queue would report something; `None` if that may change without an
/// operation.
pub fn known_readiness(queue: i32) -> Option<bool> {
    let changes_alone = |member: &Member| match channel(member.descriptor) {
        io::NETWORK => true,
        0 => !is_queue(member.descriptor),
        identity => run().has_children || ChannelKind::of(identity) == Some(ChannelKind::Timer),
    };
    (!run().queues.of(queue).any(changes_alone)).then(|| is_ready(queue, 0))
}

/// Which end of a pair of sockets the descriptor refers to.
pub fn side(descriptor: i32) -> u8 {
    usize::try_from(descriptor).ok().and_then(|at| run().queues.sides.get(at)).copied().unwrap_or(0)
}

/// Notes which end of a pair of sockets the descriptor refers to.
pub fn set_side(descriptor: i32, side: u8) {
    if let Some(slot) = usize::try_from(descriptor).ok().and_then(|at| run().queues.sides.get_mut(at)) {
        *slot = side;
    }
}

/// The second descriptor refers to the same end as the first.
pub fn copied(from: i32, to: i32) {
    set_side(to, side(from));
}

/// Lists the members that are told.
fn notify(is_told: &dyn Fn(&Member) -> bool, notice: Notice, depth: u32) {
    if run().queues.len == 0 || depth >= DEPTH {
        return;
    }
    for at in 0..run().queues.len {
        let member = run().queues.members[at];
        if is_told(&member) && notice.concerns(member.wanted.events) {
            if member.turn == 0 {
                run().queues.members[at].turn = run().queues.turn();
            }
            // One that is edge-triggered is listed again if a wait has just reported it.
            if member.turn == 0 || member.is_edge() {
                run().queues.note_change(member.queue);
            }
            // A queue inside of a queue.
            notify(&|outer| outer.descriptor == member.queue, Notice::Input, depth + 1);
        }
    }
}

/// Something happened to a socket of the runtime's.
pub fn notify_socket(index: usize, notice: Notice) {
    notify(&|member| net::of(member.descriptor) == Some(index), notice, 0);
}

/// Something happened to the descriptor itself: its timer went off.
pub fn notify_descriptor(descriptor: i32) {
    notify(&|member| member.descriptor == descriptor, Notice::All, 0);
}

/// The descriptor of a channel of the kernel's was read from or written to: the other end is told.
pub fn notify_channel(identity: u64, descriptor: i32, notice: Notice) {
    let own_side = side(descriptor);
    let is_pair = ChannelKind::of(identity) == Some(ChannelKind::SocketPair);
    let is_told = |member: &Member| {
        channel(member.descriptor) == identity
            && (!is_pair || notice == Notice::All || side(member.descriptor) != own_side)
            && has_access(member.descriptor, notice)
    };
    notify(&is_told, notice, 0);
}

/// Whether an end of a pipe is concerned.
fn has_access(descriptor: i32, notice: Notice) -> bool {
    // SAFETY: asks for the flags of a descriptor.
    let access = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) } as i32 & libc::O_ACCMODE;
    match notice {
        Notice::Input => access != libc::O_WRONLY,
        Notice::Output => access != libc::O_RDONLY,
        Notice::All => true,
    }
}

/// What a wait for the queue touches.
pub fn identity(queue: i32) -> u64 {
    io::file(thing_of(queue))
}

fn thing_of(queue: i32) -> u32 {
    Endpoint::Queue(queue as u16).thing()
}

fn made(queue: i32) -> i32 {
    if controlled() && queue >= 0 {
        match run().queues.made.get_mut(queue as usize / 64) {
            Some(word) => *word |= 1 << (queue % 64),
            None => note_limit(limit::DESCRIPTORS),
        }
    }
    queue
}

extern "C" fn make_queue(flags: i32, _pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    made(unsafe { hidden::epoll_create1(flags) })
}

extern "C" fn make_sized_queue(size: i32, _pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    made(unsafe { hidden::epoll_create(size) })
}

/// Whether the program has made the descriptor as a queue.
pub fn is_made(descriptor: usize) -> bool {
    run().queues.made.get(descriptor / 64).is_some_and(|word| word >> (descriptor % 64) & 1 != 0)
}

/// Passes names and numbers of all queues and their members. Of turns only the order counts.
pub fn digest(mut add: impl FnMut(u64, u64)) {
    let queues = &run().queues;
    for (at, &word) in queues.made.iter().enumerate() {
        add(mix(0x71 + at as u64), word);
    }
    for member in &queues.members[..queues.len] {
        let earlier = queues.of(member.queue).filter(|other| other.turn < member.turn).count() as u64;
        let place = if member.turn == 0 { 0 } else { 1 + earlier };
        let name = mix((member.queue as u64) << 32 | member.descriptor as u64);
        let wanted = mix(u64::from(member.wanted.events) ^ mix(member.wanted.u64));
        add(name, mix(wanted ^ place));
    }
}

extern "C" fn change_queue(queue: i32, operation: i32, descriptor: i32, event: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::epoll_ctl(queue, operation, descriptor, event) };
    }
    slots::use_settled(descriptor, pc, || {});
    // What the descriptor is ready for decides whether it is listed.
    let (obj, second) = match channel(descriptor) {
        0 => (identity(queue), 0),
        identity => (identity, io::and(thing_of(queue)) | io::OBSERVES),
    };
    sched::perform(AnnouncedOp::new(OpKind::Io, obj, slots::may_make_ready(second), pc), Outcome::Done, 0, 0);
    if operation != libc::EPOLL_CTL_DEL {
        reads(event as usize, size_of::<libc::epoll_event>(), pc);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::epoll_ctl(queue, operation, descriptor, event) };
    if result != 0 {
        return result;
    }
    match operation {
        libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD => {
            // SAFETY: the call succeeded, so the caller has passed an event.
            let wanted = unsafe { event.cast::<libc::epoll_event>().read_unaligned() };
            run().queues.add(queue, descriptor, wanted);
            if let Some(at) = run().queues.position(queue, descriptor)
                && run().queues.members[at].turn == 0
                && run().queues.members[at].found(1) != 0
            {
                run().queues.members[at].turn = run().queues.turn();
                notify(&|outer| outer.descriptor == queue, Notice::Input, 1);
            }
        }
        libc::EPOLL_CTL_DEL => {
            run().queues.remove(|member| (member.queue, member.descriptor) == (queue, descriptor));
        }
        _ => {}
    }
    sched::changed_channels();
    result
}

/// The member whose turn is next after one, of those that a wait looks at; ones that are ready
/// without being listed come last.
fn next_of(queue: i32, after: u32) -> Option<usize> {
    let members = &run().queues.members[..run().queues.len];
    let numbered = || members.iter().enumerate().filter(|(_, member)| member.queue == queue);
    let listed = numbered().filter(|(_, member)| member.turn > after).min_by_key(|(_, member)| member.turn);
    listed.map(|(at, _)| at)
}

/// Lists members that are ready and not listed, unless they are edge-triggered: the kernel was told
/// by other means.
fn list_others(queue: i32) {
    for at in 0..run().queues.len {
        let member = run().queues.members[at];
        if member.queue == queue && member.turn == 0 && member.is_due(1) {
            run().queues.members[at].turn = run().queues.turn();
        }
    }
}

/// Looks at the members that are listed, and reports those that are ready.
fn collect(queue: i32, into: *mut libc::epoll_event, most: usize) -> usize {
    list_others(queue);
    let (mut found, mut after, last) = (0, 0, run().queues.turns);
    if next_of(queue, 0).is_none() {
        effects::only_observes();
    }
    while found < most
        && let Some(at) = next_of(queue, after)
        && run().queues.members[at].turn <= last
    {
        let member = run().queues.members[at];
        after = member.turn;
        run().queues.members[at].turn = 0;
        let events = member.found(1);
        if events == 0 {
            continue;
        }
        let event = libc::epoll_event { events, u64: member.wanted.u64 };
        // SAFETY: the caller passes room for so many events.
        unsafe { into.add(found).write_unaligned(event) };
        found += 1;
        if member.wanted.events & libc::EPOLLONESHOT as u32 != 0 {
            run().queues.members[at].wanted.events &= HOW;
        } else if !member.is_edge() {
            run().queues.members[at].turn = run().queues.turn();
        }
    }
    found
}

/// Whether all that the queue waits for is outside of the program.
fn is_foreign(queue: i32) -> bool {
    let mut members = run().queues.of(queue).peekable();
    members.peek().is_some() && members.all(|member| channel(member.descriptor) == 0 && !is_queue(member.descriptor))
}

extern "C" fn wait_for_queue(queue: i32, into: *mut c_void, most: i32, milliseconds: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::epoll_wait(queue, into, most, milliseconds) };
    }
    if most <= 0 {
        set_errno(libc::EINVAL);
        return -1;
    }
    touch(into.cast(), most as usize * size_of::<libc::epoll_event>());
    if milliseconds < 0 && is_foreign(queue) {
        note_limit(limit::EXTERNAL_WAIT);
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::epoll_wait(queue, into, most, milliseconds) };
    }
    let mut none = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: asks whether the descriptor is a queue, into a local.
    let checked = unsafe { syscall!(libc::SYS_epoll_pwait, queue, &raw mut none, 1, 0, 0usize, 8usize) };
    if checked < 0 {
        set_errno(-checked as i32);
        return -1;
    }
    loop {
        for at in 0..run().queues.len {
            let member = run().queues.members[at];
            if member.queue == queue {
                timers::before_reading(member.descriptor);
            }
        }
        let events = match milliseconds {
            0 => 0,
            1.. => {
                run().waits_timed = true;
                io::WAITS_WITH_TIME_OUT
            }
            _ => libc::POLLIN,
        };
        let arg = io::waits_for(queue, events);
        // Where something may come from other processes, no deadlock is sure.
        let is_outside = run().queues.of(queue).any(|member| channel(member.descriptor) == io::NETWORK);
        let about = if is_outside { io::NETWORK } else { identity(queue) };
        let arg = if is_outside { arg | io::and(thing_of(queue)) } else { arg };
        if milliseconds < 0 {
            couriers::begin_call(InterruptibleCall::Ends, pc);
        }
        sched::perform(AnnouncedOp::new(OpKind::Io, about, arg, pc), Outcome::Done, 0, 0);
        let is_interrupted = couriers::end_call();
        timers::observe();
        let found = collect(queue, into.cast(), most as usize);
        if found == 0 && is_interrupted {
            set_errno(libc::EINTR);
            return -1;
        }
        if found == 0 && milliseconds < 0 {
            // Another thread was faster.
            continue;
        }
        writes(into as usize, found * size_of::<libc::epoll_event>(), pc);
        if found == 0 {
            timed_out(milliseconds, pc);
        }
        return found as i32;
    }
}

/// `epoll_pwait`. Signals that only the call lets through are not modelled.
extern "C" fn wait_masked(
    queue: i32,
    into: *mut c_void,
    most: i32,
    milliseconds: i32,
    blocked: *const c_void,
    pc: u64,
) -> i32 {
    if controlled() && blocked.is_null() {
        return wait_for_queue(queue, into, most, milliseconds, pc);
    }
    if controlled() {
        calls::note(b"epoll_pwait", pc);
        return wait_for_queue(queue, into, most, milliseconds, pc);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::epoll_pwait(queue, into, most, milliseconds, blocked) }
}

/// `epoll_pwait2`, as [`wait_masked`].
extern "C" fn wait_masked_for_span(
    queue: i32,
    into: *mut c_void,
    most: i32,
    span: *const libc::timespec,
    blocked: *const c_void,
    pc: u64,
) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::epoll_pwait2(queue, into, most, span, blocked) };
    }
    if !blocked.is_null() {
        calls::note(b"epoll_pwait2", pc);
    }
    // SAFETY: null, or the caller passes a span.
    let milliseconds = unsafe { span.as_ref() }.map_or(-1, |span| {
        let seconds = (span.tv_sec as u64).saturating_mul(1_000);
        seconds.saturating_add((span.tv_nsec as u64).div_ceil(1_000_000)).min(i32::MAX as u64) as i32
    });
    wait_for_queue(queue, into, most, milliseconds, pc)
}

export!(epoll_create, 1 => make_sized_queue);
export!(epoll_create1, 1 => make_queue);
export!(epoll_ctl, 4 => change_queue);
export!(epoll_wait, 4 => wait_for_queue);
export!(epoll_pwait, 5 => wait_masked);
export!(epoll_pwait2, 5 => wait_masked_for_span);
