//! One life of a target process: batches go out, results come in.

use std::collections::VecDeque;
use std::ops::Range;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use raddle_vocab::RunStatus;
use raddle_wire::record;
use raddle_wire::{CHECKPOINT_BYTES, Job, MAX_JOBS, trace_offset};

use super::checkpoint_planner::{CheckpointPlanner, StartPoint};
use super::cpu_pin::{self, CpuPin};
use super::plan::{NOT_RUN, RunPlan};
use super::recover::RetryCause;
use super::watchdog::{Activity, Watchdog};
use crate::decode::RunResult;
use crate::error::StartError;
use crate::limits;
use crate::options::Options;
use crate::process::{self, Process};
use crate::shared::{SharedFile, WORD};
use crate::{interrupt, wait};

/// Batches that can be under way at once: the file has buffers for two.
const BUFFERS: usize = 2;

/// How long a batch may take before anybody looks at the target's processes.
const PATIENCE: Duration = Duration::from_millis(10);

/// A target that broke, in a way that only a new process heals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetFault {
    /// The process is gone.
    Died(ExitStatus),
    /// It computed for so long without an event.
    Hung(Duration),
    /// It slept in the kernel for so long, in a call that is not modelled.
    Asleep(Duration),
    /// It took more than so many bytes of memory.
    Greedy(u64),
    /// What it wrote into the shared file makes no sense.
    Garbled(String),
}

impl TargetFault {
    /// The fault as the end of a sentence about the program.
    pub(super) fn describe(&self) -> String {
        match self {
            TargetFault::Died(status) => process::describe(*status),
            TargetFault::Hung(time) | TargetFault::Asleep(time) => {
                format!("it made no step for {} seconds", time.as_secs_f64().round())
            }
            TargetFault::Greedy(bytes) => format!("it used more than {} MB of memory", bytes >> 20),
            TargetFault::Garbled(what) => format!("it wrote over raddle's records ({what})"),
        }
    }
}

/// How a wait for a batch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Completed,
    Broken(TargetFault),
    Interrupted,
    Late,
}

/// A batch that the target is working on, or has finished.
#[derive(Debug)]
pub(super) struct Batch {
    pub number: u32,
    pub plans: Vec<RunPlan>,
    /// Where they start, one by one, if not all from the root.
    starts: Vec<StartPoint>,
}

/// What came of a job, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub result: RunResult,
    pub code: i32,
    /// Words of the batch's arena.
    pub trace: Range<usize>,
    pub nanoseconds: u64,
    /// Whether it started in the middle of an earlier run.
    pub resumed: bool,
}

/// All that one batch brought.
#[derive(Debug)]
pub(super) struct Collected {
    /// Every plan of the batch.
    pub plans: Vec<RunPlan>,
    /// Results of the first of them, up to the first cause.
    pub results: Vec<Finished>,
    /// Their traces.
    pub words: Vec<u64>,
    /// What is wrong with the run after them, and what was recorded of it.
    pub cause: Option<RetryCause>,
    pub beginning: Vec<u64>,
    /// Whether that run was the first of its process and `beginning` is all that it recorded: nobody else is at fault.
    pub first: bool,
}

/// The target and the file shared with it.
#[derive(Debug)]
pub(super) struct Session {
    /// Goes before the process: afterwards, its number may be somebody else's.
    cpu_pin: Option<CpuPin>,
    /// `None` once it was killed.
    process: Option<Process>,
    pub shared: SharedFile,
    pub batches: VecDeque<Batch>,
    submitted: u32,
    checkpoints: CheckpointPlanner,
}

impl Session {
    pub(super) fn start(options: &Options) -> Result<Self, StartError> {
        let shared = SharedFile::for_options(options).map_err(|error| StartError::Resources(error.to_string()))?;
        let process = cpu_pin::start_unpinned(|| Process::start(options, &shared))?;
        Ok(Session {
            cpu_pin: Some(CpuPin::new(process.pid())),
            process: Some(process),
            shared,
            batches: VecDeque::new(),
            submitted: 0,
            checkpoints: CheckpointPlanner::new(options),
        })
    }

    /// Number of the target's process while it lives.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    pub(super) fn has_room(&self) -> bool {
        self.batches.len() < BUFFERS
    }

    /// Hands over as many of the plans as fit into one batch, from the front; false if not even the first does.
    pub(super) fn send(&mut self, plans: &mut VecDeque<RunPlan>, at_most: usize) -> bool {
        let number = self.submitted;
        let mut batch = Batch { number, plans: Vec::new(), starts: Vec::new() };
        let mut segments = Vec::new();
        let with_checkpoints = self.checkpoints.are_wanted();
        while batch.plans.len() < at_most.min(MAX_JOBS) {
            let Some(plan) = plans.front() else { break };
            let Some(mut job) = plan.encode(&mut segments) else { break };
            if with_checkpoints {
                batch.starts.push(self.checkpoints.suggest(plan, plans.iter().skip(1), &mut job, &mut segments));
            }
            self.shared.put_job(number, batch.plans.len(), &job);
            batch.plans.extend(plans.pop_front());
        }
        if batch.plans.is_empty() {
            return false;
        }
        if batch.plans.len() < MAX_JOBS {
            // A job without events ends the batch.
            self.shared.put_job(number, batch.plans.len(), &Job::default());
        }
        self.shared.put_segments(number, 0, &segments);
        self.submitted = number.wrapping_add(1);
        self.batches.push_back(batch);
        let control = self.shared.control();
        control.submitted().store(self.submitted, Ordering::Release);
        wait::wake(control.submitted());
        true
    }

    /// Waits for the oldest batch. A target that shows no sign of life or takes too much memory is given up.
    pub(super) fn wait(&mut self, options: &Options) -> Waited {
        let hang = options.hang_timeout;
        let Some(batch) = self.batches.front() else { return Waited::Completed };
        let number = batch.number;
        let mut pause = wait::Pause::new();
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(self.signs_of_life(), begun);
        loop {
            let control = self.shared.control();
            let completed = control.completed().load(Ordering::Acquire);
            // Batches complete one by one: any other number was not written by the runtime.
            let ahead = completed.wrapping_sub(number);
            if ahead > self.batches.len() as u32 {
                return Waited::Broken(TargetFault::Garbled(format!(
                    "batch {completed} is complete but not under way"
                )));
            }
            if ahead > 0 {
                return Waited::Completed;
            }
            if interrupt::requested() {
                return Waited::Interrupted;
            }
            if options.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Waited::Late;
            }
            match self.process.as_mut().map(Process::ended) {
                Some(None) => {}
                Some(Some(status)) if !self.completed_meanwhile(number) => {
                    return Waited::Broken(TargetFault::Died(status));
                }
                Some(Some(_)) => return Waited::Completed,
                None => return Waited::Broken(TargetFault::Garbled("the process was ended".into())),
            }
            // Looking is not free, and nobody takes much memory in a few milliseconds.
            let long = begun.elapsed() > PATIENCE;
            let activity = || if long { self.activity() } else { None };
            if watchdog.look(self.signs_of_life(), Instant::now(), activity) > hang {
                let fault = if watchdog.was_sleep() { TargetFault::Asleep(hang) } else { TargetFault::Hung(hang) };
                return Waited::Broken(fault);
            }
            if let Some(limit) = options.memory_limit.filter(|&limit| long && self.memory() > limit) {
                return Waited::Broken(TargetFault::Greedy(limit));
            }
            wait::on(self.shared.control().completed(), completed, pause.next());
        }
    }

    /// The target's process and, if that is another one, the process that makes the present run.
    fn processes(&self) -> impl Iterator<Item = u32> {
        let target = self.process_id();
        let worker = self.shared.control().worker().load(Ordering::Relaxed);
        target.into_iter().chain(Some(worker).filter(|&worker| worker != 0 && Some(worker) != target))
    }

    fn memory(&self) -> u64 {
        let all = self.processes().map(process::own_memory).fold(0, u64::saturating_add);
        // What the target keeps for later runs is not the program's.
        let kept = self.shared.control().checkpoint_bytes().load(Ordering::Relaxed).min(CHECKPOINT_BYTES);
        all.saturating_sub(kept)
    }

    /// What the processes are doing; `None` if the kernel does not say it of each of them.
    fn activity(&self) -> Option<Activity> {
        self.processes().map(process::activity).reduce(|all, one| {
            let (all, one) = (all?, one?);
            let computed = all.computed.saturating_add(one.computed);
            Some(Activity { runnable: all.runnable || one.runnable, computed })
        })?
    }

    fn completed_meanwhile(&self, number: u32) -> bool {
        let ahead = self.shared.control().completed().load(Ordering::Acquire).wrapping_sub(number);
        ahead > 0 && ahead <= self.batches.len() as u32
    }

    fn signs_of_life(&self) -> (u32, u64) {
        let control = self.shared.control();
        (control.jobs_done().load(Ordering::Relaxed), control.heartbeat().load(Ordering::Relaxed))
    }

    /// How many jobs of the oldest batch are done, once the target is dead or has completed it.
    fn jobs_done(&self, waited: &Waited) -> usize {
        let Some(batch) = self.batches.front() else { return 0 };
        let total = batch.plans.len();
        if *waited == Waited::Completed {
            return total;
        }
        // The count may still be that of the batch before; what was not run has its first status.
        let counted = self.shared.control().jobs_done().load(Ordering::Acquire) as usize;
        let run = (0..total).take_while(|&index| self.shared.job(batch.number, index).status != NOT_RUN).count();
        run.min(counted)
    }

    /// Takes the oldest batch out. Everything is copied before it is looked at.
    pub(super) fn collect(&mut self, waited: Waited, may_grow: bool) -> Collected {
        let done = self.jobs_done(&waited);
        let Some(Batch { number, plans, starts }) = self.batches.pop_front() else {
            let (plans, results, words, beginning) = Default::default();
            return Collected { plans, results, words, cause: None, beginning, first: false };
        };
        let broken = matches!(waited, Waited::Broken(_));
        let mut results: Vec<Finished> = Vec::with_capacity(done);
        let mut cause = None;
        let mut end = 0;
        for index in 0..done {
            let job = self.shared.job(number, index);
            match check_job(&job, end, self.shared.arena() / WORD) {
                Ok(finished) => {
                    cause = RetryCause::of(&finished, may_grow);
                    if cause.is_some() {
                        break;
                    }
                    end = finished.trace.end;
                    self.checkpoints.learn(starts.get(index), &job);
                    results.push(finished);
                }
                Err(what) => {
                    cause = Some(RetryCause::Fault(TargetFault::Garbled(what)));
                    break;
                }
            }
        }
        if let (None, Waited::Broken(fault)) = (&cause, waited) {
            cause = Some(RetryCause::Fault(fault));
        }
        let strange = limits::unnamed(self.limits());
        if strange != 0 {
            // Who writes there has written over the rest, too, whatever it looks like.
            results.clear();
            end = 0;
            cause = Some(RetryCause::Fault(TargetFault::Garbled(format!("limits {strange:#x}, which there are not"))));
        }
        let beginning = if cause.is_some() { self.beginning(number, end) } else { Vec::new() };
        let mut words = Vec::with_capacity(end);
        self.shared.take_words(trace_offset(number, self.shared.arena()), end, &mut words);
        // A run in a process of its own that died may be followed by others in the same batch, which wrote over its trace.
        let first = number == 0 && results.is_empty() && (broken || plans.len() == 1);
        Collected { plans, results, words, cause, beginning, first }
    }

    /// Copies what a dead target wrote from word `start` of a batch's arena on: whole records up to a zero.
    fn beginning(&self, number: u32, start: usize) -> Vec<u64> {
        let arena = trace_offset(number, self.shared.arena());
        let total = self.shared.arena() / WORD;
        let mut end = start;
        while end < total {
            let (kind, _, _, count) =
                record::parse_header(self.shared.word64(arena + end * WORD).load(Ordering::Relaxed));
            match record::words(kind, count) {
                Some(length) if length <= total - end => end += length,
                _ => break,
            }
        }
        let mut words = Vec::new();
        self.shared.copy_words(arena + start * WORD, end - start, &mut words);
        words
    }

    /// Bits of the limits met.
    pub(super) fn limits(&self) -> u64 {
        self.shared.control().limits().load(Ordering::Relaxed)
    }

    /// The target rests, and takes turns with this thread: whether they sit well is looked at.
    pub(super) fn turn(&mut self) {
        if let Some(pin) = &mut self.cpu_pin {
            pin.turn();
        }
    }

    /// Kills the process; the file stays readable.
    pub(super) fn kill(&mut self) {
        self.cpu_pin = None;
        self.process = None;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process
            && self.batches.is_empty()
        {
            process.ask_to_end(&self.shared);
        }
    }
}

/// Checks the result fields of a job; `arena` and `start` are in words.
fn check_job(job: &Job, start: usize, arena: usize) -> Result<Finished, String> {
    let status = u8::try_from(job.status).ok().and_then(RunStatus::from_byte);
    let status = status.ok_or_else(|| format!("a run ended with status {}", job.status))?;
    if job.exited > 1 {
        return Err(format!("a run exited {} times", job.exited));
    }
    let (Ok(from), Ok(bytes)) = (usize::try_from(job.trace_start), usize::try_from(job.trace_bytes)) else {
        return Err("a trace lies outside".into());
    };
    if from != start * WORD || !bytes.is_multiple_of(WORD) || bytes / WORD > arena.saturating_sub(start) {
        return Err(format!("a trace of {bytes} bytes starts at {from} instead of {}", start * WORD));
    }
    Ok(Finished {
        result: RunResult {
            status,
            exit: (job.exited == 1).then_some(job.code),
            diverged_at: (status == RunStatus::Diverged).then_some(job.diverged_at),
            awaits: job.awaits,
        },
        code: job.code,
        trace: start..start + bytes / WORD,
        nanoseconds: job.nanoseconds,
        resumed: job.started_at > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(status: u32, exited: u32, trace_start: u64, trace_bytes: u64) -> Job {
        Job { status, exited, trace_start, trace_bytes, code: 7, diverged_at: 3, ..Job::default() }
    }

    #[test]
    fn good_results_pass_and_wrong_ones_are_named() {
        let good = check_job(&job(1, 1, 16, 24), 2, 100).unwrap();
        assert_eq!(good.trace, 2..5);
        assert_eq!((good.result.exit, good.result.diverged_at), (Some(7), Some(3)));
        for (wrong, word) in [
            (job(99, 0, 16, 24), "status 99"),
            (job(NOT_RUN, 0, 16, 24), "status"),
            (job(0, 2, 16, 24), "exited 2 times"),
            (job(0, 0, 8, 24), "starts at 8"),
            (job(0, 0, 16, 25), "25 bytes"),
            (job(0, 0, 16, 8 * 99), "792 bytes"),
            (job(0, 0, 16, u64::MAX), "bytes"),
        ] {
            assert!(check_job(&wrong, 2, 100).unwrap_err().contains(word), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_passes_lies_inside(status in 0u32..10, from in 0u64..64, bytes: u64, start in 0usize..8) {
            if let Ok(finished) = check_job(&job(status, 0, from * 8, bytes % 128), start, 10) {
                prop_assert!(finished.trace.end <= 10 && finished.trace.start == start);
            }
        }
    }
}
