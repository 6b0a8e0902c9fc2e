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
    pub descriptor: i32,
    /// Events of `poll` that the thread waits for; 0 if it never waits.
    pub events: i16,
    /// Whether what one thread did before happens before what another does behind it.
    pub ordered: bool,
    /// Whether it tells the thread nothing of what others did.
    pub blind: bool,
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
    /// It is only looked at.
    pub observes: bool,
}

impl From<SecondTouch> for FileTouch {
    fn from(second: SecondTouch) -> Self {
        FileTouch { identity: io::file(second.thing), observes: second.observes }
    }
}

impl FileTouch {
    fn mode(self) -> Mode {
        if self.observes { Mode::Observe } else { Mode::Write }
    }
}

fn list_mode(list: io::List) -> Mode {
    match list.access {
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

    fn touches(&self) -> impl Iterator<Item = FileTouch> {
        [Some(self.object), self.second.map(FileTouch::from)].into_iter().flatten()
    }

    fn lists(&self) -> impl Iterator<Item = io::List> {
        self.lists.into_iter().flatten()
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
        let second_observes = self.second.is_some_and(|second| second.observes);
        let flags = flag(self.object.observes, io::OBSERVES) | flag(second_observes, io::SECOND_OBSERVES);
        let second = self.second.map_or(0, |second| io::and(second.thing));
        let arg = io::waits_for(self.descriptor, self.events) | second | flags;
        let arg = if self.ordered { arg } else { arg | io::UNORDERED };
        let arg = if self.blind { arg | io::BLIND } else { arg };
        let object = match self.lists {
            [None, None] => self.object.identity,
            lists => io::file_in(self.object.identity as u32, lists),
        };
        Words::new(OpKind::Io).on(object, arg)
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let (descriptor, events) = io::waited_for(words.arg);
        let observes = |flag: u64| words.arg & flag != 0;
        let second = io::second(words.arg)
            .map(|second| SecondTouch { thing: second as u32, observes: observes(io::SECOND_OBSERVES) });
        Ok(FileOp {
            object: FileTouch { identity: io::thing(words.obj), observes: observes(io::OBSERVES) },
            second,
            lists: io::lists(words.obj),
            descriptor,
            events,
            ordered: words.arg & io::UNORDERED == 0,
            blind: words.arg & io::BLIND != 0,
        })
    }

    fn attempt(&self, _thread: u16, _state: &SyncState, _choice: u16) -> Option<Outcome> {
        Some(Outcome::Done)
    }

    fn apply(&self, _thread: u16, _state: &mut SyncState) {}

    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        into.extend(self.touches().map(|touch| file_touch(touch.identity, touch.mode())));
        into.extend(self.lists().map(|list| file_touch(list.thing(), list_mode(list))));
    }

    fn can_block(&self) -> bool {
        true
    }

    fn order(&self, sink: &mut impl OrderSink) {
        for touch in self.touches().filter(|_| self.ordered) {
            if !self.blind {
                sink.acquire(touch.identity, Carrier::Object);
            }
            if !touch.observes {
                sink.release_apart(touch.identity, Carrier::Object);
            }
        }
        for list in self.lists().filter(|_| self.ordered) {
            if list.access != ListAccess::Share {
                sink.acquire(list.thing(), Carrier::Object);
            }
            if list.access != ListAccess::Observe {
                sink.release_apart(list.thing(), Carrier::Object);
            }
        }
    }

    fn phrase(&self, _names: &dyn Namer) -> String {
        if self.ordered { "input or output" } else { "use of state of the process" }.to_string()
    }
}
