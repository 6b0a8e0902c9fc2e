//! Input and output that other threads can observe: pipes, sockets, regular files and their names.
//! Other state of the process that threads share, such as the working directory, is touched in the
//! same way, but orders no memory.

use raddle_vocab::io::ListAccess;
use raddle_vocab::{OpKind, Outcome, Words, io};

use super::{Carrier, Namer, Operation, OrderSink, UnpackError};
use crate::depend::{Footprint, Mode, file_touch};
use crate::semantics::SyncState;

/// Input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOp {
    /// What is touched.
    pub object: FileTouch,
    /// A second thing that is touched: the content of a file beside the offset, say.
    pub second: Option<SecondTouch>,
    /// Lists of directories that are touched.
    pub lists: [Option<io::List>; 2],
    /// The descriptor, whose number depends on what other threads have open.
    pub descriptor: u16,
    /// Events of `poll` that the thread waits for; 0 if it never waits.
    pub events: i16,
    /// Whether what one thread did before happens before what another does behind it.
    pub ordered: bool,
    /// Whether it tells the thread nothing of what others did.
    pub blind: bool,
    /// Whether it may change what a channel is ready for.
    pub makes_ready: bool,
}

/// Something that input or output touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTouch {
    /// Its identity.
    pub identity: u64,
    /// It is only looked at.
    pub observes: bool,
}

/// A second thing that input or output touches, which is always one of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondTouch {
    /// Which thing.
    pub thing: u32,
    /// How.
    pub access: ListAccess,
}

impl SecondTouch {
    fn identity(self) -> u64 {
        io::file(self.thing)
    }
}

impl FileTouch {
    fn mode(self) -> Mode {
        if self.observes { Mode::Observe } else { Mode::Write }
    }
}

fn mode_of(access: ListAccess) -> Mode {
    match access {
        ListAccess::Observe => Mode::Observe,
        ListAccess::Share => Mode::Share,
        ListAccess::Change => Mode::Write,
    }
}

impl FileOp {
    /// Whether the thread may have to wait for it.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.events != 0
    }

    /// What is touched beside the object, and how.
    fn others(&self) -> impl Iterator<Item = (u64, ListAccess)> {
        let second = self.second.map(|second| (second.identity(), second.access));
        let lists = self.lists.map(|list| list.map(|list| (list.thing(), list.access)));
        let ready = self.makes_ready.then_some((io::file(io::READINESS), ListAccess::Share));
        [second, ready].into_iter().chain(lists).flatten()
    }
}

impl Operation for FileOp {
    #[inline]
    fn kind(&self) -> OpKind {
        OpKind::Io
    }

    fn object(&self) -> u64 {
        self.object.identity
    }

    fn pack(&self) -> Words {
        let flag = |observes: bool, flag: u64| if observes { flag } else { 0 };
        let second_is = |access| self.second.is_some_and(|second| second.access == access);
        let flags = flag(self.object.observes, io::OBSERVES)
            | flag(second_is(ListAccess::Observe), io::SECOND_OBSERVES)
            | flag(second_is(ListAccess::Share), io::SECOND_SHARES);
        let second = self.second.map_or(0, |second| io::and(second.thing));
        let arg = io::waits_for(i32::from(self.descriptor), self.events) | second | flags;
        let arg = if self.ordered { arg } else { arg | io::UNORDERED };
        let arg = if self.blind { arg | io::BLIND } else { arg };
        let arg = if self.makes_ready { arg | io::MAKES_READY } else { arg };
        let object = match self.lists {
            [None, None] => self.object.identity,
            lists => io::file_in(self.object.identity as u32, lists),
        };
        Words::new(OpKind::Io).on(object, arg)
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let (descriptor, events) = io::waited_for(words.arg);
        let observes = |flag: u64| words.arg & flag != 0;
        let access = match (observes(io::SECOND_OBSERVES), observes(io::SECOND_SHARES)) {
            (true, _) => ListAccess::Observe,
            (_, true) => ListAccess::Share,
            _ => ListAccess::Change,
        };
        let second = io::second(words.arg).map(|second| SecondTouch { thing: second as u32, access });
        Ok(FileOp {
            object: FileTouch { identity: io::thing(words.obj), observes: observes(io::OBSERVES) },
            second,
            lists: io::lists(words.obj),
            descriptor: descriptor as u16,
            events,
            ordered: words.arg & io::UNORDERED == 0,
            blind: words.arg & io::BLIND != 0,
            makes_ready: words.arg & io::MAKES_READY != 0,
        })
    }

    fn attempt(&self, _thread: u16, _state: &SyncState, _choice: u16) -> Option<Outcome> {
        Some(Outcome::Done)
    }

    fn apply(&self, _thread: u16, _state: &mut SyncState) {}

    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        into.extend([file_touch(self.object.identity, self.object.mode())]);
        into.extend(self.others().map(|(identity, access)| file_touch(identity, mode_of(access))));
    }

    fn can_block(&self) -> bool {
        true
    }

    fn order(&self, sink: &mut impl OrderSink) {
        let how = if self.object.observes { ListAccess::Observe } else { ListAccess::Change };
        let all = std::iter::once((self.object.identity, how)).chain(self.others());
        // That something may have become ready orders nothing.
        let orders = |&(identity, _): &(u64, ListAccess)| self.ordered && identity != io::file(io::READINESS);
        // Who takes a signal tells nothing to those who take others.
        let tells = self.events != io::WAITS_FOR_SIGNAL;
        for (identity, access) in all.filter(orders) {
            if !self.blind && access != ListAccess::Share {
                sink.acquire(identity, Carrier::Object);
            }
            if access != ListAccess::Observe && tells {
                sink.release_apart(identity, Carrier::Object);
            }
        }
    }

    fn phrase(&self, _names: &dyn Namer) -> String {
        if self.ordered { "input or output" } else { "use of state of the process" }.to_string()
    }
}
