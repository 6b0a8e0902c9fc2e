//! Tasks that wait for a worker.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use raddle_model::Request;

/// A run to make.
#[derive(Debug)]
pub(super) struct Task {
    /// Its number, in the order of asking.
    pub number: u64,
    pub request: Request,
}

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub waiting: VecDeque<Task>,
    /// Workers that wait for tasks.
    idle: usize,
    closed: bool,
}

impl Tasks {
    /// Takes a fair share, if `sharers` workers want tasks.
    pub fn share(&mut self, at_most: usize, sharers: usize) -> Vec<Task> {
        let count = self.waiting.len().div_ceil(sharers).min(at_most);
        self.waiting.drain(..count).collect()
    }
}

/// Tasks that any worker may take.
#[derive(Debug, Default)]
pub(super) struct Queue {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

impl Queue {
    pub fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for tasks and takes some. `None`: there will be no more.
    pub fn take(&self, at_most: usize, sharers: usize) -> Option<Vec<Task>> {
        let mut tasks = self.lock();
        while tasks.waiting.is_empty() && !tasks.closed {
            tasks.idle += 1;
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
            tasks.idle -= 1;
        }
        (!tasks.closed).then(|| tasks.share(at_most, sharers))
    }

    /// Adds tasks; `new` is empty then.
    pub fn add(&self, new: &mut Vec<Task>) {
        let mut tasks = self.lock();
        tasks.waiting.extend(new.drain(..));
        for _ in 0..tasks.idle.min(tasks.waiting.len()) {
            self.changed.notify_one();
        }
    }

    /// Tells the workers that there will be no more tasks.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
