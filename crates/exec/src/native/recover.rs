//! What to do when a run failed.
//!
//! A run that needs something the target does not have (threads, room, a process of its own) is
//! repeated in a new target that has it. A run in which the target broke is repeated alone in a new
//! target, unless it was the first there. If the second attempt goes well, the first was an
//! accident (or the fault of an earlier run), which is reported as a limit. If not, the run itself
//! is at fault and becomes an execution that ends with the crash. Nothing is repeated more often
//! than that.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use raddle_model::{Execution, Incident, IncidentKind, PendingState, TargetError};
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{Failure, RunStatus};
use serde::{Deserialize, Serialize};

use super::NativeTarget;
use super::collect::{FailedRun, Finished};
use super::fault::TargetFault;
use super::plan::RunPlan;
use super::ready::{Ready, ReadyBatch, ReadyRun};
use super::target_session;
use crate::decode::RunResult;
use crate::error::StartError;
use crate::mappings;
use crate::options::RestoreMode;

/// Remark when the second attempt at a run went well.
pub(super) const ACCIDENT: &str = "the program broke raddle's control in a run that went well when it was repeated: it \
                                   depends on more than its input and the schedule";

/// Remark when a run was ended because it slept.
const ASLEEP: &str = "a thread waited in the kernel, in a call that is not modelled (poll, select, flock, pause, or \
                      reading something outside the program), and the run was ended there";

/// Remark when a run was cut because its trace did not fit.
pub(super) const LONG_TRACE: &str = "a run was cut because its trace is longer than the memory for it can become";

/// A trace that does not fit gets an arena this many times as large.
const GROWTH: u64 = 4;

/// How often the agent may forget the target without a result in between.
const MOST_RENEWALS: u32 = 5;

/// Why a run must be repeated, or cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RetryCause {
    /// It needs this many threads.
    Threads(i32),
    /// It changed kernel state that a snapshot cannot undo.
    FreshProcess,
    /// Its trace does not fit into a whole arena.
    Room,
    /// Its trace did not fit behind those of other runs.
    NextBatch,
    /// The target broke.
    Fault(TargetFault),
}

impl RetryCause {
    /// Why a run that came back must be repeated, if it must.
    pub(super) fn of(finished: &Finished, may_grow: bool) -> Option<Self> {
        match finished.result.status {
            RunStatus::NeedPool => Some(RetryCause::Threads(finished.code)),
            RunStatus::NeedFresh => Some(RetryCause::FreshProcess),
            RunStatus::TraceFull if finished.trace.start > 0 => Some(RetryCause::NextBatch),
            RunStatus::TraceFull if may_grow => Some(RetryCause::Room),
            // A run in a process of its own that died leaves a status, and no trace of known
            // length.
            RunStatus::Damaged if finished.trace.is_empty() => {
                Some(RetryCause::Fault(TargetFault::Died(ExitStatus::from_raw(finished.code))))
            }
            _ => None,
        }
    }
}

impl NativeTarget {
    /// Deals with the failure of the first of the `rest` of a batch.
    pub(super) fn recover(&mut self, rest: Vec<RunPlan>, failed: FailedRun) -> Result<(), TargetError> {
        tracing::debug!(cause = ?failed.cause, runs = rest.len(), "runs go back to the waiting ones");
        match &failed.cause {
            RetryCause::Fault(fault) => return self.blame(rest, fault, &failed.beginning, failed.first),
            RetryCause::FreshProcess if self.options.mode == RestoreMode::Fork => {
                let fault = TargetFault::Garbled("a fresh process asked for another one".into());
                return self.blame(rest, &fault, &failed.beginning, true);
            }
            _ => {}
        }
        self.recall(rest);
        self.provide(&failed.cause)?;
        self.restart()
    }

    /// Sets the options so that the next target has what a run needs.
    fn provide(&mut self, cause: &RetryCause) -> Result<(), TargetError> {
        match cause {
            RetryCause::Threads(wanted) => self.grow_pool(*wanted)?,
            RetryCause::FreshProcess => self.options.mode = RestoreMode::Fork,
            RetryCause::Room => {
                let room = self.options.trace_bytes.saturating_mul(GROWTH);
                self.options.trace_bytes = room.min(self.options.max_trace_bytes);
            }
            // Any target will do, but it must be a new one. If a run dies, its trace must end in
            // zeroes, and the runs after this one have written into the arenas: only a fresh file
            // has zeroes.
            RetryCause::NextBatch | RetryCause::Fault(_) => {}
        }
        Ok(())
    }

    /// The target broke in the first of these runs: the run is at fault if that is sure, else it
    /// becomes suspect and is repeated alone.
    fn blame(
        &mut self,
        mut rest: Vec<RunPlan>,
        fault: &TargetFault,
        beginning: &[u64],
        first: bool,
    ) -> Result<(), TargetError> {
        let is_sure = first || fault.would_repeat();
        if is_sure && !rest.is_empty() {
            let plan = rest.remove(0);
            let execution = self.failed(fault, beginning);
            let run = ReadyRun { plan, outcome: Ready::Made(Box::new(execution)) };
            self.ready.push_back(ReadyBatch { words: Vec::new(), runs: [run].into() });
            self.suspect = false;
        } else {
            self.suspect = !rest.is_empty();
        }
        self.recall(rest);
        self.restart()
    }

    /// Sends a run back whose trace made no sense, and everything after it.
    pub(super) fn send_back(&mut self, plan: RunPlan, fault: &TargetFault) -> Result<(), TargetError> {
        tracing::debug!(?fault, "trace makes no sense: the run is repeated");
        let ready = std::mem::take(&mut self.ready);
        let mut plans = vec![plan];
        plans.extend(ready.into_iter().flat_map(|batch| batch.runs).map(|run| run.plan));
        self.suspect = true;
        self.options.noticed.remark(format!("a run was repeated because {}", fault.describe()));
        self.recall(plans);
        self.restart()
    }

    /// Puts these plans and those of all batches under way in front of the waiting ones.
    fn recall(&mut self, plans: Vec<RunPlan>) {
        let under_way = self.session.as_mut().map(|session| session.recall()).unwrap_or_default();
        let all: Vec<RunPlan> = plans.into_iter().chain(under_way).collect();
        for plan in all.into_iter().rev() {
            self.waiting.push_front(plan);
        }
    }

    fn grow_pool(&mut self, wanted: i32) -> Result<(), TargetError> {
        let most = MAX_THREADS as u32;
        match u32::try_from(wanted) {
            Ok(wanted) if wanted > self.options.pool && wanted <= most => {
                self.options.pool = wanted.next_power_of_two().min(most);
                Ok(())
            }
            Ok(wanted) if wanted > most => {
                Err(TargetError::Lost(format!("the program has more than {most} threads in one run")))
            }
            _ => Err(TargetError::Lost(format!("the runtime asked for {wanted} threads and has more"))),
        }
    }

    /// Ends the target and starts a new one.
    pub(super) fn restart(&mut self) -> Result<(), TargetError> {
        if let Some(mut session) = self.session.take() {
            session.kill();
        }
        match target_session::start(&self.options) {
            Ok(session) => {
                self.adopt(session);
                Ok(())
            }
            Err(StartError::Interrupted) => Err(TargetError::Interrupted),
            Err(error) => Err(TargetError::Lost(error.to_string())),
        }
    }

    /// Goes on with a new target, because the agent forgot the old one. Nothing that was not
    /// received counts, so that it is done again.
    pub(super) fn renew(&mut self, why: &str) -> Result<(), TargetError> {
        self.renewals += 1;
        if self.renewals > MOST_RENEWALS {
            return Err(TargetError::Lost(format!("{why}, again and again")));
        }
        self.recall(Vec::new());
        let before = mappings::places(&self.mappings);
        self.restart()?;
        let is_same = mappings::places(&self.mappings) == before;
        let what = || TargetError::Lost(format!("{why}, and the program has other addresses there now"));
        if is_same { Ok(()) } else { Err(what()) }
    }

    /// The execution of a run that broke the target, from what it recorded before.
    pub(super) fn failed(&mut self, fault: &TargetFault, beginning: &[u64]) -> Execution {
        let exit = match fault {
            TargetFault::Died(status) => status.code(),
            _ => None,
        };
        let mut execution = Execution::empty();
        let result = RunResult { status: RunStatus::Damaged, exit, diverged_at: None, awaits: 0 };
        self.decoder.decode_beginning(beginning, result, &mut execution);
        self.statistics.runs += 1;
        if let Some(signal) = signal_of(fault) {
            add_crash(&mut execution, signal, fault.describe());
            // It differs each time, so it is no part of the execution.
            if let TargetFault::Hung(_, at @ 1..) = *fault {
                self.decoder.met_at(at);
            }
        }
        if let Some(remark) = remark_on(fault) {
            self.options.noticed.remark(remark);
        }
        execution
    }
}

/// The signal that the crash of a run is reported with; `None` if the fault is not a defect of the
/// program.
fn signal_of(fault: &TargetFault) -> Option<i32> {
    match fault {
        TargetFault::Died(status) => status.signal(),
        // The kernel's own name for "used up its time".
        TargetFault::Hung(..) => Some(libc::SIGXCPU),
        TargetFault::Asleep(_) | TargetFault::Spinning(_) => None,
        // What the kernel would have done.
        TargetFault::Greedy(_) => Some(libc::SIGKILL),
        TargetFault::Garbled(_) => Some(libc::SIGSEGV),
    }
}

/// The sentence about a fault that is a limit of raddle's, or no defect of the program.
fn remark_on(fault: &TargetFault) -> Option<String> {
    match fault {
        TargetFault::Asleep(_) => Some(ASLEEP.into()),
        TargetFault::Spinning(_) => Some(format!(
            "a run was ended because {}: its threads compute, or wait for memory that raddle does not see change",
            fault.describe()
        )),
        TargetFault::Hung(..) | TargetFault::Greedy(_) => Some(format!("a run was ended because {}", fault.describe())),
        TargetFault::Died(status) if status.signal().is_none() => Some(format!(
            "the process ended behind raddle's back, by a system call of its own or as another program: {}",
            fault.describe()
        )),
        TargetFault::Died(_) | TargetFault::Garbled(_) => None,
    }
}

/// Ends the execution with a crash of the thread whose record is the last.
fn add_crash(execution: &mut Execution, signal: i32, text: String) {
    let after = execution.events.len() as u32;
    let last_access = execution.accesses.last().filter(|access| access.after == after);
    let last_step = execution.events.last();
    let thread = last_access.map(|access| access.thread).or(last_step.map(|step| step.thread)).unwrap_or(0);
    let pc = last_access.map(|access| access.pc).or(last_step.map(|step| step.pc)).unwrap_or(0);
    if let Some(pending) = execution.pending.get_mut(usize::from(thread)) {
        pending.state = PendingState::Failed;
    }
    execution.incidents.push(Incident {
        thread,
        after,
        count: last_access.map_or(0, |access| access.count),
        pc,
        obj: 0,
        arg: signal as u64,
        kind: IncidentKind::Failure(Failure::Signal),
        text,
    });
}
