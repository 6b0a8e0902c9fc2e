//! Waiting for the turn of an operation on a descriptor.

use raddle_vocab::{OpKind, Outcome, io};

use crate::interpose::io::descriptors::{channel, is_nonblocking, is_ready};
use crate::interpose::io::overlay::close as close_copy;
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::io::{descriptor_ends, slots};
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
    /// Whether a signal handler has ended the wait: there is no operation.
    is_interrupted: bool,
}

impl DescriptorUse {
    /// Whether a signal handler has ended the wait; then errno says so, and the use is over.
    pub fn is_over(&self) -> bool {
        if self.is_interrupted {
            set_errno(libc::EINTR);
            if self.is_copy {
                close_copy(self.number);
            }
        }
        self.is_interrupted
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
        return DescriptorUse { number, is_copy: false, identity: 0, descriptor, notice, is_interrupted: false };
    }
    descriptor_ends::uses(descriptor, pc);
    slots::looks_up(descriptor, pc);
    let identity = channel(descriptor);
    let mut is_interrupted = false;
    if identity == 0 {
        let how = if events & libc::POLLOUT != 0 { FileAccess::Change } else { FileAccess::Observe };
        regular_files::performs_at_offset(descriptor, how, pc);
    } else {
        let waits = if flags & libc::MSG_DONTWAIT == 0 { events } else { 0 };
        is_interrupted = wait_for_channel(descriptor, identity, waits, interruptible, pc);
    }
    let (number, is_copy) = slots::found(descriptor);
    let notice = if events & libc::POLLOUT != 0 { Notice::Input } else { Notice::Output };
    DescriptorUse { number, is_copy, identity, descriptor, notice, is_interrupted }
}

/// Waits for the channel; whether a signal handler has ended the wait.
fn wait_for_channel(descriptor: i32, identity: u64, events: i16, interruptible: bool, pc: u64) -> bool {
    crate::interpose::process::timers::before_reading(descriptor);
    // An operation on a nonblocking descriptor never waits.
    let events = if is_nonblocking(descriptor) { 0 } else { events };
    let arg = slots::may_make_ready(io::waits_for(descriptor, events));
    if events != 0 && interruptible {
        couriers::begin_call(InterruptibleCall::Restarts, pc);
    }
    let op = AnnouncedOp::new(OpKind::Io, identity, arg, pc);
    sched::arrive(op);
    let is_interrupted = couriers::end_call() && !is_ready(descriptor, events);
    let nothing = if is_interrupted { io::OBSERVES | io::UNORDERED } else { 0 };
    sched::commit(&AnnouncedOp { arg: op.arg | nothing, ..op }, Outcome::Done, 0, 0);
    crate::interpose::process::timers::observe();
    is_interrupted
}
