//! Waiting for the turn of an operation on a descriptor.

use raddle_vocab::{OpKind, Outcome, io};

use crate::interpose::io::descriptors::{channel, is_nonblocking, is_ready};
use crate::interpose::io::overlay::close as close_copy;
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::io::{descriptor_ends, net, slots};
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::sched;
use crate::state::{AnnouncedOp, controlled};
use crate::syscall::set_errno;

/// An operation on a descriptor that may begin.
pub struct DescriptorUse {
    /// The number by which the kernel knows what the descriptor referred to when the call began.
    pub number: i32,
    is_copy: bool,
    identity: u64,
    descriptor: i32,
    /// What happens to the other end.
    notice: Notice,
    /// Why the wait has ended without an operation, as errno says it.
    gave_up: Option<i32>,
}

impl DescriptorUse {
    /// Whether a signal handler or a time-out has ended the wait; then errno says which, and the
    /// use is over.
    pub fn is_over(&self) -> bool {
        if let Some(code) = self.gave_up {
            set_errno(code);
            if self.is_copy {
                close_copy(self.number);
            }
        }
        self.gave_up.is_some()
    }

    /// The operation was performed: other threads may be enabled.
    pub fn end(self) {
        if self.identity != 0 {
            queues::notify_channel(self.identity, self.descriptor, self.notice);
            sched::changed_channels();
        }
        if self.is_copy {
            close_copy(self.number);
        }
    }
}

/// Waits until an operation on a descriptor cannot block.
pub fn wait_for(descriptor: i32, events: i16, pc: u64) -> DescriptorUse {
    wait_with_flags(descriptor, events, 0, pc)
}

/// The same for a message that is sent or received with these flags, which may say not to wait.
pub fn wait_with_flags(descriptor: i32, events: i16, flags: i32, pc: u64) -> DescriptorUse {
    wait(descriptor, events, flags, false, pc)
}

/// The same for a call that a signal handler may interrupt.
pub fn wait_interruptibly(descriptor: i32, events: i16, flags: i32, pc: u64) -> DescriptorUse {
    wait(descriptor, events, flags, true, pc)
}

fn wait(descriptor: i32, events: i16, flags: i32, interruptible: bool, pc: u64) -> DescriptorUse {
    if !controlled() {
        let (number, notice) = (descriptor, Notice::All);
        return DescriptorUse { number, is_copy: false, identity: 0, descriptor, notice, gave_up: None };
    }
    descriptor_ends::uses(descriptor, pc);
    slots::looks_up(descriptor, pc);
    let identity = channel(descriptor);
    let mut gave_up = None;
    if identity == 0 {
        let how = if events & libc::POLLOUT != 0 { FileAccess::Change } else { FileAccess::Observe };
        regular_files::performs_at_offset(descriptor, how, pc);
    } else {
        let waits = if flags & libc::MSG_DONTWAIT == 0 { events } else { 0 };
        gave_up = wait_for_channel(descriptor, identity, waits, interruptible, pc);
    }
    let (number, is_copy) = slots::found(descriptor);
    let notice = if events & libc::POLLOUT != 0 { Notice::Input } else { Notice::Output };
    DescriptorUse { number, is_copy, identity, descriptor, notice, gave_up }
}

/// Waits for the channel; why the wait has ended without an operation, if it has.
fn wait_for_channel(descriptor: i32, identity: u64, events: i16, interruptible: bool, pc: u64) -> Option<i32> {
    crate::interpose::process::timers::before_reading(descriptor);
    // An operation on a nonblocking descriptor never waits.
    let wanted = if is_nonblocking(descriptor) { 0 } else { events };
    // One with a time limit times out exactly where it would have to wait.
    let is_timed = wanted != 0 && interruptible && net::has_time_limit(descriptor, wanted);
    let events = if is_timed { 0 } else { wanted };
    let arg = slots::may_make_ready(io::waits_for(descriptor, events));
    if events != 0 && interruptible {
        couriers::begin_call(InterruptibleCall::Restarts, pc);
    }
    let op = AnnouncedOp::new(OpKind::Io, identity, arg, pc);
    sched::arrive(op);
    let is_interrupted = couriers::end_call() && !is_ready(descriptor, events);
    let is_late = is_timed && !is_ready(descriptor, wanted);
    let nothing = if is_interrupted || is_late { io::OBSERVES | io::UNORDERED } else { 0 };
    sched::commit(&AnnouncedOp { arg: op.arg | nothing, ..op }, Outcome::Done, 0, 0);
    crate::interpose::process::timers::observe();
    if is_late {
        net::timed_out(pc);
        return Some(libc::EAGAIN);
    }
    is_interrupted.then_some(libc::EINTR)
}
