//! One target process from its start to its end: batches go out, results come in (`collect`).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use raddle_wire::{CHECKPOINT_BYTES, Job, MAX_JOBS};

use super::checkpoint_planner::{CheckpointPlanner, StartPoint};
use super::collect::BatchResults;
use super::cpu_pin::{self, CpuPin};
use super::fault::TargetFault;
use super::plan::RunPlan;
use super::saved::{self, SpinFacts};
use super::target_session::{TargetSession, Waited};
use super::watchdog::{Activity, Watchdog};
use crate::error::StartError;
use crate::mappings::Mapping;
use crate::options::{NoticedFacts, Options};
use crate::process::Process;
use crate::shared::SharedFile;
use crate::{interrupt, procfs, wait};

/// Batches that can be under way at once: the file has buffers for two.
const BUFFERS: usize = 2;

/// How long a batch may take before the target's processes are looked up in `/proc`: reading there
/// is not free, and a target cannot take much memory in a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(10);

/// How long a program without hooks may go without an event before another thread of it gets a
/// turn.
const LET_GO: Duration = Duration::from_millis(100);

/// A batch that the target is working on, or has finished.
#[derive(Debug)]
pub(super) struct Batch {
    pub number: u32,
    pub plans: Vec<RunPlan>,
    /// Where the runs start, one for each plan; empty if all start from the root.
    pub starts: Vec<StartPoint>,
}

/// The target and the file shared with it.
#[derive(Debug)]
pub(super) struct Session {
    /// Declared before the process, so that it is dropped first: once the process is reaped, its
    /// number may belong to another one.
    cpu_pin: Option<CpuPin>,
    /// `None` once it was killed.
    process: Option<Process>,
    pub shared: SharedFile,
    pub batches: VecDeque<Batch>,
    submitted: u32,
    pub checkpoints: CheckpointPlanner,
}

impl Session {
    pub(super) fn start(options: &Options) -> Result<Self, StartError> {
        let shared = SharedFile::for_options(options).map_err(|error| StartError::SharedFile(error.to_string()))?;
        let process = cpu_pin::start_unpinned(|| Process::start(options, &shared))?;
        tracing::debug!(pid = process.id(), mode = ?options.mode, pool = options.pool, "target started");
        Ok(Session {
            cpu_pin: Some(CpuPin::new(process.pid())),
            process: Some(process),
            shared,
            batches: VecDeque::new(),
            submitted: 0,
            checkpoints: CheckpointPlanner::new(options),
        })
    }

    /// Tells the target that all batches up to this number are in the file.
    fn submit(&mut self, submitted: u32) {
        self.submitted = submitted;
        let control = self.shared.control();
        control.submitted().store(submitted, Ordering::Release);
        wait::wake(control.submitted());
    }

    /// What the number of completed batches means for the batch with this number.
    fn completion(&self, number: u32, completed: u32) -> Option<Waited> {
        let ahead = completed.wrapping_sub(number);
        // Batches complete one by one: any other number was not written by the runtime.
        if ahead > self.batches.len() as u32 {
            let what = format!("batch {completed} is complete but not under way");
            return Some(Waited::Broken(TargetFault::Garbled(what)));
        }
        (ahead > 0).then_some(Waited::Completed)
    }

    /// Whether the process has ended. It may have completed the batch just before.
    fn death(&mut self, number: u32) -> Option<Waited> {
        let Some(process) = &mut self.process else {
            return Some(Waited::Broken(TargetFault::Garbled("the process was ended".into())));
        };
        let status = process.ended()?;
        let completed = self.shared.control().completed().load(Ordering::Acquire);
        match self.completion(number, completed) {
            Some(Waited::Completed) => Some(Waited::Completed),
            _ => Some(Waited::Broken(TargetFault::Died(status))),
        }
    }

    /// Whether the target has gone without an event for too long, or has too much memory.
    fn overrun(&self, watchdog: &mut Watchdog<(u32, u64)>, begun: Instant, options: &Options) -> Option<TargetFault> {
        let is_slow = begun.elapsed() > PATIENCE;
        let activity = || if is_slow { self.activity() } else { None };
        let hang = options.hang_timeout;
        let stalled = watchdog.check(self.signs_of_life(), Instant::now(), activity);
        // An emulator has no such signal, and a plug-in notices by itself that a thread spins.
        if options.sees_calls_only() && options.emulator.is_none() && stalled > LET_GO {
            self.preempt();
        }
        if stalled > hang {
            let slept = watchdog.was_sleep();
            tracing::debug!(pid = self.process_id(), ?hang, slept, "watchdog fired: the target makes no progress");
            return Some(match slept {
                true => TargetFault::Asleep(hang),
                false if options.sees_calls_only() => TargetFault::Spinning(hang),
                false => TargetFault::Hung(hang, self.place()),
            });
        }
        let limit = options.memory_limit.filter(|&limit| is_slow && self.memory() > limit)?;
        tracing::debug!(pid = self.process_id(), limit, "watchdog fired: the target takes too much memory");
        Some(TargetFault::Greedy(limit))
    }

    /// Asks the process that makes the present run to let another thread run: the running one may
    /// wait for it in a way that the runtime does not see.
    fn preempt(&self) {
        if let Some(pid) = self.processes().last() {
            crate::process::preempt(pid);
        }
    }

    /// The address of the instruction at which the process is that makes the present run; 0 if the
    /// kernel does not say it.
    fn place(&self) -> u64 {
        self.processes().last().and_then(procfs::instruction).unwrap_or(0)
    }

    /// The target's process and, if that is another one, the process that makes the present run.
    fn processes(&self) -> impl Iterator<Item = u32> {
        let target = self.process_id();
        let worker = self.shared.control().worker().load(Ordering::Relaxed);
        target.into_iter().chain(Some(worker).filter(|&worker| worker != 0 && Some(worker) != target))
    }

    /// Bytes of memory that the program has. Checkpoints are the runtime's and do not count.
    fn memory(&self) -> u64 {
        let all = self.processes().map(procfs::own_memory).fold(0, u64::saturating_add);
        let kept = self.shared.control().checkpoint_bytes().load(Ordering::Relaxed).min(CHECKPOINT_BYTES);
        all.saturating_sub(kept)
    }

    /// What the processes are doing; `None` if the kernel does not say it of each of them.
    fn activity(&self) -> Option<Activity> {
        self.processes().map(procfs::activity).reduce(|all, one| {
            let (all, one) = (all?, one?);
            let computed = all.computed.saturating_add(one.computed);
            Some(Activity { runnable: all.runnable || one.runnable, computed })
        })?
    }

    /// Bits of the limits met.
    pub(super) fn limits(&self) -> u64 {
        self.shared.control().limits().load(Ordering::Relaxed)
    }

    /// Changes with each event and each run.
    fn signs_of_life(&self) -> (u32, u64) {
        let control = self.shared.control();
        (control.jobs_done().load(Ordering::Relaxed), control.heartbeat().load(Ordering::Relaxed))
    }
}

impl TargetSession for Session {
    fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    fn mappings(&self, options: &Options) -> Vec<Mapping> {
        self.process_id().map(|id| super::mapped_files(id, options)).unwrap_or_default()
    }

    fn has_room(&self) -> bool {
        self.batches.len() < BUFFERS
    }

    fn is_idle(&self) -> bool {
        self.batches.is_empty()
    }

    fn arena(&self) -> usize {
        self.shared.arena()
    }

    fn send(&mut self, plans: &mut VecDeque<RunPlan>, at_most: usize) -> bool {
        let number = self.submitted;
        let mut batch = Batch { number, plans: Vec::new(), starts: Vec::new() };
        let mut segments = Vec::new();
        let with_checkpoints = self.checkpoints.are_wanted_now();
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
        self.batches.push_back(batch);
        self.submit(number.wrapping_add(1));
        true
    }

    fn wait(&mut self, options: &Options) -> Waited {
        let Some(number) = self.batches.front().map(|batch| batch.number) else { return Waited::Completed };
        let mut pause = wait::Pause::new();
        let begun = Instant::now();
        let mut watchdog = Watchdog::begin(self.signs_of_life(), begun);
        loop {
            let completed = self.shared.control().completed().load(Ordering::Acquire);
            let ended = self.completion(number, completed);
            if let Some(waited) = ended.or_else(|| asked_to_stop(options)).or_else(|| self.death(number)) {
                return waited;
            }
            if let Some(fault) = self.overrun(&mut watchdog, begun, options) {
                return Waited::Broken(fault);
            }
            wait::on(self.shared.control().completed(), completed, pause.next());
        }
    }

    fn collect(&mut self, waited: Waited, may_grow: bool) -> BatchResults {
        self.take_batch(waited, may_grow)
    }

    fn recall(&mut self) -> Vec<RunPlan> {
        std::mem::take(&mut self.batches).into_iter().flat_map(|batch| batch.plans).collect()
    }

    fn facts(&self) -> NoticedFacts {
        let control = self.shared.control();
        NoticedFacts {
            limits: self.limits(),
            calls: control.calls().into_iter().collect(),
            open_types: control.open_types().load(Ordering::Relaxed),
            ..NoticedFacts::default()
        }
    }

    fn loaded(&self) -> Vec<PathBuf> {
        self.shared.control().loaded()
    }

    fn knowledge(&self) -> Vec<u8> {
        saved::knowledge(&self.shared)
    }

    fn teach(&mut self, facts: &SpinFacts) {
        facts.put_into(&self.shared);
    }

    fn update_cpu_pin(&mut self) {
        if let Some(pin) = &mut self.cpu_pin {
            pin.update();
        }
    }

    fn kill(&mut self) {
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

/// Whether the user or the deadline ends the wait.
pub(super) fn asked_to_stop(options: &Options) -> Option<Waited> {
    if interrupt::requested() || options.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
        return Some(Waited::Interrupted);
    }
    options.deadline.is_some_and(|deadline| Instant::now() > deadline).then_some(Waited::Late)
}
