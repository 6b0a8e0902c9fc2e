//! Property-driven pruning: a search for data races that leaves out what cannot race.
//!
//! After Wang, Yang, Gupta and Gopalakrishnan ("Dynamic model checking with property driven pruning
//! to detect race conditions", ATVA 2008). The algorithm as published misses races. Deviations:
//! - A pruned part of the search would have requested other orders of *earlier* transitions. These
//!   requests are made on its behalf, for every operation that may occur in it.
//! - An access that was made before a state counts against every thread that it does not happen
//!   before.
//! - Sleep sets need the initials of the reversal ("source sets"), not any thread that comes before
//!   it.
//!
//! Branch events are not needed: a branch that depends on other threads belongs to the transition
//! before it, and contributes all that the thread may do from that transition on
//! ([`raddle_model::facts::suffix`]).
//!
//! Below all this is a depth-first search with sleep sets. Deadlocks and failed assertions in what
//! is left out are lost.

mod records;
mod reverse;
mod search;
mod sweep;
mod threads;
mod trace;

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_model::facts::suffix::Flow;
use raddle_model::facts::{FunctionId, Site};
use raddle_model::finding::Prune;

use crate::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};
use search::Search;

/// How a run's events are found in the facts.
pub trait Sites {
    /// The site of an event at this place.
    fn site(&self, pc: u64) -> Option<Site>;

    /// Whether the address belongs to an object that exists once.
    fn is_global(&self, address: u64) -> bool;

    /// The function at an address, where a thread begins.
    fn function(&self, address: u64) -> Option<FunctionId>;
}

/// Sites of in-memory programs: the places themselves.
#[derive(Clone, Copy, Debug)]
pub struct PlainSites;

impl Sites for PlainSites {
    fn site(&self, pc: u64) -> Option<Site> {
        (pc != 0).then_some(pc)
    }

    fn is_global(&self, _: u64) -> bool {
        true
    }

    fn function(&self, _: u64) -> Option<FunctionId> {
        None
    }
}

/// What pruning needs to know about the program.
pub struct Knowledge {
    /// The facts, in place.
    pub flow: Flow,
    /// How events are found in them.
    pub sites: Box<dyn Sites>,
}

/// The search, which never starts again by itself; see [`pdp`].
struct Pdp {
    search: Search,
    figures: Prune,
}

/// Pruning by locksets. Without knowledge, or where the program cannot be predicted, nothing is
/// pruned.
#[must_use]
pub fn pdp(knowledge: Option<Knowledge>, spurious: u32) -> RestartOnSpinloop {
    with_filter(knowledge, spurious, false)
}

/// The same, with thread states asked before locksets if `filter`: see [`crate::dhtc`].
pub(crate) fn with_filter(knowledge: Option<Knowledge>, spurious: u32, filter: bool) -> RestartOnSpinloop {
    let plain = optimal_with_dpor_fallback(spurious);
    match knowledge {
        Some(knowledge) => {
            let search = Search::new(knowledge, spurious, filter);
            plain.preceded_by(Pdp { search, figures: Prune::default() })
        }
        None => plain,
    }
}

/// As [`pdp`], but without any pruning: what pruning is measured against.
#[must_use]
pub fn unpruned(spurious: u32) -> RestartOnSpinloop {
    let first = Pdp { search: Search::unpruned(spurious), figures: Prune::default() };
    optimal_with_dpor_fallback(spurious).preceded_by(first)
}

impl Strategy for Pdp {
    fn next(&mut self) -> Option<Request> {
        self.search.next()
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        self.search.learn(observation.execution(), &mut self.figures)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.search.incomplete
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }

    fn save(&self, into: &mut Saver) {
        into.put(&self.figures);
        self.search.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        self.figures = from.take()?;
        self.search.restore(from)
    }

    fn prune(&self) -> Prune {
        self.figures
    }
}
