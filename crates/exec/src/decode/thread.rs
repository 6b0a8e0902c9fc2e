//! A thread, while its records come in.

use raddle_model::object::{OpTraits, SignalOp, ThreadOp};
use raddle_model::{Event, EventName, Op};
use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_wire::record::STEP_WORDS;

/// Places in a thread whose transitions are kept for the next run, at most.
const CACHED_EVENTS: usize = 1024;
/// Transitions that are kept for one place beside the latest, at most: values and outcomes
/// alternate.
const OTHERS: usize = 3;

/// A transition that was decoded, with its words. An event is a function of its words, and most
/// runs of a search repeat most words of the run before.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedEvent {
    words: [u64; STEP_WORDS],
    pub event: Event,
    pub name: EventName,
    pub traits: OpTraits,
    pub effect: Effect,
}

/// What a transition has to do with threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// It ends its thread.
    Ends,
    /// It creates this thread.
    Creates(u16, Role),
    /// It names these threads, which have to exist.
    Names(u16, u16),
}

/// What a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A thread of the program.
    Program,
    /// A scripted party.
    Party(Party),
    /// The courier of a signal.
    Courier,
}

impl Role {
    /// That of a thread which begins at this place.
    fn of_entry(entry: u64) -> Self {
        match Party::of_place(entry) {
            Some((party, _)) => Role::Party(party),
            None if handler::of_place(entry).is_some() => Role::Courier,
            None => Role::Program,
        }
    }
}

impl Effect {
    pub fn of(op: &Op) -> Self {
        match *op {
            Op::Thread(ThreadOp::End) => Effect::Ends,
            Op::Thread(ThreadOp::Create { child, entry, failed: false, .. }) => {
                Effect::Creates(child, Role::of_entry(entry))
            }
            Op::Thread(ThreadOp::Join { thread, refused: false } | ThreadOp::Detach { thread }) => {
                Effect::Names(thread, thread)
            }
            Op::Signal(SignalOp::Begin(handling) | SignalOp::Return { handling, .. }) => {
                Effect::Names(handling.target, handling.onto)
            }
            _ => Effect::None,
        }
    }
}

impl CachedEvent {
    pub fn new(words: &[u64; STEP_WORDS], event: Event) -> Self {
        let (effect, traits) = (Effect::of(&event.op), event.op.traits());
        CachedEvent { words: *words, event, name: EventName::fresh(), traits, effect }
    }

    /// Whether it was decoded from these words.
    #[inline]
    pub fn is_of(&self, words: &[u64; STEP_WORDS]) -> bool {
        // Without a branch for each word, because nearly always all are equal, and without a call
        // or a loop: the comparison of arrays is one of the C library.
        let [kind, obj, pc, arg, value, old] = self.words;
        let other = words;
        (kind ^ other[0])
            | (obj ^ other[1])
            | (pc ^ other[2])
            | (arg ^ other[3])
            | (value ^ other[4])
            | (old ^ other[5])
            == 0
    }
}

/// How far the records of a thread have come in this run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadProgress {
    pub children: u32,
    /// Couriers that it has created.
    pub couriers: u32,
    /// Transitions so far.
    pub events: u32,
    /// Accesses since its last transition, as far as recorded.
    pub accesses: u32,
    pub pending: bool,
    /// Whether its last transition was its end.
    pub ended: bool,
}

/// A thread: its progress in this run, and what is kept from the last one.
#[derive(Debug, Default)]
pub(super) struct ThreadDecoder {
    pub progress: ThreadProgress,
    /// The latest, by number of the transition within the thread.
    cached: Vec<CachedEvent>,
    /// Those before, by the same.
    others: Vec<Vec<CachedEvent>>,
    /// The pending operation.
    pub cached_pending: Option<CachedEvent>,
}

impl ThreadDecoder {
    /// The place of the next transition. The last place serves all transitions of a long thread.
    #[inline]
    fn slot(&self) -> usize {
        (self.progress.events as usize).min(CACHED_EVENTS - 1)
    }

    /// The next transition, if the last run had the same words in its place.
    #[inline]
    pub fn repeated(&self, words: &[u64; STEP_WORDS]) -> Option<&CachedEvent> {
        self.cached.get(self.slot()).filter(|cached| cached.is_of(words))
    }

    /// Makes the next transition the latest one, if one of the runs before had the same words in
    /// its place.
    pub fn recall(&mut self, words: &[u64; STEP_WORDS]) -> bool {
        let slot = self.slot();
        let others = self.others.get_mut(slot).into_iter().flatten();
        let Some(known) = others.into_iter().find(|other| other.is_of(words)) else { return false };
        std::mem::swap(known, &mut self.cached[slot]);
        true
    }

    /// The latest transition in the place of the next one. There has to be one.
    #[inline]
    pub fn latest(&self) -> &CachedEvent {
        &self.cached[self.slot()]
    }

    /// Keeps the next transition for the next run.
    pub fn keep(&mut self, entry: CachedEvent) {
        let slot = self.slot();
        let Some(latest) = self.cached.get_mut(slot) else {
            self.cached.push(entry);
            self.others.push(Vec::new());
            return;
        };
        let before = std::mem::replace(latest, entry);
        let others = &mut self.others[slot];
        if others.len() == OTHERS {
            others.remove(0);
        }
        others.push(before);
    }

    /// A transition was made.
    #[inline]
    pub fn advance(&mut self, effect: Effect) {
        self.progress.events += 1;
        self.progress.accesses = 0;
        self.progress.ended = effect == Effect::Ends;
    }
}
