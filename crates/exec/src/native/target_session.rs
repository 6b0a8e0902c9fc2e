//! One target from its start to its end, wherever it is: in a process here, or beside an agent.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::path::PathBuf;

use super::collect::BatchResults;
use super::fault::TargetFault;
use super::plan::RunPlan;
use super::remote::RemoteSession;
use super::saved::SpinFacts;
use super::session::Session;
use crate::error::StartError;
use crate::mappings::Mapping;
use crate::options::{NoticedFacts, Options};

/// How a wait for a batch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// The batch is complete.
    Completed,
    /// The target broke.
    Broken(TargetFault),
    /// The user asked to stop.
    Interrupted,
    /// The deadline of the search has passed.
    Late,
    /// The agent was started again, and does not know the target any more; the sentence says so.
    Forgotten(String),
    /// There will be no results any more; the sentence says why.
    Lost(String),
}

/// A target that takes batches of runs and gives their results in the same order. Plans belong to
/// it from [`TargetSession::send`] until they come back by [`TargetSession::collect`] or
/// [`TargetSession::recall`].
pub(super) trait TargetSession: Debug + Send {
    /// Number of the target's process while it lives, if it is here.
    fn process_id(&self) -> Option<u32>;

    /// Files that are mapped into it, by their places here.
    fn mappings(&self, options: &Options) -> Vec<Mapping>;

    /// Whether it is worth to hand over more.
    fn has_room(&self) -> bool;

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool;

    /// Bytes of traces that one batch can have.
    fn arena(&self) -> usize;

    /// Hands over as many of the plans as fit into one batch, from the front. False if not even the
    /// first one fits.
    fn send(&mut self, plans: &mut VecDeque<RunPlan>, at_most: usize) -> bool;

    /// Waits for the oldest batch. A target that makes no progress or takes too much memory is
    /// given up.
    fn wait(&mut self, options: &Options) -> Waited;

    /// Takes the oldest batch out.
    fn collect(&mut self, waited: Waited, may_grow: bool) -> BatchResults;

    /// Takes all plans back.
    fn recall(&mut self) -> Vec<RunPlan>;

    /// What its runs showed that is not modelled, without remarks.
    fn facts(&self) -> NoticedFacts;

    /// Libraries that runs loaded.
    fn loaded(&self) -> Vec<PathBuf>;

    /// What it has learnt of spin loops, as bytes.
    fn knowledge(&self) -> Vec<u8>;

    /// Lets it know what another target has learnt. To be called before the first run.
    fn teach(&mut self, facts: &SpinFacts);

    /// To be called while the target rests, if it takes turns with this thread.
    fn update_cpu_pin(&mut self);

    /// Ends it; results can still be collected.
    fn kill(&mut self);
}

/// Starts a target where the options say.
pub(super) fn start(options: &Options) -> Result<Box<dyn TargetSession>, StartError> {
    Ok(match &options.remote {
        Some(agent) => Box::new(RemoteSession::start(agent, options)?),
        None => Box::new(Session::start(options)?),
    })
}
