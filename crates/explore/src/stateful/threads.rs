//! Numbers of threads that hold in every execution of a search.
//!
//! In an execution threads are numbered in the order of their creation. What is remembered of one
//! execution and used in another names threads by their paths instead; each path has a number.

use raddle_model::object::{ThreadOp, Woken};
use raddle_model::{Event, Execution, Op, Pending, PendingState, ThreadInfo, ThreadPath};
use rustc_hash::FxHashMap;

/// The numbers.
#[derive(Debug, Default)]
pub(crate) struct ThreadNumbers {
    pub(super) threads: Vec<ThreadInfo>,
    by_path: FxHashMap<ThreadPath, u16>,
}

impl ThreadNumbers {
    /// The numbers of threads with these paths, in order; `None` if one occurs twice.
    pub fn of(paths: Vec<ThreadPath>) -> Option<Self> {
        let mut numbers = ThreadNumbers::default();
        let mut is_next = |(number, path)| {
            let thread = ThreadInfo { path, parent: None, name: None };
            usize::from(numbers.number(&thread)) == number
        };
        paths.into_iter().enumerate().all(&mut is_next).then_some(numbers)
    }

    /// Whether there are more threads than operations tell apart.
    pub fn is_crowded(&self) -> bool {
        self.threads.len() > usize::from(Woken::LIMIT)
    }

    /// The execution with these numbers; `None` if it has them already. Threads that it does not
    /// have appear as ended ones.
    pub fn translate(&mut self, execution: &Execution) -> Option<Execution> {
        let numbers: Vec<u16> = execution.threads.iter().map(|thread| self.number(thread)).collect();
        let is_same = numbers.len() == self.threads.len()
            && numbers.iter().enumerate().all(|(old, &new)| old == usize::from(new));
        if is_same {
            return None;
        }
        let number = |old: u16| numbers.get(usize::from(old)).copied().unwrap_or(old);
        let renumber =
            |event: &Event| Event { thread: number(event.thread), op: event.op.renumbered(&number), ..*event };
        let mut other = execution.clone();
        other.events.iter_mut().for_each(|event| *event = renumber(event));
        other.names.clear();
        other.accesses.iter_mut().for_each(|access| access.thread = number(access.thread));
        other.threads.clone_from(&self.threads);
        let absent = |thread| Pending {
            event: Event::new(thread as u16, Op::Thread(ThreadOp::Start)),
            state: PendingState::Ended,
            found: 0,
        };
        other.pending = (0..self.threads.len()).map(absent).collect();
        for (old, pending) in execution.pending.iter().enumerate() {
            if let Some(&new) = numbers.get(old) {
                other.pending[usize::from(new)] = Pending { event: renumber(&pending.event), ..*pending };
            }
        }
        Some(other)
    }

    fn number(&mut self, thread: &ThreadInfo) -> u16 {
        if let Some(&number) = self.by_path.get(&thread.path) {
            return number;
        }
        let number = self.threads.len() as u16;
        self.threads.push(ThreadInfo { path: thread.path.clone(), parent: None, name: None });
        self.by_path.insert(thread.path.clone(), number);
        number
    }
}
