//! One search by many processes, on one machine or several.
//!
//! A [`SharedJob`] says what is searched: the program by its checksum, arguments, environment,
//! input, options and the build of raddle. The work is a list of work items of the optimal search;
//! [`SharedJob::whole`] is all of it. An [`Explorer`] explores a piece of work for as long as its
//! caller lets it, and returns a *result* (counts, and the schedules that showed something) and
//! what is left, in pieces. A result says nothing about other pieces. So the results of all pieces
//! make up the search, whichever process explored which piece, in what order, and however often.
//!
//! [`Checker::elsewhere`](crate::Checker::elsewhere) makes a check whose search is done that way.
//! How work and results travel is up to an [`Elsewhere`]; this module knows no network.
//!
//! Invariants:
//! * Of each defect, the least schedule that shows it is kept: shorter ones first, then by their
//!   choices. So findings do not depend on who met what first. They are confirmed and minimised
//!   once, at the end, by the process that makes the report.
//! * Results come from other processes, and are checked before they are used.
//! * A search that cannot be divided is handed over ([`raddle_explore::optimal::SearchPart`]): the
//!   process that makes the report searches the program by itself then, from the beginning.

mod explorer;
mod gathering;
mod job;
mod result;

use std::path::Path;

use crate::observer::Crew;

pub use explorer::{Explored, Explorer};
pub(crate) use gathering::Gathering;
pub(crate) use job::environment;
pub use job::{Refused, SharedJob};
pub use result::lost;

/// What was done with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It counts.
    Counted,
    /// It makes no sense: the piece of work has to be explored again.
    Refused(String),
    /// It counts, and no more are needed.
    Enough,
}

/// Takes results.
pub trait Taker {
    /// A result that was not taken before.
    fn take(&mut self, result: &[u8]) -> Taken;

    /// Called now and then, and whenever there is nothing to take. Returns how many runs the search
    /// has, and will have in all, if that can be guessed; `None`: the search is to end.
    fn wait(&mut self, crew: Crew) -> Option<(u64, Option<f64>)>;
}

/// Has a search done by other processes.
pub trait Elsewhere {
    /// Has all the work of a job done, whose program is this file. Each piece's result goes to
    /// `taker` once. Returns true if all of it was done, false if `taker` wanted no more.
    ///
    /// # Errors
    /// A sentence, if the search cannot go on. What was taken counts.
    fn explore(&mut self, job: &SharedJob, program: &Path, taker: &mut dyn Taker) -> Result<bool, String>;

    /// The report on the last job is written: nothing of it is needed any more.
    fn forget(&mut self);
}
