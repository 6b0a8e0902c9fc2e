//! Runs whose traces were taken over from the target and wait to be decoded.

use std::collections::VecDeque;
use std::ops::Range;

use raddle_model::race::RaceDetector;
use raddle_model::{Execution, TargetError};

use super::NativeTarget;
use super::fault::TargetFault;
use super::plan::RunPlan;
use super::recover;
use crate::decode::{DecodeError, RunResult, plain_accesses};

/// A run that waits to be decoded.
#[derive(Debug)]
pub(super) struct ReadyRun {
    pub plan: RunPlan,
    pub outcome: Ready,
}

/// What is known of it.
#[derive(Debug)]
pub(super) enum Ready {
    /// Its trace.
    Trace(ReadyTrace),
    /// The execution itself: the target did not survive the run.
    Made(Box<Execution>),
}

/// A trace that waits to be decoded.
#[derive(Clone, Debug)]
pub(super) struct ReadyTrace {
    /// Words of the batch's traces.
    pub words: Range<usize>,
    pub result: RunResult,
    /// Whether an earlier attempt at the run failed.
    pub suspect: bool,
}

/// A batch whose traces were taken over.
///
/// Invariant: a batch in [`NativeTarget::ready`] has at least one run.
#[derive(Debug, Default)]
pub(super) struct ReadyBatch {
    pub words: Vec<u64>,
    pub runs: VecDeque<ReadyRun>,
}

impl NativeTarget {
    /// Decodes the oldest run that is ready. False if its trace makes no sense and it was sent
    /// back.
    pub(super) fn decode_ready(&mut self, into: &mut Execution) -> Result<bool, TargetError> {
        let Some(ReadyRun { plan, outcome }) = self.take_ready() else { return Ok(false) };
        let done = match outcome {
            Ready::Made(execution) => {
                *into = *execution;
                true
            }
            Ready::Trace(trace) => match self.decode_trace(&trace, into) {
                Ok(()) => true,
                Err(error) => self.retry_garbled(plan, trace, &error, into)?,
            },
        };
        self.drop_read_batch();
        Ok(done)
    }

    /// The oldest run. Its batch stays, because it has the words.
    fn take_ready(&mut self) -> Option<ReadyRun> {
        self.ready.front_mut()?.runs.pop_front()
    }

    fn drop_read_batch(&mut self) {
        if self.ready.front().is_some_and(|batch| batch.runs.is_empty()) {
            self.ready.pop_front();
        }
    }

    /// Decodes a trace of the oldest batch.
    fn decode_trace(&mut self, trace: &ReadyTrace, into: &mut Execution) -> Result<(), DecodeError> {
        let words = self.ready.front().map_or(&[][..], |batch| &batch.words[trace.words.clone()]);
        if self.options.join_accesses {
            // The run is not searched further. Accesses that show nothing wrong are not needed.
            self.decoder.decode_without_accesses(words, trace.result, into)?;
            if !RaceDetector::new().is_clean(into, plain_accesses(words)) {
                self.decoder.decode(words, trace.result, into)?;
            }
        } else {
            self.decoder.decode(words, trace.result, into)?;
        }
        if trace.suspect {
            self.options.noticed.remark(recover::ACCIDENT.into());
        }
        Ok(())
    }

    /// Deals with a trace that makes no sense. The run is repeated; if it was repeated before, it
    /// is at fault itself. Whether there is an execution now.
    fn retry_garbled(
        &mut self,
        plan: RunPlan,
        trace: ReadyTrace,
        error: &DecodeError,
        into: &mut Execution,
    ) -> Result<bool, TargetError> {
        let fault = TargetFault::Garbled(error.to_string());
        if !trace.suspect {
            self.send_back(plan, &fault)?;
            return Ok(false);
        }
        let beginning = self.ready.front().map(|batch| batch.words[trace.words].to_vec()).unwrap_or_default();
        *into = self.failed(&fault, &beginning);
        Ok(true)
    }
}
