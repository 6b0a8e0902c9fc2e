//! Several targets at work on one search.
//!
//! A strategy is asked for runs and told of them by one thread, in the order of asking, exactly as [`crate::driver::explore`] does with one target:
//! as many runs are under way at any time, however many targets there are. So what comes out does not depend on their number.
//!
//! That thread makes runs itself. The members of the crew, with a thread and a target each, come when the search turns out not to be short; from then on
//! every target takes turns with its thread, so that there are as many processors at work as targets. A thread also does what work on an execution needs
//! nothing but the execution.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_model::finding::Stats;
use raddle_model::{Execution, Request, Target, TargetError};

use crate::driver::{SearchOutcome, Summary};
use crate::strategy::{Classification, IncompleteReason, Strategy};
use crate::units::Expansion;

/// Runs that somebody takes at a time, at most, and whose results are handed over together: waking somebody costs as much as a run.
const HANDOUT_BATCH: usize = 32;
/// How long a handful shall take, at most: nobody else gets what comes of it before.
const SOON: Duration = Duration::from_millis(5);
/// How long members have to leave.
const FAREWELL: Duration = Duration::from_millis(300);

/// What is made of an execution where its run was made.
#[derive(Debug, Default)]
pub struct Analysis {
    /// The strategy's share of the work, if it takes that.
    pub work: Option<Expansion>,
    /// Whether the execution itself is wanted; always if there is no work.
    pub keep: bool,
    /// Something to be said about it.
    pub note: Option<String>,
}

/// Looks at the execution with this number, which a request led to.
pub type Analyser = Box<dyn FnMut(u64, Request, &Execution) -> Analysis>;

/// A run that was made.
#[derive(Debug)]
pub struct RunOutcome {
    /// Figures of the execution.
    pub summary: Summary,
    /// The strategy's share of the work, until the strategy has it.
    work: Option<Expansion>,
    /// Whether the strategy's share of the work was done.
    pub worked: bool,
    /// The execution, if it was wanted.
    pub execution: Option<Box<Execution>>,
    /// Something to be said about it.
    pub note: Option<String>,
}

#[derive(Debug)]
enum Message {
    Finished(Vec<(u64, RunOutcome)>),
    /// A target broke.
    Lost(TargetError),
    /// A target did not start, and the member is not there.
    Absent,
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
    /// Members that wait for some.
    idle: usize,
    closed: bool,
}

impl Tasks {
    /// Takes a fair share, if `sharers` want some.
    fn share(&mut self, at_most: usize, sharers: usize) -> Vec<Task> {
        let count = self.waiting.len().div_ceil(sharers).min(at_most);
        self.waiting.drain(..count).collect()
    }
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

    /// Waits for tasks and takes some. `None`: there will be no more.
    fn take(&self, at_most: usize, sharers: usize) -> Option<Vec<Task>> {
        let mut tasks = self.lock();
        while tasks.waiting.is_empty() && !tasks.closed {
            tasks.idle += 1;
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
            tasks.idle -= 1;
        }
        (!tasks.closed).then(|| tasks.share(at_most, sharers))
    }

    /// Adds tasks; `new` is empty then.
    fn add(&self, new: &mut Vec<Task>) {
        let mut tasks = self.lock();
        tasks.waiting.extend(new.drain(..));
        for _ in 0..tasks.idle.min(tasks.waiting.len()) {
            self.changed.notify_one();
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// A target, who looks at its executions, and what it is to run.
struct Worker<'a, T> {
    target: &'a mut T,
    analyser: &'a mut Analyser,
    under_way: VecDeque<Task>,
    execution: Execution,
    /// When the tasks under way were taken, and how many.
    taken: (Instant, usize),
    /// As many runs as shall be taken at a time, by the time that the last ones took.
    limit: usize,
}

impl<'a, T: Target> Worker<'a, T> {
    fn new(target: &'a mut T, analyser: &'a mut Analyser) -> Self {
        let (under_way, execution, taken) = (VecDeque::new(), Execution::empty(), (Instant::now(), 0));
        Worker { target, analyser, under_way, execution, taken, limit: 1 }
    }

    fn take(&mut self, tasks: Vec<Task>) {
        if self.under_way.is_empty() {
            self.taken = (Instant::now(), tasks.len());
        }
        for task in tasks {
            self.target.submit(task.request.clone());
            self.under_way.push_back(task);
        }
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Waits for the oldest run under way, and looks at it.
    fn finish(&mut self) -> Result<(u64, RunOutcome), TargetError> {
        self.target.finish(&mut self.execution)?;
        let nothing = || TargetError::Lost("a run came back that nobody asked for".into());
        let Task { number, request } = self.under_way.pop_front().ok_or_else(nothing)?;
        let Analysis { work, keep, note } = (self.analyser)(number, request, &self.execution);
        let mut summary = Summary::of(&self.execution);
        summary.waits |= work.as_ref().is_some_and(|work| work.waits);
        let keep = keep || work.is_none();
        let execution = keep.then(|| Box::new(std::mem::replace(&mut self.execution, Execution::empty())));
        if self.under_way.is_empty() {
            let (since, count) = self.taken;
            let each = since.elapsed().as_nanos() / count.max(1) as u128;
            self.limit =
                usize::try_from(SOON.as_nanos() / each.max(1)).unwrap_or(HANDOUT_BATCH).clamp(1, HANDOUT_BATCH);
        }
        Ok((number, RunOutcome { summary, worked: work.is_some(), work, execution, note }))
    }
}

/// Somebody who will come if needed.
type PendingWorker = Box<dyn FnOnce(Arc<Queue>, Sender<Message>, usize)>;

/// Threads with a target each.
pub struct WorkerPool {
    queue: Arc<Queue>,
    messages: Receiver<Message>,
    /// For new members.
    sender: Sender<Message>,
    pending_workers: Vec<PendingWorker>,
    workers: usize,
    window: usize,
    /// Runs and time before the members come.
    alone: (u64, Duration),
    remarks: Vec<String>,
}

impl WorkerPool {
    /// Nobody yet; `window` runs shall be under way at a time. Members come after so many runs, or when the time is over.
    #[must_use]
    pub fn new(window: usize, runs: u64, time: Duration) -> Self {
        let (sender, messages) = channel();
        let (queue, pending_workers, remarks) = (Arc::default(), Vec::new(), Vec::new());
        WorkerPool {
            queue,
            messages,
            sender,
            pending_workers,
            workers: 0,
            window: window.max(1),
            alone: (runs, time),
            remarks,
        }
    }

    /// One more member. `begin` starts its target, `remarks` is asked what there is to say about the target in the end.
    pub fn join<T: Target>(
        &mut self,
        begin: impl FnOnce() -> Result<(T, Analyser), TargetError> + Send + 'static,
        remarks: impl FnOnce(&T) -> Vec<String> + Send + 'static,
    ) {
        self.pending_workers.push(Box::new(move |queue, out, sharers| {
            thread::spawn(move || {
                let Ok((mut target, mut analyser)) = begin() else {
                    let _ = out.send(Message::Absent);
                    return;
                };
                let mut notice = ExitNotice { out, remarks: Vec::new() };
                target.take_turns();
                if let Err(error) = work(&queue, Worker::new(&mut target, &mut analyser), sharers, &notice.out) {
                    let _ = notice.out.send(Message::Lost(error));
                }
                notice.remarks = remarks(&target);
            });
        }));
    }

    /// Whether it is time for the members to come.
    fn is_due(&self, runs: u64, begun: Instant) -> bool {
        !self.pending_workers.is_empty() && (runs >= self.alone.0 || begun.elapsed() >= self.alone.1)
    }

    fn begin(&mut self) {
        let sharers = self.pending_workers.len() + 1;
        for pending in self.pending_workers.drain(..) {
            self.workers += 1;
            pending(Arc::clone(&self.queue), self.sender.clone(), sharers);
        }
    }

    /// Enters results that have come; waits for some if `patient`.
    fn collect(&mut self, buffer: &mut ReorderBuffer, patient: bool) -> Result<(), TargetError> {
        let mut first = patient.then(|| self.messages.recv().ok()).flatten();
        while let Some(message) = first.take().or_else(|| self.messages.try_recv().ok()) {
            match message {
                Message::Finished(made) => made.into_iter().for_each(|made| buffer.enter(made)),
                Message::Lost(error) => return Err(error),
                Message::Absent => self.workers -= 1,
                Message::Left(_) => return Err(TargetError::Lost("a worker ended unexpectedly".into())),
            }
        }
        Ok(())
    }

    /// Sends all members home and returns what they have to say about their targets. Those that are still busy after a
    /// moment are not waited for.
    #[must_use]
    pub fn dismiss(mut self) -> Vec<String> {
        self.queue.close();
        while self.workers > 0 {
            match self.messages.recv_timeout(FAREWELL) {
                Ok(Message::Left(remarks)) => {
                    self.workers -= 1;
                    self.remarks.extend(remarks);
                }
                Ok(Message::Absent) => self.workers -= 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.remarks.sort();
        self.remarks.dedup();
        self.remarks
    }
}

/// Says that a member is gone, however it went. Nobody listens any more if the search was stopped.
struct ExitNotice {
    out: Sender<Message>,
    remarks: Vec<String>,
}

impl Drop for ExitNotice {
    fn drop(&mut self) {
        let _ = self.out.send(Message::Left(std::mem::take(&mut self.remarks)));
    }
}

/// What a member does.
fn work<T: Target>(
    queue: &Queue,
    mut worker: Worker<'_, T>,
    sharers: usize,
    out: &Sender<Message>,
) -> Result<(), TargetError> {
    while let Some(tasks) = queue.take(worker.limit, sharers) {
        let mut results = Vec::with_capacity(tasks.len());
        worker.take(tasks);
        while !worker.is_idle() {
            match worker.finish() {
                Ok(made) => results.push(made),
                Err(error) => {
                    let _ = out.send(Message::Finished(results));
                    return Err(error);
                }
            }
        }
        if out.send(Message::Finished(results)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Runs that were asked for, in order.
#[derive(Default)]
struct ReorderBuffer {
    asked: u64,
    seen: u64,
    /// Those from `seen` on, as far as they were made.
    made: VecDeque<Option<RunOutcome>>,
}

impl ReorderBuffer {
    fn ask(&mut self, request: Request) -> Task {
        self.made.push_back(None);
        self.asked += 1;
        Task { number: self.asked - 1, request }
    }

    fn under_way(&self) -> usize {
        self.made.len()
    }

    fn enter(&mut self, (number, made): (u64, RunOutcome)) {
        if let Some(entry) = number.checked_sub(self.seen).and_then(|index| self.made.get_mut(index as usize)) {
            *entry = Some(made);
        }
    }

    /// The oldest run that was not looked at, if it was made.
    fn next(&mut self) -> Option<RunOutcome> {
        let made = self.made.front_mut()?.take()?;
        self.made.pop_front();
        self.seen += 1;
        Some(made)
    }
}

/// As [`crate::driver::explore`], together with a crew. `observe` sees an execution only if it was kept where it was made.
///
/// # Errors
/// If a target is lost or the search interrupted.
pub fn explore_with<T: Target>(
    strategy: &mut dyn Strategy,
    (target, analyser): (&mut T, &mut Analyser),
    pool: &mut WorkerPool,
    observe: &mut dyn FnMut(&RunOutcome, Classification, &Stats) -> ControlFlow<()>,
) -> Result<SearchOutcome, TargetError> {
    let (mut stats, mut crowded) = (Stats::default(), false);
    let (mut own, mut buffer, mut tasks) = (Worker::new(target, analyser), ReorderBuffer::default(), Vec::new());
    let begun = Instant::now();
    loop {
        while buffer.under_way() < pool.window
            && let Some(request) = strategy.next()
        {
            tasks.push(buffer.ask(request));
        }
        if buffer.under_way() == 0 || strategy.is_over() {
            let crowd = crowded.then_some(IncompleteReason::Crowd);
            return Ok(SearchOutcome {
                stats,
                incomplete: strategy.incomplete_reason().or(crowd),
                under_way: buffer.under_way(),
            });
        }
        if let Some(mut made) = buffer.next() {
            let class = match (made.work.take(), &made.execution) {
                (Some(work), _) => strategy.learn_work(work),
                (None, Some(execution)) => strategy.learn(execution),
                (None, None) => Classification::Redundant,
            };
            made.summary.count(&mut stats, class);
            crowded = crowded || made.summary.crowded;
            if observe(&made, class, &stats).is_break() {
                return Ok(SearchOutcome {
                    stats,
                    incomplete: Some(IncompleteReason::Stopped),
                    under_way: buffer.under_way(),
                });
            }
            continue;
        }
        if pool.is_due(buffer.seen, begun) {
            own.target.take_turns();
            pool.begin();
        }
        hand_out(&mut tasks, &mut own, pool);
        pool.collect(&mut buffer, own.is_idle())?;
        if !own.is_idle() {
            buffer.enter(own.finish()?);
        }
    }
}

/// Gives tasks to the crew, by the handful, and to the own target: all of them while there is nobody else.
fn hand_out<T: Target>(tasks: &mut Vec<Task>, own: &mut Worker<'_, T>, pool: &WorkerPool) {
    if pool.workers == 0 {
        tasks.splice(..0, pool.queue.lock().waiting.drain(..));
        own.take(std::mem::take(tasks));
        return;
    }
    if tasks.len() >= HANDOUT_BATCH || own.is_idle() {
        pool.queue.add(tasks);
    }
    if own.is_idle() {
        own.take(pool.queue.lock().share(own.limit, pool.workers + 1));
    }
}
