//! State of the process that its threads share and that lies in no memory of the program: the
//! working directory, the file mode mask, actions of signals, names of threads, streams without a
//! descriptor. A call that reads or changes such a part is a transition that observes or changes
//! it. It orders no memory: the kernel promises nothing of the kind. The one exception is a signal's
//! action: what a thread did before it installed a handler happens before the handler runs.
//!
//! While the program has only one thread, such calls are no transitions.

use raddle_vocab::{OpKind, Outcome, io};

use crate::interpose::io::regular_files::{FileAccess, thing};
use crate::sched;
use crate::state::{AnnouncedOp, controlled, run};

/// A part of the state.
#[derive(Clone, Copy)]
pub enum SharedPart {
    /// The working directory.
    Directory,
    /// The file mode mask.
    Mask,
    /// The action of a signal.
    Action(i32),
    /// The name of the thread with this key.
    Name(u64),
    /// A stream that has no descriptor.
    Stream(usize),
}

impl SharedPart {
    fn identity(self) -> u32 {
        match self {
            SharedPart::Directory => thing(0, 16),
            SharedPart::Mask => thing(0, 17),
            SharedPart::Action(signal) => thing(signal as u64, 18),
            SharedPart::Name(key) => thing(key, 19),
            SharedPart::Stream(stream) => thing(stream as u64, 20),
        }
    }
}

/// The running thread reads or changes a part.
pub fn touch(part: SharedPart, how: FileAccess, pc: u64) {
    let observes = if how == FileAccess::Observe { io::OBSERVES } else { 0 };
    perform(part, io::UNORDERED | observes, pc);
}

/// The running thread installs a handler for the signal.
pub fn installs_handler(signal: i32, pc: u64) {
    perform(SharedPart::Action(signal), io::BLIND, pc);
}

/// The running thread gets the signal, for which there may be a handler.
pub fn gets_signal(signal: i32, pc: u64) {
    perform(SharedPart::Action(signal), io::OBSERVES, pc);
}

fn perform(part: SharedPart, arg: u64, pc: u64) {
    if controlled() && run().threads > 1 {
        let op = AnnouncedOp::new(OpKind::Io, io::file(part.identity()), arg, pc);
        sched::perform(op, Outcome::Done, 0, 0);
    }
}
