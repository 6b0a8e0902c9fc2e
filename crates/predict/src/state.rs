//! The state of a search: one word per slot, thread position, wake-up and pinned variable.

use crate::pins::Pins;
use crate::trace::{ObservedTrace, SyncOp, Tid, UNOWNED};

/// The state of a trace's objects and threads. Events can be undone.
#[derive(Clone, Debug)]
pub(crate) struct SearchState<'a> {
    trace: &'a ObservedTrace,
    pins: &'a Pins,
    words: Vec<u32>,
    undo: Vec<(u32, u32)>,
    positions: usize,
    woken: usize,
    writers: usize,
}

impl<'a> SearchState<'a> {
    pub(crate) fn new(trace: &'a ObservedTrace, pins: &'a Pins) -> Self {
        let positions = trace.slots.len();
        let woken = positions + trace.threads.len();
        let writers = woken + trace.threads.len();
        let words = vec![0; writers + pins.variables()];
        SearchState { trace, pins, words, undo: Vec::new(), positions, woken, writers }
    }

    pub(crate) fn position(&self, thread: Tid) -> u32 {
        self.words[self.positions + usize::from(thread)]
    }

    /// The words that identify the state: everything else follows from the positions.
    pub(crate) fn key(&self) -> Box<[u32]> {
        self.words[self.positions..].into()
    }

    /// A mark for [`SearchState::rollback`].
    pub(crate) fn mark(&self) -> usize {
        self.undo.len()
    }

    pub(crate) fn rollback(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((word, value)) = self.undo.pop() {
                self.words[word as usize] = value;
            }
        }
    }

    fn set(&mut self, word: usize, value: u32) {
        self.undo.push((word as u32, self.words[word]));
        self.words[word] = value;
    }

    fn word(&self, slot: u32) -> u32 {
        self.words[slot as usize]
    }

    /// Whether the thread exists.
    pub(crate) fn is_alive(&self, thread: Tid) -> bool {
        self.trace.threads[usize::from(thread)].fork.is_none_or(|fork| {
            let (parent, index) = self.trace.position(fork);
            self.position(parent) > index
        })
    }

    /// The thread's next event, if it has one.
    pub(crate) fn next(&self, thread: Tid) -> Option<u32> {
        self.trace.event_at(thread, self.position(thread))
    }

    /// Whether the thread's next event is enabled.
    pub(crate) fn enabled(&self, thread: Tid) -> bool {
        let Some(number) = self.next(thread) else { return false };
        let me = u32::from(thread) + 1;
        let free = |mutex: Option<u32>| mutex.is_none_or(|slot| self.word(slot) == UNOWNED);
        let possible = match self.trace.events[number as usize].op {
            SyncOp::Lock(slot) => self.word(slot) == UNOWNED,
            SyncOp::Busy(slot) => self.word(slot) != UNOWNED && self.word(slot) != me,
            SyncOp::ReadLock(slot) => self.word(slot) == UNOWNED,
            SyncOp::WriteLock(slot) => self.word(slot) == UNOWNED && self.word(slot + 1) == 0,
            SyncOp::BusyRead(slot) => self.word(slot) != UNOWNED,
            SyncOp::BusyWrite(slot) => self.word(slot) != UNOWNED || self.word(slot + 1) > 0,
            SyncOp::Resume { mutex, woken, .. } => {
                free(mutex) && (self.words[self.woken + usize::from(thread)] != 0) == woken
            }
            SyncOp::Take(slot) | SyncOp::Await(slot) => self.word(slot) > 0,
            SyncOp::Empty(slot) => self.word(slot) == 0,
            SyncOp::Arrive { previous, .. } => previous.is_none_or(|(slot, count)| self.word(slot) >= count),
            SyncOp::Leave { round, count } => self.word(round) >= count,
            SyncOp::OnceSeen(slot) => self.word(slot + 1) != 0,
            SyncOp::Join(other) => {
                let other_thread = &self.trace.threads[usize::from(other)];
                other_thread.ended && self.position(other) == other_thread.last()
            }
            _ => true,
        };
        possible && self.is_alive(thread) && self.reads_fit(number)
    }

    fn reads_fit(&self, event: u32) -> bool {
        self.pins.reads(event).iter().all(|&(var, writer)| self.words[self.writers + var as usize] == writer)
    }

    /// Threads that wait in the queue and were not yet woken.
    pub(crate) fn waiting(&self, queue: u32) -> Vec<Tid> {
        let threads = 0..self.trace.threads.len() as Tid;
        let waits = |&thread: &Tid| {
            let next = self.next(thread).map(|event| self.trace.events[event as usize].op);
            let here = matches!(next, Some(SyncOp::Resume { queue: other, .. }) if other == queue);
            here && self.words[self.woken + usize::from(thread)] == 0
        };
        threads.filter(waits).collect()
    }

    /// Executes the thread's next event. An event that wakes one of several threads wakes `woken`.
    pub(crate) fn execute(&mut self, thread: Tid, woken: Option<Tid>) {
        let Some(number) = self.next(thread) else { return };
        let me = u32::from(thread) + 1;
        match self.trace.events[number as usize].op {
            SyncOp::Lock(slot) | SyncOp::WriteLock(slot) => self.set(slot as usize, me),
            SyncOp::Unlock(slot) | SyncOp::WriteUnlock(slot) => self.set(slot as usize, UNOWNED),
            SyncOp::OnceEnd(slot) => {
                self.set(slot as usize, UNOWNED);
                self.set(slot as usize + 1, 1);
            }
            SyncOp::ReadLock(slot) => self.set(slot as usize + 1, self.word(slot + 1) + 1),
            SyncOp::ReadUnlock(slot) => self.set(slot as usize + 1, self.word(slot + 1).saturating_sub(1)),
            SyncOp::Enqueue { mutex: Some(slot), .. } => self.set(slot as usize, UNOWNED),
            SyncOp::Resume { mutex, .. } => {
                if let Some(slot) = mutex {
                    self.set(slot as usize, me);
                }
                self.set(self.woken + usize::from(thread), 0);
            }
            SyncOp::Wake { queue, all } => {
                let chosen = if all { self.waiting(queue) } else { woken.into_iter().collect() };
                for other in chosen {
                    self.set(self.woken + usize::from(other), 1);
                }
            }
            SyncOp::SetSem(slot, value) => self.set(slot as usize, value),
            SyncOp::Post(slot) | SyncOp::Publish(slot) => self.set(slot as usize, self.word(slot) + 1),
            SyncOp::Arrive { round, .. } => self.set(round as usize, self.word(round) + 1),
            SyncOp::Take(slot) => self.set(slot as usize, self.word(slot).saturating_sub(1)),
            _ => {}
        }
        for &var in self.pins.writes(number) {
            self.set(self.writers + var as usize, number + 1);
        }
        self.set(self.positions + usize::from(thread), self.position(thread) + 1);
    }

    /// Whether executing the event early disables no other thread's event, as long as the thread
    /// ends with no more locks than it had.
    pub(crate) fn is_harmless(&self, event: u32) -> bool {
        let delicate = |slot: u32| self.trace.slots[slot as usize].delicate;
        let kind = match self.trace.events[event as usize].op {
            SyncOp::Lock(slot)
            | SyncOp::Unlock(slot)
            | SyncOp::ReadLock(slot)
            | SyncOp::ReadUnlock(slot)
            | SyncOp::WriteLock(slot)
            | SyncOp::WriteUnlock(slot)
            | SyncOp::Take(slot)
            | SyncOp::Post(slot)
            | SyncOp::OnceEnd(slot) => !delicate(slot),
            SyncOp::Resume { woken: false, .. } | SyncOp::Enqueue { .. } | SyncOp::Wake { .. } => false,
            SyncOp::Resume { mutex, .. } => mutex.is_none_or(|slot| !delicate(slot)),
            _ => true,
        };
        kind && self.pins.writes(event).is_empty()
    }
}
