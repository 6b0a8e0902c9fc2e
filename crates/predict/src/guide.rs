//! Makes a program follow the order of a counterexample by controlling its synchronising operations
//! alone, as Carril and Tichy plan it.
//!
//! A trace of another run says less than an execution: threads and objects have other names, and
//! operations that the format has no word for are missing. So each step of the order is looked up
//! in the program's own run: the thread's next operation has to be of the same kind, and on the
//! object that the trace's object stands for since its first use. Operations that the trace does
//! not know are made when their thread comes to them. A schedule grows until all steps are made,
//! and each time the order differs from what the program did by itself, it runs once more.

use std::collections::BTreeMap;

use raddle_model::{Choice, Execution, TargetError};

use crate::observe::observe;
use crate::search::ReorderedEvent;
use crate::trace::{ObservedTrace, Slot, SyncOp, Tid};

/// Runs for one order, at most: one for each change of threads, and those that find no way.
const MOST_RUNS: usize = 20_000;
/// How often it begins again because the runtime has learnt what changes all runs.
const MOST_RESTARTS: usize = 100;

/// How far a run followed an order.
#[derive(Debug)]
pub struct Followed {
    /// The last run.
    pub execution: Execution,
    /// Number of the run's thread for each thread of the trace, as far as it exists.
    pub threads: BTreeMap<Tid, Tid>,
    /// Where it left the order.
    pub departure: Option<Deviation>,
    /// For each thread of the run, how many events that the format has words for it had made when
    /// the order was complete.
    pub made: Vec<usize>,
}

impl Followed {
    /// How many events that the format has words for the thread has made before `number` events of
    /// the run.
    #[must_use]
    pub fn before(&self, thread: Tid, number: usize) -> usize {
        words_before(&observe(&self.execution), thread, number)
    }
}

fn words_before(observed: &ObservedTrace, thread: Tid, number: usize) -> usize {
    let events = observed.events.iter().take(number).filter(|event| event.thread == thread);
    events.filter(|event| step(&event.op) != Step::Other).count()
}

/// Where a run left an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// How many steps of the order were made, and the number of this one among the events.
    pub at: usize,
    /// Number of the synchronising operation in the counterexample, from 1.
    pub number: usize,
    /// What the program did.
    pub instead: Instead,
}

/// What a program did instead of the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// Its thread made this event of the run.
    Other(usize),
    /// Its thread waits before this operation.
    Waits,
    /// Its thread has ended, or there is no such thread.
    Nothing,
}

/// What an operation is in the words of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Acquire(Slot),
    Release(Slot),
    Fork(Tid),
    Join(Tid),
    /// Lets another thread go on; the flag says whether one operation lets several.
    Give(bool),
    /// Goes on when another thread allows it.
    Take(bool),
    /// The format has no word for it.
    Other,
}

fn step(op: &SyncOp) -> Step {
    match *op {
        SyncOp::Lock(slot) | SyncOp::ReadLock(slot) | SyncOp::WriteLock(slot) => Step::Acquire(slot),
        SyncOp::Unlock(slot) | SyncOp::ReadUnlock(slot) | SyncOp::WriteUnlock(slot) | SyncOp::OnceEnd(slot) => {
            Step::Release(slot)
        }
        SyncOp::Enqueue { mutex: Some(slot), .. } => Step::Release(slot),
        SyncOp::Resume { mutex: Some(slot), .. } => Step::Acquire(slot),
        SyncOp::Fork(child) => Step::Fork(child),
        SyncOp::Join(child) => Step::Join(child),
        SyncOp::Wake { .. } | SyncOp::Post(_) => Step::Give(false),
        SyncOp::Arrive { .. } => Step::Give(true),
        SyncOp::Take(_) | SyncOp::OnceSeen(_) => Step::Take(false),
        SyncOp::Leave { .. } => Step::Take(true),
        _ => Step::Other,
    }
}

/// Whether a thread of a trace is one that only expresses an order.
fn is_order(trace: &ObservedTrace, thread: Tid) -> bool {
    let thread = &trace.threads[usize::from(thread)];
    thread.events.is_empty() && thread.name.strip_prefix("order").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Whether the program is made to take this step: accesses and orders of other tools are not.
fn is_controlled(op: &SyncOp) -> bool {
    !matches!(op, SyncOp::Free)
}

/// Follows an order of events of `trace`.
pub(crate) struct Guide<'a> {
    trace: &'a ObservedTrace,
    run: &'a mut dyn FnMut(Vec<Choice>) -> Result<Execution, TargetError>,
    schedule: Vec<Choice>,
    execution: Execution,
    /// The same run as a trace; an event has the same number in both.
    observed: ObservedTrace,
    /// Events of the run that are made so far, by its threads.
    made: Vec<usize>,
    threads: BTreeMap<Tid, Tid>,
    /// Threads that the trace does not show the creation of: the program's, in the order in which
    /// it creates them.
    roots: Vec<Tid>,
    /// Addresses of the program's objects.
    slots: BTreeMap<Slot, u64>,
    /// What a thread's last operation stands for more than one step of.
    swallows: BTreeMap<Tid, (Step, Option<Slot>)>,
    runs: usize,
}

/// Why a guide does not go on.
enum Stop {
    Left(Instead),
    /// What the runtime has learnt makes other steps of the same program.
    Again,
    Lost(TargetError),
}

/// Follows the order as far as the program does, and then lets the threads of the goal begin, and
/// those of `far` come as far as they come without an operation that the trace has words for. `run`
/// runs the program.
///
/// # Errors
/// If the target is lost.
pub fn follow(
    trace: &ObservedTrace,
    order: &[ReorderedEvent],
    goal: &[(Tid, u32)],
    far: &[Tid],
    run: &mut dyn FnMut(Vec<Choice>) -> Result<Execution, TargetError>,
) -> Result<Followed, TargetError> {
    let mut restarts = 0;
    loop {
        let execution = run(Vec::new())?;
        let mut guide = Guide::new(trace, execution, run);
        let departure = match guide.follow(order, goal, far) {
            Ok(()) => None,
            Err((at, Stop::Left(instead))) => {
                let steps = order[..at].iter().filter(|taken| is_controlled(&trace.events[taken.event as usize].op));
                Some(Deviation { at, number: steps.count() + 1, instead })
            }
            Err((_, Stop::Lost(error))) => return Err(error),
            Err((at, Stop::Again)) => {
                restarts += 1;
                if restarts < MOST_RESTARTS {
                    continue;
                }
                Some(Deviation { at, number: 0, instead: Instead::Nothing })
            }
        };
        let Guide { execution, threads, schedule, observed, .. } = guide;
        let all = 0..execution.threads.len() as Tid;
        let made = all.map(|thread| words_before(&observed, thread, schedule.len())).collect();
        return Ok(Followed { execution, threads, departure, made });
    }
}

impl<'a> Guide<'a> {
    fn new(
        trace: &'a ObservedTrace,
        execution: Execution,
        run: &'a mut dyn FnMut(Vec<Choice>) -> Result<Execution, TargetError>,
    ) -> Self {
        let created = |thread: &Tid| trace.threads[usize::from(*thread)].fork.is_some();
        let mut roots: Vec<Tid> = (0..trace.threads.len() as Tid).filter(|thread| !created(thread)).collect();
        // The one that creates others, or the only one, is the one that the program begins with.
        let creates = |thread: &Tid| {
            trace.events.iter().any(|event| {
                event.thread == *thread && matches!(event.op, SyncOp::Fork(child) if !is_order(trace, child))
            })
        };
        let main = if roots.len() == 1 { Some(0) } else { roots.iter().position(creates) };
        let main = main.map(|main| roots.remove(main));
        Guide {
            trace,
            run,
            schedule: Vec::new(),
            observed: observe(&execution),
            made: vec![0; execution.threads.len()],
            execution,
            threads: main.map(|main| (main, 0)).into_iter().collect(),
            roots,
            slots: BTreeMap::new(),
            swallows: BTreeMap::new(),
            runs: 1,
        }
    }

    fn follow(&mut self, order: &[ReorderedEvent], goal: &[(Tid, u32)], far: &[Tid]) -> Result<(), (usize, Stop)> {
        for (at, taken) in order.iter().enumerate() {
            let event = &self.trace.events[taken.event as usize];
            if is_controlled(&event.op) {
                self.make(event.thread, &event.op).map_err(|stop| (at, stop))?;
            }
        }
        for &(thread, _) in goal {
            self.approach(thread, far.contains(&thread)).map_err(|stop| (order.len(), stop))?;
        }
        Ok(())
    }

    /// The thread of the run. One whose creation the trace does not show is created now.
    fn own(&mut self, thread: Tid) -> Result<Tid, Stop> {
        if let Some(&own) = self.threads.get(&thread) {
            return Ok(own);
        }
        let root = self.roots.iter().position(|&root| root == thread);
        let number = root.ok_or(Stop::Left(Instead::Nothing))? as Tid + 1;
        loop {
            let made = &self.observed.events[..self.schedule.len()];
            if made.iter().any(|event| event.op == SyncOp::Fork(number)) {
                self.threads.insert(thread, number);
                return Ok(number);
            }
            if !matches!(self.next(0), Some(Step::Fork(_) | Step::Other)) {
                return Err(Stop::Left(Instead::Nothing));
            }
            self.advance(0)?;
        }
    }

    /// Makes one step of the order.
    fn make(&mut self, thread: Tid, op: &SyncOp) -> Result<(), Stop> {
        let own = self.own(thread)?;
        let wanted = match step(op) {
            Step::Fork(child) if is_order(self.trace, child) => Step::Give(false),
            Step::Join(child) if is_order(self.trace, child) => Step::Take(false),
            wanted => wanted,
        };
        if self.is_swallowed(thread, wanted) {
            return Ok(());
        }
        loop {
            // An order that the trace makes up of others has no operation of its own.
            let next = self.next(own);
            let gives = matches!(wanted, Step::Give(_)) && !matches!(next, Some(Step::Give(_) | Step::Other));
            let takes = matches!(wanted, Step::Take(_)) && !matches!(next, Some(Step::Take(_) | Step::Other));
            if gives || takes {
                return Ok(());
            }
            let number = self.advance(own)?;
            let found = step(&self.observed.events[number].op);
            let fits = match (wanted, found) {
                (Step::Acquire(slot), Step::Acquire(own)) | (Step::Release(slot), Step::Release(own)) => {
                    self.is_bound(slot, own)
                }
                (Step::Fork(child), Step::Fork(own)) => {
                    self.threads.insert(child, own);
                    true
                }
                (Step::Join(child), Step::Join(own)) => self.threads.get(&child) == Some(&own),
                (Step::Give(_), Step::Give(_)) | (Step::Take(_), Step::Take(_)) => true,
                // The trace has no word for it.
                (_, Step::Other | Step::Give(_) | Step::Take(_)) => continue,
                _ => false,
            };
            if !fits {
                return Err(Stop::Left(Instead::Other(number)));
            }
            let whole = match (found, wanted) {
                (Step::Give(true), _) => Some((Step::Give(true), None)),
                (Step::Take(true), _) => Some((Step::Take(true), None)),
                (Step::Acquire(_), Step::Acquire(slot)) => Some((Step::Acquire(slot), Some(slot))),
                (Step::Release(_), Step::Release(slot)) => Some((Step::Release(slot), Some(slot))),
                _ => None,
            };
            match whole {
                Some(whole) => self.swallows.insert(thread, whole),
                None => self.swallows.remove(&thread),
            };
            return Ok(());
        }
    }

    /// Whether the thread's last operation was this step, too: a barrier lets several threads go
    /// on, and a writer of a rwlock holds the locks of all its readers.
    fn is_swallowed(&self, thread: Tid, wanted: Step) -> bool {
        let base = |slot: Slot| self.trace.slots[slot as usize].name.split('.').next().unwrap_or_default();
        let same_lock = |one: Slot, other: Slot| one != other && base(one) == base(other);
        match (self.swallows.get(&thread), wanted) {
            (Some((Step::Give(true), _)), Step::Give(_)) | (Some((Step::Take(true), _)), Step::Take(_)) => true,
            (Some(&(Step::Acquire(_), Some(one))), Step::Acquire(other))
            | (Some(&(Step::Release(_), Some(one))), Step::Release(other)) => same_lock(one, other),
            _ => false,
        }
    }

    /// Whether the program's object may be the one of the trace, which it is from now on.
    fn is_bound(&mut self, slot: Slot, own: Slot) -> bool {
        let Some(address) = self.observed.slots[own as usize].address else { return true };
        *self.slots.entry(slot).or_insert(address) == address
    }

    /// Lets a thread begin and, if it is to come far, make what the trace has no word for, up to
    /// its next step.
    fn approach(&mut self, thread: Tid, far: bool) -> Result<(), Stop> {
        let own = self.own(thread)?;
        // The end of a thread is no way to an access.
        while self.next(own) == Some(Step::Other) && self.has_more(own) && (far || self.begins(own)) {
            match self.advance(own) {
                Ok(_) => {}
                // Its access may stand before the operation at which it waits.
                Err(Stop::Left(_)) => break,
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// Whether the thread's next operation is its beginning.
    fn begins(&self, own: Tid) -> bool {
        own != 0 && self.made.get(usize::from(own)).is_none_or(|&made| made == 0)
    }

    /// Whether the thread has an event behind its next one.
    fn has_more(&self, own: Tid) -> bool {
        let made = self.made.get(usize::from(own)).copied().unwrap_or(0);
        let events = &self.observed.threads[usize::from(own)].events;
        made + 1 < events.len()
    }

    /// What the thread does next.
    fn next(&self, own: Tid) -> Option<Step> {
        let thread = self.observed.threads.get(usize::from(own))?;
        let made = self.made.get(usize::from(own)).copied().unwrap_or(0);
        match thread.events.get(made) {
            Some(&event) => Some(step(&self.observed.events[event as usize].op)),
            None => thread.pending.as_ref().map(step),
        }
    }

    /// Makes the thread's next operation, and returns its number in the run.
    fn advance(&mut self, own: Tid) -> Result<usize, Stop> {
        let mut helped = 0;
        loop {
            let waits = self.next(own).is_some();
            match self.take(own)? {
                Some(number) => return Ok(number),
                None if !waits => return Err(Stop::Left(Instead::Nothing)),
                None => {}
            }
            // It waits. What it waits for may be an operation that the trace does not know.
            let others = 0..self.observed.threads.len() as Tid;
            let free: Vec<Tid> =
                others.filter(|&other| other != own && self.next(other) == Some(Step::Other)).collect();
            let mut moved = false;
            for other in free {
                moved = self.take(other)?.is_some();
                if moved {
                    break;
                }
            }
            if !moved || helped >= MOST_RUNS {
                return Err(Stop::Left(Instead::Waits));
            }
            helped += 1;
        }
    }

    /// Lets the thread make one operation; `None` if it cannot now.
    fn take(&mut self, own: Tid) -> Result<Option<usize>, Stop> {
        let at = self.schedule.len();
        let is_next = |execution: &Execution| execution.events.get(at).is_some_and(|event| event.thread == own);
        if !is_next(&self.execution) {
            if self.runs >= MOST_RUNS {
                return Ok(None);
            }
            self.runs += 1;
            let mut schedule = self.schedule.clone();
            schedule.push(Choice::of(own));
            let execution = (self.run)(schedule).map_err(Stop::Lost)?;
            let kept = execution.events.len() >= at
                && self.schedule.iter().zip(&execution.events).all(|(choice, event)| choice.thread == event.thread);
            if !kept {
                return Err(Stop::Again);
            }
            if execution.diverged_at.is_some() || !is_next(&execution) {
                return Ok(None);
            }
            self.observed = observe(&execution);
            self.execution = execution;
        }
        self.schedule.push(Choice::of(own));
        self.made.resize(self.execution.threads.len(), 0);
        self.made[usize::from(own)] += 1;
        Ok(Some(at))
    }
}
