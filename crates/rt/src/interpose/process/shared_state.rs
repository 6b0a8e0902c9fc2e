//! State of the process that its threads share and that lies in no memory of the program: the
//! working directory, the file mode mask, actions of signals, names of threads, settings, limits
//! and priorities, streams without a descriptor, hidden state of the C library. A call that reads
//! or changes such a part is a transition that observes or changes it. It orders no memory: nothing
//! of the kind is promised. The exceptions are handlers, of signals and of `exit`: what a thread
//! did before it installed one happens before the handler runs.
//!
//! While the program has only one thread, such calls are no transitions.

use raddle_vocab::{OpKind, Outcome, io};

use crate::interpose::io::regular_files::{FileAccess, thing};
use crate::sched;
use crate::state::{AnnouncedOp, controlled, run};
use crate::state_key;

/// A part of the state.
#[derive(Clone, Copy)]
pub enum SharedPart {
    /// The file mode mask.
    Mask,
    /// The action of a signal.
    Action(i32),
    /// The name of the thread with this key.
    Name(u64),
    /// A stream that has no descriptor.
    Stream(usize),
    /// Hidden state of the C library, by a number.
    Hidden(u64),
    /// An object of the C library that a function is given.
    Object(usize),
    /// The handlers of `exit` and `quick_exit`.
    ExitHandlers,
    /// What `prctl` sets by this number for the process.
    Setting(u32),
    /// The limit of a resource.
    Limit(u32),
    /// Policy and priority of the thread with this key.
    Schedule(u64),
    /// The processors that the thread with this key may use.
    Processors(u64),
    /// The end of the data segment.
    Break,
}

impl SharedPart {
    /// The thing that it is to other transitions.
    pub fn identity(self) -> u32 {
        match self {
            SharedPart::Mask => thing(0, 17),
            SharedPart::Action(signal) => thing(signal as u64, 18),
            SharedPart::Name(key) => thing(key, 19),
            SharedPart::Stream(stream) => thing(stream as u64, 20),
            SharedPart::Hidden(number) => thing(number, 21),
            SharedPart::Object(object) => thing(object as u64, 22),
            SharedPart::ExitHandlers => io::EXIT_HANDLERS,
            SharedPart::Setting(option) => thing(u64::from(option), 41),
            SharedPart::Limit(resource) => thing(u64::from(resource), 42),
            SharedPart::Schedule(key) => thing(key, 43),
            SharedPart::Processors(key) => thing(key, 44),
            SharedPart::Break => thing(0, 29),
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
        sched::perform(operation(part, arg, pc), Outcome::Done, 0, 0);
    }
}

fn operation(part: SharedPart, arg: u64, pc: u64) -> AnnouncedOp {
    AnnouncedOp::new(OpKind::Io, io::file(part.identity()), arg, pc)
}

/// The running thread uses hidden state of the C library, which is memory, in a call that holds
/// these arguments.
pub fn touch_hidden(number: u64, arguments: &[usize], pc: u64) {
    change_memory(SharedPart::Hidden(number), io::UNORDERED, arguments, pc);
}

/// The running thread adds to the handlers of `exit`, or takes one of them, in a call that holds
/// these arguments. What a thread did before it registered a handler happens before the handler
/// runs.
pub fn touch_exit_handlers(arguments: &[usize], pc: u64) {
    change_memory(SharedPart::ExitHandlers, 0, arguments, pc);
}

fn change_memory(part: SharedPart, arg: u64, arguments: &[usize], pc: u64) {
    if !controlled() || run().threads <= 1 {
        return;
    }
    arguments.iter().for_each(|&argument| state_key::holds(argument as u64));
    run().uses_memory_only = true;
    let op = operation(part, arg, pc);
    sched::arrive(op);
    let used_files = run().used_files;
    sched::commit(&op, Outcome::Done, 0, 0);
    (run().used_files, run().uses_memory_only) = (used_files, false);
}
