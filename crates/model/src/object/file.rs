//! Input and output that other threads can observe: pipes, sockets, regular files and their names.
//! Other state of the process that threads share, such as the working directory, is touched in the
//! same way, but orders no memory.

use raddle_vocab::io::ListAccess;
use raddle_vocab::readiness::{IoEffect, Readiness};
use raddle_vocab::{OpKind, Outcome, Words, io};

use super::{Carrier, Namer, Operation, OrderSink, UnpackError};
use crate::depend::{Footprint, Mode, file_touch};
use crate::semantics::{Space, State, SyncState};

/// Input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOp {
    /// What is touched.
    pub identity: u64,
    /// Whether that is only looked at.
    pub observes: bool,
    /// A second thing that is touched: the content of a file beside the offset, say.
    pub second: Option<SecondTouch>,
    /// Lists of directories that are touched.
    pub lists: DirectoryLists,
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
    /// What it waits for, what is ready behind it, and the queues that it changes.
    pub effect: IoEffect,
}

/// Lists of directories that an operation touches, at most two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryLists(u32);

impl DirectoryLists {
    fn of(obj: u64) -> Self {
        DirectoryLists(io::list_bits(obj))
    }

    fn each(self) -> [Option<io::List>; 2] {
        io::lists(io::with_list_bits(io::file(0), self.0))
    }
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

fn mode_of(access: ListAccess) -> Mode {
    match access {
        ListAccess::Observe => Mode::Observe,
        ListAccess::Share => Mode::Share,
        ListAccess::Change => Mode::Write,
    }
}

const EXIT_HANDLERS: u64 = io::file(io::EXIT_HANDLERS);

impl FileOp {
    /// Whether the thread may have to wait for it.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.events != 0
    }

    /// What is touched beside the object, and how.
    fn others(&self) -> impl Iterator<Item = (u64, ListAccess)> {
        let second = self.second.map(|second| (second.identity(), second.access));
        let lists = self.lists.each().map(|list| list.map(|list| (list.thing(), list.access)));
        let ready = self.makes_ready.then_some((io::file(io::READINESS), ListAccess::Share));
        let queues = self.effect.queues().map(|(queue, _)| (queue, ListAccess::Change));
        let number = self.effect.number().map(|(number, _)| (number, ListAccess::Change));
        [second, ready, number].into_iter().chain(lists).flatten().chain(queues)
    }

    /// The things that it changes, and what each is ready for behind it.
    fn readied(&self) -> impl Iterator<Item = (u64, Readiness)> {
        let object = (!self.observes).then_some((self.identity, self.effect.object));
        let second = self.second.filter(|second| second.access != ListAccess::Observe);
        let second = second.map(|second| (second.identity(), self.effect.second));
        [object, second].into_iter().flatten().chain(self.effect.queues())
    }
}

impl Operation for FileOp {
    #[inline]
    fn kind(&self) -> OpKind {
        OpKind::Io
    }

    fn object(&self) -> u64 {
        self.identity
    }

    fn pack(&self) -> Words {
        let flag = |observes: bool, flag: u64| if observes { flag } else { 0 };
        let second_is = |access| self.second.is_some_and(|second| second.access == access);
        let flags = flag(self.observes, io::OBSERVES)
            | flag(second_is(ListAccess::Observe), io::SECOND_OBSERVES)
            | flag(second_is(ListAccess::Share), io::SECOND_SHARES);
        let second = self.second.map_or(0, |second| io::and(second.thing));
        let arg = io::waits_for(i32::from(self.descriptor), self.events) | second | flags;
        let arg = if self.ordered { arg } else { arg | io::UNORDERED };
        let arg = if self.blind { arg | io::BLIND } else { arg };
        let arg = if self.makes_ready { arg | io::MAKES_READY } else { arg };
        let [value, old] = self.effect.pack();
        Words { value, old, ..Words::new(OpKind::Io).on(io::with_list_bits(self.identity, self.lists.0), arg) }
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
            identity: io::thing(words.obj),
            observes: observes(io::OBSERVES),
            second,
            lists: DirectoryLists::of(words.obj),
            descriptor: descriptor as u16,
            events,
            ordered: words.arg & io::UNORDERED == 0,
            blind: words.arg & io::BLIND != 0,
            makes_ready: words.arg & io::MAKES_READY != 0,
            // What a read in a spin loop finds is something else.
            effect: if observes(io::ASKS) { IoEffect::default() } else { IoEffect::unpack([words.value, words.old]) },
        })
    }

    /// A wait is disabled where what it waits for is known not to be ready.
    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        if state.thread(thread).interrupted {
            return Some(Outcome::Done);
        }
        let unmet = self.effect.condition().filter(|condition| {
            let second = self.second.map(SecondTouch::identity).filter(|_| condition.on_second);
            let thing = if condition.on_second { second } else { Some(self.identity) };
            thing.is_some_and(|thing| condition.is_unmet_by(state.readiness(thing)))
        });
        unmet.is_none().then_some(Outcome::Done)
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        state.end_interruption(thread);
        for (thing, readiness) in self.readied() {
            state.set_readiness(thing, readiness);
        }
    }

    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = if self.observes { Mode::Observe } else { Mode::Write };
        into.extend([file_touch(self.identity, mode)]);
        into.extend(self.others().map(|(identity, access)| file_touch(identity, mode_of(access))));
    }

    fn can_block(&self) -> bool {
        true
    }

    fn order(&self, sink: &mut impl OrderSink) {
        let how = if self.observes { ListAccess::Observe } else { ListAccess::Change };
        let all = std::iter::once((self.identity, how)).chain(self.others());
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
        let words = match self.identity {
            EXIT_HANDLERS => "use of the handlers of exit",
            _ if self.ordered => "input or output",
            _ => "use of state of the process",
        };
        words.to_string()
    }
}

impl FileOp {
    /// Whether the thread may wait before it: it waits for something, and whether that is there is
    /// not known.
    pub(crate) fn may_wait(&self, state: &SyncState) -> bool {
        let Some(condition) = self.effect.condition() else { return self.events != 0 };
        let second = self.second.map(SecondTouch::identity).filter(|_| condition.on_second);
        let thing = if condition.on_second { second } else { Some(self.identity) };
        thing.is_none_or(|thing| state.readiness(thing).is_unknown())
    }
}

impl SyncState {
    /// What a channel, port or queue is ready for, as far as that is known.
    fn readiness(&self, thing: u64) -> Readiness {
        match self.state(Space::Channel, thing) {
            State::Channel(readiness) => readiness,
            _ => Readiness::at_first(thing),
        }
    }

    fn set_readiness(&mut self, thing: u64, readiness: Readiness) {
        if !readiness.is_unknown() || !Readiness::at_first(thing).is_unknown() {
            self.set_state(Space::Channel, thing, State::Channel(readiness));
        } else if self.state(Space::Channel, thing) != State::Untouched {
            self.set_state(Space::Channel, thing, State::Untouched);
        }
    }
}
