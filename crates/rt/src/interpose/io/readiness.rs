//! Asking whether input or output is possible: `poll`, `select`, `epoll_wait`, `FIONREAD`. Each
//! descriptor that is asked about is observed by a transition of its own. Which descriptors are in an
//! epoll queue, and for what, is state of the queue, which `epoll_ctl` changes.
//!
//! A call that may wait for ever waits for its turn until one of its descriptors is ready. One with
//! a time-out never waits: the time may be over at any moment.

use core::ffi::c_void;

use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::buffers::{changes, reads, writes};
use crate::interpose::io::descriptors::{channel, is_ready};
use crate::interpose::io::{overlay, regular_files, slots};
use crate::interpose::process::timers;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::sched::controller::{name_limit, note_limit};
use crate::sched::virtual_time;
use crate::sched::{self, timeouts};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::syscall;

real! { hidden:
    fn epoll_ctl(queue: i32, operation: i32, descriptor: i32, event: *mut c_void) -> i32;
    fn epoll_wait(queue: i32, into: *mut c_void, most: i32, milliseconds: i32) -> i32;
    fn ioctl(descriptor: i32, request: u64, argument: usize) -> i32;
}

/// Members of all epoll queues together.
const MEMBERS: usize = 128;
/// Descriptors that one `select` can name.
const SELECTED: usize = 64;
const MILLISECOND: u64 = 1_000_000;
/// Second operand of a wait that any of several channels ends.
const ANY_READY: u64 = io::and(io::READINESS) | io::SECOND_OBSERVES;

/// Which descriptors are in which epoll queue.
pub struct Queues {
    members: [(i32, i32); MEMBERS],
    /// What the program has asked for, for each member, and gets back.
    wanted: [libc::epoll_event; MEMBERS],
    len: usize,
}

impl Queues {
    /// None.
    pub const NEW: Queues =
        Queues { members: [(0, 0); MEMBERS], wanted: [libc::epoll_event { events: 0, u64: 0 }; MEMBERS], len: 0 };

    fn add(&mut self, queue: i32, descriptor: i32, wanted: libc::epoll_event) {
        if let Some(at) = self.members[..self.len].iter().position(|&member| member == (queue, descriptor)) {
            self.wanted[at] = wanted;
            return;
        }
        if self.len == MEMBERS {
            return name_limit(limit::DESCRIPTORS);
        }
        (self.members[self.len], self.wanted[self.len]) = ((queue, descriptor), wanted);
        self.len += 1;
    }

    fn remove(&mut self, unwanted: impl Fn(i32, i32) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            let (queue, descriptor) = self.members[at];
            if !unwanted(queue, descriptor) {
                (self.members[kept], self.wanted[kept]) = ((queue, descriptor), self.wanted[at]);
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Calls the function for each word that the program gets back for a member.
    pub fn each_word(&self, call: impl FnMut(u64)) {
        self.wanted[..self.len].iter().map(|wanted| wanted.u64).for_each(call);
    }

    /// What is wanted of the members of a queue.
    fn of(&self, queue: i32) -> impl Iterator<Item = (i32, libc::epoll_event)> {
        let all = self.members[..self.len].iter().zip(&self.wanted);
        all.filter(move |&(&(of, _), _)| of == queue).map(|(&(_, member), &wanted)| (member, wanted))
    }
}

/// The descriptor is closed: it is in no queue any more, and is none.
pub fn closed(descriptor: i32) {
    if run().queues.len > 0 {
        run().queues.remove(|queue, member| queue == descriptor || member == descriptor);
    }
}

/// A transition that looks at what the descriptor refers to, and at what `second` says. False if it
/// refers to nothing that operations wait for: then there is none. With [`io::ASKS`] it asks for
/// nothing but readiness, and is a read of a spin loop.
fn observe(descriptor: i32, second: u64, pc: u64) -> bool {
    let mut is_any = false;
    slots::look_at(descriptor, pc, || {
        let identity = channel(descriptor);
        is_any = identity != 0;
        if is_any {
            timers::before_reading(descriptor);
            let op = AnnouncedOp::new(OpKind::Io, identity, io::waits_for(descriptor, 0) | io::OBSERVES | second, pc);
            sched::perform(op, Outcome::Done, 0, 0);
            timers::observe();
        }
    });
    is_any
}

/// Waits until `descriptor`, which may stand for several, is ready. `about` is what it waits for.
fn wait_until_ready(descriptor: i32, events: i16, about: u64, second: u64, pc: u64) {
    let op = AnnouncedOp::new(OpKind::Io, about, io::waits_for(descriptor, events) | io::OBSERVES | second, pc);
    sched::perform(op, Outcome::Done, 0, 0);
    timers::observe();
}

/// Identity of an epoll queue. One whose number was used before is taken for the same, which only
/// adds dependences.
fn thing_of_queue(queue: i32) -> u32 {
    regular_files::thing(queue as u64, 24)
}

/// Waits until one of several is ready.
fn wait_for_any(entries: &[libc::pollfd], pc: u64) {
    let Some(about) = entries.iter().map(|entry| channel(entry.fd)).find(|&identity| identity != 0) else {
        return note_limit(limit::EXTERNAL_WAIT);
    };
    // SAFETY: a queue of the runtime, which it closes again; events have the same bits in both
    // calls.
    unsafe {
        let queue = syscall!(libc::SYS_epoll_create1, libc::EPOLL_CLOEXEC) as i32;
        for entry in entries.iter().filter(|entry| entry.fd >= 0) {
            let event = libc::epoll_event { events: entry.events as u16 as u32, u64: 0 };
            syscall!(libc::SYS_epoll_ctl, queue, libc::EPOLL_CTL_ADD, entry.fd, &raw const event);
        }
        wait_until_ready(queue, libc::POLLIN, about, ANY_READY, pc);
        syscall!(libc::SYS_close, queue);
    }
}

/// `poll` with one descriptor that something can be waited for at, and without a time-out.
fn ask_about_one(entry: &mut libc::pollfd, pc: u64) -> i32 {
    let descriptor = entry.fd;
    slots::looks_up(descriptor, pc);
    match channel(descriptor) {
        0 if is_ready(descriptor, entry.events) => {}
        0 => note_limit(limit::EXTERNAL_WAIT),
        about => wait_until_ready(descriptor, entry.events, about, 0, pc),
    }
    let (number, is_copy) = slots::found(descriptor);
    entry.fd = number;
    let ready = crate::arch::syscall::poll(entry).max(0) as i32;
    entry.fd = descriptor;
    if is_copy {
        overlay::close(number);
    }
    ready
}

/// A time-out of so many milliseconds is over.
fn timed_out(milliseconds: i32, pc: u64) {
    if milliseconds > 0 {
        virtual_time::slept(milliseconds as u64 * MILLISECOND);
        timers::after_sleep();
        timeouts::idle_call(pc);
    }
}

/// `poll`, under control.
fn ask(entries: &mut [libc::pollfd], milliseconds: i32, pc: u64) -> i32 {
    if let [only] = entries
        && milliseconds < 0
    {
        return ask_about_one(only, pc);
    }
    loop {
        let is_any_ready =
            |entry: &libc::pollfd| entry.fd >= 0 && channel(entry.fd) == 0 && is_ready(entry.fd, entry.events);
        let waits = milliseconds < 0 && !entries.iter().any(is_any_ready);
        let can_wait = entries.iter().any(|entry| channel(entry.fd) != 0);
        if waits {
            wait_for_any(entries, pc);
        }
        // As in the kernel, each is looked at in its turn.
        let mut ready = 0;
        for entry in entries.iter_mut() {
            let asks = if milliseconds >= 0 { io::ASKS } else { 0 };
            observe(entry.fd, asks, pc);
            ready += crate::arch::syscall::poll(entry).max(0) as i32;
        }
        if ready > 0 || !waits || !can_wait {
            if ready == 0 {
                timed_out(milliseconds, pc);
            }
            return ready;
        }
        // Another thread was faster.
    }
}

/// `poll` with descriptors, under control.
pub fn poll(descriptors: *mut libc::pollfd, count: u64, milliseconds: i32, pc: u64) -> i32 {
    touch(descriptors.cast(), count as usize * size_of::<libc::pollfd>());
    for at in 0..count as usize {
        let entry = descriptors as usize + at * size_of::<libc::pollfd>();
        let answer = core::mem::offset_of!(libc::pollfd, revents);
        reads(entry, answer, pc);
        writes(entry + answer, size_of::<i16>(), pc);
    }
    // SAFETY: the caller passes so many entries.
    ask(unsafe { core::slice::from_raw_parts_mut(descriptors, count as usize) }, milliseconds, pc)
}

/// The sets of `select`, and the events of `poll` that they stand for.
const SETS: [i16; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];

/// `select` with descriptors, under control; `None` if there are too many.
pub fn select(count: i32, sets: [*mut libc::fd_set; 3], milliseconds: i32, pc: u64) -> Option<i32> {
    for set in sets {
        changes(set as usize, (count.max(0) as usize).div_ceil(64) * 8, pc);
    }
    let mut entries = [libc::pollfd { fd: -1, events: 0, revents: 0 }; SELECTED];
    let mut len = 0;
    for fd in 0..count {
        // SAFETY: each set is null or the caller's, with a bit for every descriptor below `count`.
        let wants = |set: *mut libc::fd_set| !set.is_null() && unsafe { libc::FD_ISSET(fd, set) };
        let events = sets.iter().zip(SETS).filter(|&(&set, _)| wants(set)).fold(0, |all, (_, event)| all | event);
        if events != 0 {
            *entries.get_mut(len)? = libc::pollfd { fd, events, revents: 0 };
            len += 1;
        }
    }
    ask(&mut entries[..len], milliseconds, pc);
    let mut found = 0;
    for (&set, event) in sets.iter().zip(SETS).filter(|(set, _)| !set.is_null()) {
        // A closed end can be read from and written to: the call would not wait.
        let hangs_up = if event == libc::POLLPRI { 0 } else { libc::POLLHUP | libc::POLLERR };
        // SAFETY: as above.
        unsafe { libc::FD_ZERO(set) };
        for entry in entries[..len].iter().filter(|entry| entry.events & event != 0) {
            if entry.revents & (event | hangs_up) != 0 {
                // SAFETY: as above.
                unsafe { libc::FD_SET(entry.fd, set) };
                found += 1;
            }
        }
    }
    Some(found)
}

extern "C" fn change_queue(queue: i32, operation: i32, descriptor: i32, event: *mut c_void, pc: u64) -> i32 {
    slots::use_settled(descriptor, pc, || {});
    if controlled() && run().threads > 1 {
        let arg = slots::may_make_ready(0);
        let op = AnnouncedOp::new(OpKind::Io, io::file(thing_of_queue(queue)), arg, pc);
        sched::perform(op, Outcome::Done, 0, 0);
    }
    if operation != libc::EPOLL_CTL_DEL {
        reads(event as usize, size_of::<libc::epoll_event>(), pc);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::epoll_ctl(queue, operation, descriptor, event) };
    if result == 0 && controlled() {
        match operation {
            libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD => {
                // SAFETY: the call succeeded, so the caller has passed an event.
                let wanted = unsafe { event.cast::<libc::epoll_event>().read_unaligned() };
                run().queues.add(queue, descriptor, wanted);
            }
            libc::EPOLL_CTL_DEL => run().queues.remove(|of, member| (of, member) == (queue, descriptor)),
            _ => {}
        }
        for at in 0..run().queues.len {
            let (of, member) = run().queues.members[at];
            if of == queue {
                // A thread that waits for the queue names one of its members.
                sched::changed(channel(member));
            }
        }
    }
    result
}

/// Events of which the kernel reports what is there, whatever it has reported before.
const IS_STATELESS: u32 = 0xffff;

/// `epoll_wait` with several members. Each is looked at in a transition of its own, as the kernel looks
/// at one by one; they are reported in the order in which they came into the queue.
fn ask_members(queue: i32, into: *mut libc::epoll_event, most: usize, milliseconds: i32, pc: u64) -> i32 {
    let of_queue = io::and(thing_of_queue(queue)) | io::SECOND_OBSERVES;
    loop {
        let about = run().queues.of(queue).map(|(member, _)| channel(member)).find(|&identity| identity != 0);
        match about {
            Some(about) if milliseconds < 0 => wait_until_ready(queue, libc::POLLIN, about, ANY_READY, pc),
            None if milliseconds < 0 => note_limit(limit::EXTERNAL_WAIT),
            _ => {}
        }
        let (mut found, mut at) = (0, 0);
        while let Some((member, wanted)) = run().queues.of(queue).nth(at) {
            observe(member, of_queue, pc);
            let mut entry = libc::pollfd { fd: member, events: wanted.events as i16, revents: 0 };
            if found < most && crate::arch::syscall::poll(&mut entry) > 0 {
                let event = libc::epoll_event { events: u32::from(entry.revents.cast_unsigned()), u64: wanted.u64 };
                // SAFETY: the caller passes room for so many events.
                unsafe { into.add(found).write_unaligned(event) };
                found += 1;
            }
            at += 1;
        }
        if found > 0 || milliseconds >= 0 || about.is_none() {
            writes(into as usize, found * size_of::<libc::epoll_event>(), pc);
            if found == 0 {
                timed_out(milliseconds, pc);
            }
            return found as i32;
        }
    }
}

extern "C" fn wait_for_queue(queue: i32, into: *mut c_void, most: i32, milliseconds: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::epoll_wait(queue, into, most, milliseconds) };
    }
    touch(into.cast(), most.max(0) as usize * size_of::<libc::epoll_event>());
    if run().threads > 1 && run().queues.of(queue).nth(1).is_some() {
        if run().queues.of(queue).all(|(_, wanted)| wanted.events & !IS_STATELESS == 0) {
            return ask_members(queue, into.cast(), most.max(0) as usize, milliseconds, pc);
        }
        // What the kernel reports of one depends on what it has reported before.
        note_limit(limit::DESCRIPTORS);
    }
    let of_queue = io::and(thing_of_queue(queue)) | io::SECOND_OBSERVES;
    let (mut about, mut is_observed) = (0, false);
    for at in 0..run().queues.len {
        let (of, member) = run().queues.members[at];
        if of == queue {
            about = if about == 0 { channel(member) } else { about };
            if milliseconds >= 0 {
                is_observed |= observe(member, if is_observed { 0 } else { of_queue }, pc);
            }
        }
    }
    if milliseconds >= 0 && !is_observed && run().threads > 1 {
        let op = AnnouncedOp::new(OpKind::Io, io::file(thing_of_queue(queue)), io::OBSERVES, pc);
        sched::perform(op, Outcome::Done, 0, 0);
    }
    if milliseconds < 0 && about != 0 {
        wait_until_ready(queue, libc::POLLIN, about, of_queue, pc);
    } else if milliseconds < 0 {
        note_limit(limit::EXTERNAL_WAIT);
    }
    let at_most = if milliseconds < 0 && about == 0 { milliseconds } else { 0 };
    // SAFETY: passes on what the caller gave.
    let found = unsafe { hidden::epoll_wait(queue, into, most, at_most) };
    writes(into as usize, found.max(0) as usize * size_of::<libc::epoll_event>(), pc);
    if found == 0 {
        timed_out(milliseconds, pc);
    }
    found
}

/// The memory that a request accesses. The numbers of most say how many bytes it reads and writes.
fn accesses_of(request: u64, argument: usize, pc: u64) {
    let bytes = (request >> 16 & 0x3fff) as usize;
    match request {
        libc::FIONREAD | libc::TIOCOUTQ | libc::TIOCGPGRP => writes(argument, 4, pc),
        libc::FIONBIO | libc::FIOASYNC | libc::TIOCSPGRP => reads(argument, 4, pc),
        libc::TIOCGWINSZ => writes(argument, 8, pc),
        libc::TCGETS => writes(argument, 36, pc),
        _ => match request >> 30 & 3 {
            1 => reads(argument, bytes, pc),
            2 => writes(argument, bytes, pc),
            3 => changes(argument, bytes, pc),
            _ => {}
        },
    }
}

extern "C" fn control_device(descriptor: i32, request: u64, argument: usize, pc: u64) -> i32 {
    /// What a request may write at least, whatever its number says.
    const ANY: usize = 512;
    if controlled() {
        if matches!(request, libc::FIONREAD | libc::FIONBIO) {
            observe(descriptor, 0, pc);
        }
        // What it answers may be something else in every run.
        undo::changed(undo::kind::OTHER);
        touch(argument as *const u8, ANY.max((request >> 16 & 0x3fff) as usize));
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::ioctl(descriptor, request, argument) };
    if result >= 0 {
        accesses_of(request, argument, pc);
    }
    result
}

export!(epoll_ctl, 4 => change_queue);
export!(epoll_wait, 4 => wait_for_queue);
export!(ioctl, 3 => control_device);
