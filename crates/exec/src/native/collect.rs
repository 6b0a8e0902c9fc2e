//! Takes the results of a batch out of the shared file and checks them.
//!
//! The target may have written anything there. Everything is copied before it is checked.

use std::ops::Range;
use std::sync::atomic::Ordering;

use raddle_vocab::RunStatus;
use raddle_wire::record;
use raddle_wire::{Job, trace_offset};

use super::checkpoint_planner::StartPoint;
use super::fault::TargetFault;
use super::plan::{NOT_RUN, RunPlan};
use super::recover::RetryCause;
use super::session::{Batch, Session};
use super::target_session::Waited;
use crate::decode::RunResult;
use crate::limits;
use crate::shared::WORD;

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

/// A run that must be repeated, or that broke the target.
#[derive(Debug)]
pub(super) struct FailedRun {
    pub cause: RetryCause,
    /// What was recorded of it.
    pub beginning: Vec<u64>,
    /// Whether it was the first run of its process and `beginning` is all that it recorded: then no
    /// earlier run can have caused the fault.
    pub first: bool,
}

/// All that one batch brought.
#[derive(Debug, Default)]
pub(super) struct BatchResults {
    /// Every plan of the batch.
    pub plans: Vec<RunPlan>,
    /// Results of the first of them, up to the first run that failed.
    pub results: Vec<Finished>,
    /// Their traces.
    pub words: Vec<u64>,
    /// The run after them, if it failed.
    pub failed: Option<FailedRun>,
}

impl BatchResults {
    /// Words that the traces of the results take.
    fn end(&self) -> usize {
        self.results.last().map_or(0, |finished| finished.trace.end)
    }
}

impl Session {
    /// Takes the oldest batch out.
    pub(super) fn take_batch(&mut self, waited: Waited, may_grow: bool) -> BatchResults {
        let done = self.jobs_done(&waited);
        let Some(Batch { number, plans, starts }) = self.batches.pop_front() else { return BatchResults::default() };
        let mut collected = BatchResults { plans, ..BatchResults::default() };
        let broken = matches!(waited, Waited::Broken(_));
        let mut cause = self.check_jobs(number, done, &starts, may_grow, &mut collected.results);
        if let (None, Waited::Broken(fault)) = (&cause, waited) {
            cause = Some(RetryCause::Fault(fault));
        }
        let unknown = limits::unnamed(self.limits());
        if unknown != 0 {
            // A program that wrote there has probably written over the rest as well.
            collected.results.clear();
            let what = format!("limits {unknown:#x}, which there are not");
            cause = Some(RetryCause::Fault(TargetFault::Garbled(what)));
        }
        let end = collected.end();
        collected.failed = cause.map(|cause| {
            // If a run in a process of its own dies, others of the same batch may follow it, and
            // write over its trace.
            let alone = broken || collected.plans.len() == 1;
            let first = number == 0 && collected.results.is_empty() && alone;
            FailedRun { cause, beginning: self.beginning(number, end), first }
        });
        collected.words.reserve_exact(end);
        self.shared.take_words(trace_offset(number, self.shared.arena()), end, &mut collected.words);
        collected
    }

    /// How many jobs of the oldest batch are done, once the target is dead or has completed it.
    fn jobs_done(&self, waited: &Waited) -> usize {
        let Some(batch) = self.batches.front() else { return 0 };
        let total = batch.plans.len();
        if *waited == Waited::Completed {
            return total;
        }
        // The count may still be that of the batch before; a job that was not run has its first
        // status.
        let counted = self.shared.control().jobs_done().load(Ordering::Acquire) as usize;
        let run = (0..total).take_while(|&index| self.shared.job(batch.number, index).status != NOT_RUN).count();
        run.min(counted)
    }

    /// Collects the results of the first `done` jobs, up to the first that must be repeated; why it
    /// must.
    fn check_jobs(
        &mut self,
        number: u32,
        done: usize,
        starts: &[StartPoint],
        may_grow: bool,
        results: &mut Vec<Finished>,
    ) -> Option<RetryCause> {
        results.reserve_exact(done);
        let mut end = 0;
        for index in 0..done {
            let job = self.shared.job(number, index);
            let finished = match check_job(&job, end, self.shared.arena() / WORD) {
                Ok(finished) => finished,
                Err(what) => return Some(RetryCause::Fault(TargetFault::Garbled(what))),
            };
            if let Some(cause) = RetryCause::of(&finished, may_grow) {
                return Some(cause);
            }
            end = finished.trace.end;
            self.checkpoints.learn(starts.get(index), &job);
            results.push(finished);
        }
        None
    }

    /// Copies what a dead target wrote from word `start` of a batch's arena on: whole records up to
    /// a zero.
    fn beginning(&self, number: u32, start: usize) -> Vec<u64> {
        let arena = trace_offset(number, self.shared.arena());
        let total = self.shared.arena() / WORD;
        let mut end = start;
        while end < total {
            let header = self.shared.word64(arena + end * WORD).load(Ordering::Relaxed);
            let (kind, _, _, count) = record::parse_header(header);
            match record::words(kind, count) {
                Some(length) if length <= total - end => end += length,
                _ => break,
            }
        }
        let mut words = Vec::new();
        self.shared.copy_words(arena + start * WORD, end - start, &mut words);
        words
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
