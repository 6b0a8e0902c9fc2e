//! The workers of one search.
//!
//! A strategy is asked for runs and told of them by one thread, the coordinator, in the order of
//! asking. As many runs are under way at any time, however many workers there are. So results do
//! not depend on the number of workers.
//!
//! The coordinator makes runs itself: a pool of one worker is the sequential search. Further
//! workers, with a thread and a target each, are started when the search turns out not to be
//! short. From then on every target takes turns with its thread, so that as many processors are
//! busy as there are targets. A worker also does the analysis of an execution that needs nothing
//! but the execution ([`Analyser`]).
//!
//! A panic of a worker is resumed in the coordinator.

mod queue;
mod reorder;
mod worker;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use raddle_model::{Execution, Request, Target, TargetError};

use crate::driver::Summary;
use crate::optimal::Expansion;
use crate::strategy::Observation;
use queue::{Queue, Task};
use reorder::ReorderBuffer;
use worker::{FinishedRun, HANDOUT_BATCH, Worker};

pub use worker::{Analyser, Analysis};

/// How long workers have to end.
const EXIT_TIME: Duration = Duration::from_millis(300);

/// A run that was made.
#[derive(Debug)]
pub struct RunOutcome<'a> {
    /// Its number, in the order of asking.
    pub number: u64,
    /// Figures of the execution.
    pub summary: Summary,
    /// The execution, if it was kept where it was made. It always is if the run was not expanded.
    pub execution: Option<&'a Execution>,
    /// Whether the execution was expanded where the run was made.
    pub is_expanded: bool,
    /// What the analysis says about it.
    pub note: Option<String>,
    expansion: Option<Expansion>,
}

impl<'a> RunOutcome<'a> {
    fn new(run: FinishedRun, execution: Option<&'a Execution>) -> Self {
        let FinishedRun { number, summary, analysis, .. } = run;
        let is_expanded = analysis.expansion.is_some();
        RunOutcome { number, summary, execution, is_expanded, note: analysis.note, expansion: analysis.expansion }
    }

    /// What the strategy is told; once.
    pub(crate) fn observation(&mut self) -> Observation<'a> {
        match self.expansion.take() {
            Some(expansion) => Observation::Expansion(expansion),
            None => Observation::Execution(self.execution.expect("a run that was not expanded keeps its execution")),
        }
    }
}

/// From a worker to the coordinator.
#[derive(Debug)]
enum Message {
    Finished(Vec<FinishedRun>),
    /// A target broke.
    Lost(TargetError),
    /// The worker has a bug.
    Panicked(Box<dyn Any + Send>),
    /// A target did not start: the worker does not exist.
    Absent,
    /// The worker ended, with these remarks about its target.
    Exited(Vec<String>),
}

/// A worker that is started lazily.
type PendingWorker = Box<dyn FnOnce(Arc<Queue>, Sender<Message>, usize)>;

/// Starts a target that has learnt nothing.
type Renew<'a, T> = Box<dyn FnOnce() -> Result<T, TargetError> + 'a>;

/// How much a search does alone before further workers are started: starting a worker takes as
/// long as hundreds of runs.
#[derive(Clone, Copy, Debug)]
pub struct Warmup {
    /// After so many runs,
    pub runs: u64,
    /// or after this time.
    pub time: Duration,
}

/// The targets of a search.
pub struct WorkerPool<'a, T> {
    /// The coordinator's.
    own: Worker<'a, T>,
    buffer: ReorderBuffer,
    /// Tasks that were given to no worker yet.
    unassigned: Vec<Task>,
    /// The last run, if another worker made it.
    current: Option<Box<Execution>>,
    queue: Arc<Queue>,
    messages: Receiver<Message>,
    /// For new workers.
    sender: Sender<Message>,
    pending_workers: Vec<PendingWorker>,
    /// Workers besides the coordinator's.
    started: usize,
    warmup: Warmup,
    began: Instant,
    renew: Option<Renew<'a, T>>,
    remarks: Vec<String>,
}

impl<'a, T: Target> WorkerPool<'a, T> {
    /// The coordinator's worker alone.
    pub fn of_one(target: &'a mut T) -> Self {
        let (sender, messages) = channel();
        WorkerPool {
            own: Worker::new(target, None),
            buffer: ReorderBuffer::default(),
            unassigned: Vec::new(),
            current: None,
            queue: Arc::default(),
            messages,
            sender,
            pending_workers: Vec::new(),
            started: 0,
            warmup: Warmup { runs: 0, time: Duration::ZERO },
            began: Instant::now(),
            renew: None,
            remarks: Vec::new(),
        }
    }

    /// For several workers, of which the coordinator's is the first. `renew` starts a target in
    /// place of the first if the search has to go on with one worker.
    pub fn shared(
        target: &'a mut T,
        analyser: Option<Analyser>,
        warmup: Warmup,
        renew: impl FnOnce() -> Result<T, TargetError> + 'a,
    ) -> Self {
        let mut pool = WorkerPool::of_one(target);
        pool.own.analyser = analyser;
        pool.warmup = warmup;
        pool.renew = Some(Box::new(renew));
        pool
    }

    /// Adds a worker. `begin` starts its target; `remarks` is asked in the end what there is to
    /// say about the target.
    pub fn add_worker<W: Target>(
        &mut self,
        begin: impl FnOnce() -> Result<(W, Option<Analyser>), TargetError> + Send + 'static,
        remarks: impl FnOnce(&W) -> Vec<String> + Send + 'static,
    ) {
        self.pending_workers.push(Box::new(move |queue, out, sharers| {
            thread::spawn(move || {
                let Ok((mut target, analyser)) = begin() else {
                    let _ = out.send(Message::Absent);
                    return;
                };
                let mut notice = ExitNotice { out, remarks: Vec::new() };
                target.take_turns();
                let worker = Worker::new(&mut target, analyser);
                match catch_unwind(AssertUnwindSafe(|| work(&queue, worker, sharers, &notice.out))) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => drop(notice.out.send(Message::Lost(error))),
                    Err(panic) => drop(notice.out.send(Message::Panicked(panic))),
                }
                notice.remarks = remarks(&target);
            });
        }));
    }

    /// Whether several workers may share the search.
    pub(crate) fn is_shared(&self) -> bool {
        self.renew.is_some()
    }

    /// The search begins.
    pub(crate) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// The coordinator's target.
    pub(crate) fn target(&self) -> &T {
        self.own.target
    }

    /// Runs that were returned.
    pub(crate) fn returned(&self) -> u64 {
        self.buffer.returned
    }

    /// Numbers the next run as if so many had been returned before.
    pub(crate) fn go_on_from(&mut self, number: u64) {
        self.buffer.returned = number;
    }

    /// Runs that were submitted and not returned.
    pub(crate) fn under_way(&self) -> usize {
        self.buffer.under_way()
    }

    /// Whether it is worth to have one more run under way.
    pub(crate) fn has_room(&self) -> bool {
        self.under_way() < self.own.target.window().max(1)
    }

    /// Hands over one more request.
    pub(crate) fn submit(&mut self, request: Request) {
        let task = self.buffer.issue(request);
        if self.is_shared() { self.unassigned.push(task) } else { self.own.submit(task) }
    }

    /// Waits for the oldest run under way.
    pub(crate) fn finish(&mut self) -> Result<RunOutcome<'_>, TargetError> {
        loop {
            if let Some(mut run) = self.buffer.next() {
                self.current = run.execution.take();
                return Ok(RunOutcome::new(run, self.current.as_deref()));
            }
            if self.is_warm() {
                self.start_workers();
            }
            if self.is_shared() {
                self.hand_out();
                self.collect()?;
            }
            if !self.own.is_idle() {
                let run = self.own.finish()?;
                if run.number == self.buffer.returned {
                    self.buffer.pass_oldest();
                    return Ok(RunOutcome::new(run, Some(&self.own.execution)));
                }
                let run = self.own.hand_over(run);
                self.buffer.enter(run);
            }
        }
    }

    /// Whether it is time to start the pending workers.
    fn is_warm(&self) -> bool {
        let Warmup { runs, time } = self.warmup;
        !self.pending_workers.is_empty() && (self.buffer.returned >= runs || self.began.elapsed() >= time)
    }

    fn start_workers(&mut self) {
        self.own.target.take_turns();
        let sharers = self.pending_workers.len() + 1;
        tracing::debug!(workers = sharers, runs = self.buffer.returned, "workers started");
        for start in self.pending_workers.drain(..) {
            self.started += 1;
            start(Arc::clone(&self.queue), self.sender.clone(), sharers);
        }
    }

    /// Distributes unassigned tasks in batches; the coordinator's worker takes all of them until
    /// others have started.
    fn hand_out(&mut self) {
        if self.started == 0 {
            let queued = std::mem::take(&mut self.queue.lock().waiting);
            let tasks = queued.into_iter().chain(self.unassigned.drain(..));
            tasks.for_each(|task| self.own.submit(task));
            return;
        }
        if self.unassigned.len() >= HANDOUT_BATCH || self.own.is_idle() {
            self.queue.add(&mut self.unassigned);
        }
        if self.own.is_idle() {
            let share = self.queue.lock().share(self.own.limit, self.started + 1);
            share.into_iter().for_each(|task| self.own.submit(task));
        }
    }

    /// Takes the runs that other workers have finished; waits for some if there is nothing else
    /// to do.
    fn collect(&mut self) -> Result<(), TargetError> {
        let waits = self.started > 0 && self.own.is_idle();
        let mut first = waits.then(|| self.messages.recv().ok()).flatten();
        while let Some(message) = first.take().or_else(|| self.messages.try_recv().ok()) {
            match message {
                Message::Finished(runs) => runs.into_iter().for_each(|run| self.buffer.enter(run)),
                Message::Lost(error) => return Err(error),
                Message::Panicked(panic) => resume_unwind(panic),
                Message::Absent => {
                    tracing::debug!("a worker did not start");
                    self.started -= 1;
                }
                Message::Exited(_) => return Err(TargetError::Lost("a worker ended unexpectedly".into())),
            }
        }
        Ok(())
    }

    /// Waits for everything that is under way, so that the target can be used again.
    ///
    /// # Errors
    /// If a target is lost.
    pub fn drain(&mut self) -> Result<(), TargetError> {
        while self.under_way() > 0 {
            self.finish()?;
        }
        Ok(())
    }

    /// Goes on with a single worker, whose target is a new one. Nothing may be under way.
    pub(crate) fn become_one(&mut self) -> Result<(), TargetError> {
        tracing::debug!("search goes on with one worker and a new target");
        self.close();
        if let Some(renew) = self.renew.take() {
            *self.own.target = renew()?;
        }
        self.own.analyser = None;
        (self.buffer, self.pending_workers) = (ReorderBuffer::default(), Vec::new());
        Ok(())
    }

    /// Ends all workers but the coordinator's, and returns what they have to say about their
    /// targets. Workers that are still busy after a moment are not waited for.
    pub fn close(&mut self) -> Vec<String> {
        self.queue.close();
        while self.started > 0 {
            match self.messages.recv_timeout(EXIT_TIME) {
                Ok(Message::Exited(remarks)) => {
                    self.started -= 1;
                    self.remarks.extend(remarks);
                }
                Ok(Message::Absent) => self.started -= 1,
                Ok(Message::Panicked(panic)) => resume_unwind(panic),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.started = 0;
        let mut remarks = std::mem::take(&mut self.remarks);
        remarks.sort();
        remarks.dedup();
        remarks
    }
}

/// The threads of a pool that is dropped end as soon as they are idle.
impl<T> Drop for WorkerPool<'_, T> {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Tells the coordinator that a worker is gone, however it went. After the end of the search
/// there is no receiver any more.
struct ExitNotice {
    out: Sender<Message>,
    remarks: Vec<String>,
}

impl Drop for ExitNotice {
    fn drop(&mut self) {
        let _ = self.out.send(Message::Exited(std::mem::take(&mut self.remarks)));
    }
}

/// What the thread of a worker does.
fn work<T: Target>(
    queue: &Queue,
    mut worker: Worker<'_, T>,
    sharers: usize,
    out: &Sender<Message>,
) -> Result<(), TargetError> {
    while let Some(tasks) = queue.take(worker.limit, sharers) {
        let mut runs = Vec::with_capacity(tasks.len());
        tasks.into_iter().for_each(|task| worker.submit(task));
        while !worker.is_idle() {
            match worker.finish() {
                Ok(run) => runs.push(worker.hand_over(run)),
                Err(error) => {
                    let _ = out.send(Message::Finished(runs));
                    return Err(error);
                }
            }
        }
        if out.send(Message::Finished(runs)).is_err() {
            break;
        }
    }
    Ok(())
}
