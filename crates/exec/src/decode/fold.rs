//! Rounds of busy waiting that did not happen.
//!
//! A fold record withdraws the last transitions of its thread, which other threads' transitions may lie between. Each
//! transition and access therefore knows its predecessor in the same thread; a fold walks back and marks, and one pass
//! at the end drops what was marked and renumbers. Each record is marked at most once, so that all of it is linear.
//!
//! The accesses of a withdrawn round go with it: without the round's atomic reads, what they acquired is gone, too, and
//! the accesses would seem to race.

use raddle_model::Execution;
use raddle_vocab::OpKind;

/// No predecessor.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Last {
    step: u32,
    access: u32,
}

/// Predecessors within the same thread.
#[derive(Debug, Default)]
pub(super) struct Links {
    last: Vec<Last>,
    steps: Vec<u32>,
    accesses: Vec<u32>,
    /// Marked transitions and accesses; both empty while nothing was folded.
    gone_steps: Vec<u32>,
    gone_accesses: Vec<u32>,
}

impl Links {
    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.steps.clear();
        self.accesses.clear();
        self.gone_steps.clear();
        self.gone_accesses.clear();
    }

    pub(super) fn add_thread(&mut self) {
        self.last.push(Last { step: NONE, access: NONE });
    }

    /// Notes that the next step is this thread's.
    pub(super) fn add_step(&mut self, thread: u16) {
        let last = &mut self.last[usize::from(thread)];
        let number = self.steps.len() as u32;
        self.steps.push(std::mem::replace(&mut last.step, number));
    }

    /// Notes that the next access is this thread's.
    pub(super) fn add_access(&mut self, thread: u16) {
        let last = &mut self.last[usize::from(thread)];
        let number = self.accesses.len() as u32;
        self.accesses.push(std::mem::replace(&mut last.access, number));
    }

    /// The thread's last step that was not withdrawn.
    pub(super) fn last_step(&self, thread: usize) -> u32 {
        self.last[thread].step
    }

    /// Withdraws the last `count` steps of the thread; fails if it did not make so many, or one did more than read.
    pub(super) fn fold(&mut self, thread: u16, count: u64, execution: &Execution) -> Result<(), ()> {
        let last = &mut self.last[usize::from(thread)];
        let mut first = None;
        for _ in 0..count {
            let number = last.step;
            // A round changes nothing, so it never made a thread or ended one: numbers of threads stay as they are.
            let step = execution.steps.get(number as usize).ok_or(())?;
            if matches!(step.kind, OpKind::ThreadStart | OpKind::ThreadEnd | OpKind::Create) {
                return Err(());
            }
            self.gone_steps.push(number);
            last.step = self.steps[number as usize];
            first = Some(number);
        }
        let Some(first) = first else {
            return Ok(());
        };
        while let Some(access) = execution.accesses.get(last.access as usize) {
            if access.after <= first {
                break;
            }
            self.gone_accesses.push(last.access);
            last.access = self.accesses[last.access as usize];
        }
        Ok(())
    }

    /// Drops what was withdrawn from the execution and renumbers the rest.
    pub(super) fn withdraw(&mut self, execution: &mut Execution) {
        if self.gone_steps.is_empty() {
            return;
        }
        self.gone_steps.sort_unstable();
        self.gone_accesses.sort_unstable();
        drop_marked(&mut execution.steps, &self.gone_steps);
        drop_marked(&mut execution.accesses, &self.gone_accesses);
        // Both lists go by `after` in increasing order: one pass beside the marks renumbers each.
        let mut before = 0;
        for access in &mut execution.accesses {
            before += count_below(&self.gone_steps[before..], access.after);
            access.after -= before as u32;
        }
        let mut before = 0;
        for incident in &mut execution.incidents {
            before += count_below(&self.gone_steps[before..], incident.after);
            incident.after -= before as u32;
        }
    }
}

fn count_below(sorted: &[u32], bound: u32) -> usize {
    sorted.iter().take_while(|&&number| number < bound).count()
}

/// Removes the items whose numbers are in the sorted list.
fn drop_marked<T>(items: &mut Vec<T>, marked: &[u32]) {
    let mut number = 0;
    let mut next = 0;
    items.retain(|_| {
        let gone = marked.get(next) == Some(&number);
        number += 1;
        next += usize::from(gone);
        !gone
    });
}
