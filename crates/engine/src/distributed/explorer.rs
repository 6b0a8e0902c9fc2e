//! Explores pieces of work.

use std::ops::ControlFlow;
use std::path::Path;

use raddle_exec::{NativeTarget, Options};
use raddle_explore::bounds::MaxEvents;
use raddle_explore::optimal::{PartWatcher, SearchPart, WorkItem, items};
use raddle_explore::{IncompleteReason, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::{Stats, StatsRow};
use raddle_model::{DefectFinder, Execution, SyncState};
use raddle_vocab::policy::mix;

use super::job::{Refused, SharedJob};
use super::result::{ResultRow, Telling};
use crate::check::is_compared;
use crate::error::Error;
use crate::findings::behind::Behind;

/// Runs that a piece is explored further when what is left of it does not fit into the caller's
/// room.
const FURTHER: u64 = 1024;

/// What came of a piece of work.
#[derive(Clone, Debug)]
pub struct Explored {
    /// For a [`super::Taker`].
    pub result: Vec<u8>,
    /// What is left, in pieces; the largest first.
    pub rest: Vec<Vec<u8>>,
    /// Runs that were made.
    pub runs: u64,
}

/// Explores pieces of one job's work. Keeps its target from one to the next.
pub struct Explorer {
    job: SharedJob,
    target: NativeTarget,
    finder: DefectFinder,
    semantics: SyncState,
    /// Runs of all pieces.
    seen: u64,
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explorer").field("seen", &self.seen).finish_non_exhaustive()
    }
}

/// Takes what the runs of one piece show.
struct PieceWatcher<'a> {
    may_go_on: &'a mut dyn FnMut(u64) -> bool,
    /// Runs after which the piece is paused, once its caller has had enough of it.
    until: Option<u64>,
    finder: &'a mut DefectFinder,
    semantics: &'a mut SyncState,
    seen: &'a mut u64,
    telling: Telling,
    behind: Behind,
    has_overwritten_lock: bool,
    disagreement: Option<String>,
}

impl Explorer {
    /// Starts the program of a job, which is this file. Files that it needs are kept in
    /// `directory`.
    ///
    /// # Errors
    /// If the file is another program, cannot be run, or does something else here.
    pub fn start(job: SharedJob, file: &Path, directory: &Path) -> Result<Self, Error> {
        if !job.is_of(file) {
            let what = format!("{}: this is another program than the one that is searched", file.display());
            return Err(Refused(what).into());
        }
        let options = Options { takes_turns: true, ..job.target_options(file, directory)? };
        if let Some(refused) = job.difference(&options)? {
            return Err(refused.into());
        }
        let finder = DefectFinder::allowing(job.allowed_exits()).until_idle(options.until_idle);
        let semantics = SyncState::new(options.spurious);
        let target = NativeTarget::start(options)?;
        Ok(Explorer { job, target, finder, semantics, seen: 0 })
    }

    /// Explores a piece of work until nothing is left or `may_go_on` says no, which is asked before
    /// each run with the runs that were made. What is left is divided into about so many `pieces`;
    /// together with the result they have at most `room` bytes. While they have more, the piece is
    /// explored further.
    ///
    /// # Errors
    /// If the work makes no sense, or the target is lost or interrupted: nothing of the piece is
    /// explored then.
    pub fn explore(
        &mut self,
        work: &[u8],
        pieces: usize,
        room: usize,
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Explored, Error> {
        let mut left = items::decode(work)?;
        let spurious = self.target.options().spurious;
        let mut watcher = PieceWatcher {
            may_go_on,
            until: None,
            finder: &mut self.finder,
            semantics: &mut self.semantics,
            seen: &mut self.seen,
            telling: Telling::default(),
            behind: Behind::default(),
            has_overwritten_lock: false,
            disagreement: None,
        };
        let (mut stats, mut incomplete, mut is_handed_over) = (Stats::default(), None::<IncompleteReason>, false);
        loop {
            let mut part = SearchPart::new(left, spurious, &mut watcher);
            let outcome = {
                let mut pool = WorkerPool::of_one(&mut self.target);
                let bounded = &mut MaxEvents::new(&mut part, self.job.max_events());
                explore(bounded, &mut pool, &mut |_, _, _| ControlFlow::Continue(()))?
            };
            stats.extend(&outcome.stats);
            incomplete = least(incomplete, outcome.incomplete);
            is_handed_over |= part.is_unpredictable() || incomplete == Some(IncompleteReason::BusyWaiting);
            left = part.into_rest();
            // Nothing else of a search counts that cannot be divided.
            if is_handed_over {
                left.clear();
                watcher.telling = Telling::default();
            }
            let row = ResultRow {
                stats: Some(StatsRow::from(&stats)),
                incomplete,
                is_handed_over,
                noticed: self.target.options().noticed.facts(),
                loaded: loaded(&self.target),
                ..watcher.row()?
            };
            let result = postcard::to_stdvec(&row).unwrap_or_default();
            let rest: Option<Vec<Vec<u8>>> = items::divide(&left, pieces).map(items::encode).collect();
            let taken = |rest: &Vec<Vec<u8>>| rest.iter().fold(result.len(), |sum, piece| sum + piece.len() + 8);
            match rest {
                Some(rest) if taken(&rest) <= room || left.is_empty() => {
                    return Ok(Explored { result, rest, runs: stats.runs() });
                }
                _ => watcher.until = Some(FURTHER),
            }
        }
    }
}

impl PartWatcher for PieceWatcher<'_> {
    fn may_go_on(&mut self, runs: u64) -> bool {
        match self.until {
            None => (self.may_go_on)(runs),
            Some(until) => runs < until,
        }
    }

    fn see(&mut self, item: &WorkItem, execution: &Execution) {
        *self.seen += 1;
        let defects = self.finder.find(execution);
        self.has_overwritten_lock |= self.finder.has_overwritten_lock();
        if self.behind.learn(execution, &defects) {
            self.telling.cause(item);
        }
        for defect in &defects {
            self.telling.defect(checksum(&defect.signature), item);
        }
        if is_compared(*self.seen)
            && let Err(disagreement) = self.semantics.check(execution)
        {
            self.disagreement.get_or_insert(disagreement.to_string());
        }
    }
}

impl PieceWatcher<'_> {
    /// What the runs have shown.
    fn row(&self) -> Result<ResultRow, Refused> {
        let mut row = ResultRow {
            has_overwritten_lock: self.has_overwritten_lock,
            disagreement: self.disagreement.clone(),
            ..ResultRow::default()
        };
        if self.telling.put_into(&mut row) {
            Ok(row)
        } else {
            Err(Refused("a schedule that shows an error is too long for other processes".into()))
        }
    }
}

/// Files that were mapped into the target.
fn loaded(target: &NativeTarget) -> Vec<String> {
    target.options().loaded.paths().iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Of two reasons the one that every process would name.
pub(super) fn least(a: Option<IncompleteReason>, b: Option<IncompleteReason>) -> Option<IncompleteReason> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Tells defects apart.
fn checksum(signature: &Signature) -> u64 {
    let word = |sum: u64, byte: &u8| mix(sum ^ u64::from(*byte));
    let sum = signature.detail.as_bytes().iter().fold(signature.kind as u64, word);
    signature.places.iter().fold(sum, |sum, place| mix(sum ^ place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_do_not_depend_on_their_order() {
        let (a, b) = (Some(IncompleteReason::Events), Some(IncompleteReason::Crowd));
        assert_eq!((least(a, b), least(b, a), least(None, b), least(a, None)), (a, a, b, a));
    }
}
