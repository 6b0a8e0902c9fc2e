//! Several targets at work on one search.
//!
//! A strategy is asked for runs and told of them by one thread, in the order of asking, exactly as [`crate::driver::explore`] does with one target:
//! as many runs are under way at any time, however many targets there are. So what comes out does not depend on their number.
//! Each target belongs to a thread of its own, which also does what work on an execution needs nothing but the execution.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use raddle_model::finding::Stats;
use raddle_model::{Execution, Request, Target, TargetError};

use crate::driver::{Outcome, Summary};
use crate::strategy::{Gap, Strategy, Worth};
use crate::units::Work;

/// Runs that a member takes at a time, at most, and whose results it hands over together: waking somebody costs as much as a run.
const HANDFUL: usize = 16;
/// How long members have to leave.
const FAREWELL: Duration = Duration::from_millis(300);

/// What a member makes of an execution.
#[derive(Debug, Default)]
pub struct Look {
    /// The strategy's share of the work, if it takes that.
    pub work: Option<Work>,
    /// Whether the execution itself is wanted; always if there is no work.
    pub keep: bool,
    /// Something to be said about it.
    pub note: Option<String>,
}

/// Looks at the execution with this number, which a request led to.
pub type Looker = Box<dyn FnMut(u64, Request, &Execution) -> Look>;

/// A run that was made.
#[derive(Debug)]
pub struct Made {
    /// Figures of the execution.
    pub summary: Summary,
    /// The strategy's share of the work, until the strategy has it.
    work: Option<Work>,
    /// Whether a member did the strategy's share of the work.
    pub worked: bool,
    /// The execution, if it was wanted.
    pub execution: Option<Box<Execution>>,
    /// Something to be said about it.
    pub note: Option<String>,
}

#[derive(Debug)]
enum Message {
    Made(Vec<(u64, Made)>),
    Lost(TargetError),
    Left(Vec<String>),
}

#[derive(Debug)]
struct Task {
    number: u64,
    request: Request,
}

#[derive(Debug, Default)]
struct Tasks {
    waiting: VecDeque<Task>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes some tasks; waits for one if `patient`. `None`: there will be no more.
    fn take(&self, patient: bool) -> Option<Vec<Task>> {
        let mut tasks = self.lock();
        while patient && tasks.waiting.is_empty() && !tasks.closed {
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
        if tasks.closed {
            return None;
        }
        let count = tasks.waiting.len().min(HANDFUL);
        Some(tasks.waiting.drain(..count).collect())
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Threads with a target each.
#[derive(Debug)]
pub struct Crew {
    queue: Arc<Queue>,
    messages: Receiver<Message>,
    /// For new members.
    sender: Sender<Message>,
    members: usize,
    window: usize,
    early: BTreeMap<u64, Made>,
    remarks: Vec<String>,
}

impl Crew {
    /// Nobody yet; `window` runs shall be under way at a time.
    #[must_use]
    pub fn new(window: usize) -> Self {
        let (sender, messages) = channel();
        let (queue, early, remarks) = (Arc::default(), BTreeMap::new(), Vec::new());
        Crew { queue, messages, sender, members: 0, window: window.max(1), early, remarks }
    }

    /// One more member. `begin` starts its target, `remarks` is asked what there is to say about the target in the end.
    pub fn join<T: Target>(
        &mut self,
        begin: impl FnOnce() -> Result<(T, Looker), TargetError> + Send + 'static,
        remarks: impl FnOnce(&T) -> Vec<String> + Send + 'static,
    ) {
        let (queue, out) = (Arc::clone(&self.queue), self.sender.clone());
        self.members += 1;
        thread::spawn(move || {
            let left = match begin() {
                Ok((mut target, mut looker)) => {
                    if let Err(error) = work(&queue, &mut target, &mut looker, &out) {
                        let _ = out.send(Message::Lost(error));
                    }
                    remarks(&target)
                }
                Err(error) => {
                    let _ = out.send(Message::Lost(error));
                    Vec::new()
                }
            };
            // Nobody listens any more if the search was stopped.
            let _ = out.send(Message::Left(left));
        });
    }

    /// Hands over tasks; `tasks` is empty then.
    fn submit(&self, tasks: &mut Vec<Task>) {
        // One member is enough for a handful.
        let members = tasks.len().div_ceil(HANDFUL);
        self.queue.lock().waiting.extend(tasks.drain(..));
        for _ in 0..members.min(self.members) {
            self.queue.changed.notify_one();
        }
    }

    /// Waits for the run with this number.
    fn receive(&mut self, number: u64) -> Result<Made, TargetError> {
        loop {
            if let Some(made) = self.early.remove(&number) {
                return Ok(made);
            }
            match self.messages.recv() {
                Ok(Message::Made(made)) => self.early.extend(made),
                Ok(Message::Lost(error)) => return Err(error),
                Ok(Message::Left(_)) | Err(_) => return Err(TargetError::Lost("a worker ended unexpectedly".into())),
            }
        }
    }

    /// Sends all members home and returns what they have to say about their targets. Those that are still busy after a
    /// moment are not waited for.
    #[must_use]
    pub fn dismiss(mut self) -> Vec<String> {
        self.queue.close();
        while self.members > 0 {
            match self.messages.recv_timeout(FAREWELL) {
                Ok(Message::Left(remarks)) => {
                    self.members -= 1;
                    self.remarks.extend(remarks);
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.remarks.sort();
        self.remarks.dedup();
        self.remarks
    }
}

/// What a member does.
fn work<T: Target>(
    queue: &Queue,
    target: &mut T,
    looker: &mut Looker,
    out: &Sender<Message>,
) -> Result<(), TargetError> {
    let mut under_way: VecDeque<Task> = VecDeque::new();
    let mut results = Vec::new();
    let mut execution = Execution::empty();
    loop {
        // The target shall have the next handful before it is through with the last.
        if under_way.len() <= HANDFUL {
            let Some(tasks) = queue.take(under_way.is_empty()) else { return Ok(()) };
            for task in tasks {
                target.submit(task.request.clone());
                under_way.push_back(task);
            }
        }
        if let Err(error) = target.finish(&mut execution) {
            let _ = out.send(Message::Made(results));
            return Err(error);
        }
        let Some(Task { number, request }) = under_way.pop_front() else { continue };
        let Look { work, keep, note } = looker(number, request, &execution);
        let summary = Summary::of(&execution);
        let keep = keep || work.is_none();
        let execution = keep.then(|| Box::new(std::mem::replace(&mut execution, Execution::empty())));
        results.push((number, Made { summary, worked: work.is_some(), work, execution, note }));
        if (under_way.is_empty() || results.len() >= HANDFUL)
            && out.send(Message::Made(std::mem::take(&mut results))).is_err()
        {
            return Ok(());
        }
    }
}

/// As [`crate::driver::explore`], with several targets. `observe` sees the execution only if a member kept it.
///
/// # Errors
/// If a target is lost or the search interrupted.
pub fn explore_with(
    strategy: &mut dyn Strategy,
    crew: &mut Crew,
    observe: &mut dyn FnMut(&Made, Worth, &Stats) -> ControlFlow<()>,
) -> Result<Outcome, TargetError> {
    let mut stats = Stats::default();
    let (mut asked, mut seen) = (0, 0);
    let mut tasks = Vec::new();
    let mut crowded = false;
    loop {
        while asked - seen < crew.window as u64
            && let Some(request) = strategy.next()
        {
            tasks.push(Task { number: asked, request });
            asked += 1;
        }
        // What is at hand is looked at first: what comes of it goes out together.
        if !tasks.is_empty() && (tasks.len() >= HANDFUL || !crew.early.contains_key(&seen)) {
            crew.submit(&mut tasks);
        }
        let under_way = (asked - seen) as usize;
        if under_way == 0 || strategy.is_over() {
            let crowd = crowded.then_some(Gap::Crowd);
            return Ok(Outcome { stats, gap: strategy.gap().or(crowd), under_way });
        }
        let mut made = crew.receive(seen)?;
        seen += 1;
        let worth = match (made.work.take(), &made.execution) {
            (Some(work), _) => strategy.learn_work(work),
            (None, Some(execution)) => strategy.learn(execution),
            (None, None) => Worth::Redundant,
        };
        made.summary.count(&mut stats, worth);
        crowded = crowded || made.summary.crowded;
        if observe(&made, worth, &stats).is_break() {
            return Ok(Outcome { stats, gap: Some(Gap::Stopped), under_way: under_way - 1 });
        }
    }
}
