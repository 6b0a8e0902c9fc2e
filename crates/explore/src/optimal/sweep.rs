//! An estimate of how many runs the search takes, from samples of its tree.
//!
//! After P.-C. Chen, "Heuristic sampling: a method for predicting the performance of tree searching
//! programs" (SIAM J. Comput. 21(2), 1992), which generalises Knuth's random probes (Math. Comp.
//! 29, 1975). Work items are divided into strata. A sweep makes the run of one work item of each
//! stratum, which stands for all work items of its stratum that the sweep has met: the sum of their
//! weights is an unbiased estimate of the number of runs. The nearer the subtrees of a stratum are
//! in size, the nearer is the estimate.
//!
//! Invariants:
//! * The children of a work item belong to later strata than the item itself: the first part of a
//!   stratum is the depth in the tree.
//! * A stratum is taken only when nothing of an earlier depth is under way. So it has met all work
//!   items that it will ever stand for.
//! * Random numbers are a function of how many were drawn before. So the same program gives the
//!   same estimate after the same number of runs.
//!
//! Deviation: the strata are made of depth, length of the schedule and place among siblings. Chen
//! leaves them to the application. The length tells where in the execution the last reversal is,
//! and thus how much of the execution is left for further ones. The place tells the same of
//! reversals with schedules of one length: those of a write with many reads have subtrees of very
//! different sizes.

use std::collections::{BTreeMap, VecDeque};

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_vocab::policy::mix;
use serde::{Deserialize, Serialize};

use super::WorkItem;
use super::schedule::{ScheduleLoader, ScheduleRow, ScheduleSaver};
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::scheduled;

/// The search makes so many runs before samples are taken: small searches end without any.
const FIRST: u64 = 4096;
/// One sample for so many runs of the search: in the first sweep, which gives the magnitude, in
/// those that make the estimate good, and in later ones, which tell little more.
const FIRST_SWEEP: u64 = 64;
const EARLY_SWEEPS: u64 = 128;
const LATER_SWEEPS: u64 = 256;
/// Sweeps after which an estimate is good.
const ENOUGH_SWEEPS: usize = 16;

/// Depth in the tree, length of the schedule, and place among siblings.
type Stratum = (u32, usize, i32);

/// Where a child is among so many that have schedules of the same length: far from both ends,
/// places are taken together. Subtrees often grow by a factor from one to the next.
fn place(index: usize, of: usize) -> i32 {
    let (behind, before) = ((index + 1).ilog2() as i32, (of - index).ilog2() as i32);
    if index < of - index { behind } else { -1 - before }
}

/// The work item that stands for its stratum, and for how many.
#[derive(Debug)]
struct Representative {
    item: WorkItem,
    weight: f64,
}

/// Samples of the tree of work items.
#[derive(Debug, Default)]
pub(super) struct TreeSampler {
    strata: BTreeMap<Stratum, Representative>,
    /// Depth and weight; oldest first.
    under_way: VecDeque<(WorkItem, u32, f64)>,
    /// The runs that the sweep under way has accounted for.
    swept: f64,
    /// What each finished sweep has accounted for.
    sweeps: Vec<f64>,
    samples: u64,
    drawn: u64,
}

/// The samples as they are saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SamplerRow {
    strata: Vec<(Stratum, ScheduleRow, f64)>,
    under_way: Vec<(ScheduleRow, u32, f64)>,
    swept: f64,
    sweeps: Vec<f64>,
    samples: u64,
    drawn: u64,
}

impl SamplerRow {
    pub fn save(&self, into: &mut Saver) {
        into.put(self);
    }
}

impl TreeSampler {
    /// As it is saved.
    pub fn row(&self, schedules: &mut ScheduleSaver) -> SamplerRow {
        let strata = self.strata.iter();
        SamplerRow {
            strata: strata.map(|(stratum, one)| (*stratum, schedules.row(&one.item.schedule), one.weight)).collect(),
            under_way: self.under_way.iter().map(|(item, d, w)| (schedules.row(&item.schedule), *d, *w)).collect(),
            swept: self.swept,
            sweeps: self.sweeps.clone(),
            samples: self.samples,
            drawn: self.drawn,
        }
    }

    /// The saved samples.
    pub fn load(from: &mut Loader<'_>, schedules: &ScheduleLoader) -> Result<Self, Unusable> {
        let row: SamplerRow = from.take()?;
        let item = |row| Ok(WorkItem { schedule: schedules.schedule(row)? });
        let strata = row
            .strata
            .into_iter()
            .map(|(stratum, row, weight)| item(row).map(|item| (stratum, Representative { item, weight })));
        let under_way = row.under_way.into_iter().map(|(row, depth, weight)| Ok((item(row)?, depth, weight)));
        Ok(TreeSampler {
            strata: strata.collect::<Result<_, Unusable>>()?,
            under_way: under_way.collect::<Result<_, Unusable>>()?,
            swept: row.swept,
            sweeps: row.sweeps,
            samples: row.samples,
            drawn: row.drawn,
        })
    }

    /// The next sample, if one is due after so many runs of the search.
    pub fn next(&mut self, runs: u64) -> Option<Request> {
        let share = match self.sweeps.len() {
            0 => FIRST_SWEEP,
            1..ENOUGH_SWEEPS => EARLY_SWEEPS,
            _ => LATER_SWEEPS,
        };
        if runs < FIRST || self.samples.saturating_mul(share) > runs {
            return None;
        }
        if self.strata.is_empty() && self.under_way.is_empty() {
            self.begin_sweep();
        }
        let entry = self.strata.first_entry()?;
        let (depth, ..) = *entry.key();
        if self.under_way.front().is_some_and(|&(_, earliest, _)| earliest < depth) {
            return None;
        }
        let Representative { item, weight } = entry.remove();
        let request = scheduled(item.schedule.clone().into_vec());
        self.under_way.push_back((item, depth, weight));
        self.samples += 1;
        Some(request)
    }

    fn begin_sweep(&mut self) {
        if self.swept > 0.0 {
            tracing::debug!(runs = self.swept, samples = self.samples, "sweep of the search tree");
            self.sweeps.push(self.swept);
        }
        self.swept = 0.0;
        self.strata.insert((0, 0, 0), Representative { item: WorkItem::default(), weight: 1.0 });
    }

    /// The work item of the oldest sample.
    pub fn oldest(&self) -> Option<&WorkItem> {
        self.under_way.front().map(|(item, ..)| item)
    }

    /// The oldest sample was run: these are its children.
    pub fn explored(&mut self, children: impl Iterator<Item = WorkItem>) {
        let Some((_, depth, weight)) = self.under_way.pop_front() else { return };
        self.swept += weight;
        let children: Vec<WorkItem> = children.collect();
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for item in &children {
            counts.entry(item.schedule.len()).or_default().1 += 1;
        }
        for item in children {
            let length = item.schedule.len();
            let (index, of) = counts.entry(length).or_default();
            let stratum = (depth.saturating_add(1), length, place(*index, *of));
            *index += 1;
            self.meet(stratum, item, weight);
        }
    }

    /// A work item of a stratum. It replaces the one that stands for the stratum with the
    /// probability of its share in the weight.
    fn meet(&mut self, stratum: Stratum, item: WorkItem, weight: f64) {
        let drawn = self.draw();
        match self.strata.get_mut(&stratum) {
            None => {
                self.strata.insert(stratum, Representative { item, weight });
            }
            Some(representative) => {
                representative.weight += weight;
                if drawn * representative.weight < weight {
                    representative.item = item;
                }
            }
        }
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.drawn = self.drawn.wrapping_add(1);
        (mix(self.drawn) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The number of runs of the whole search.
    pub fn estimate(&self) -> Estimate {
        Estimate::of_samples(&self.sweeps).unwrap_or(Estimate::at_least(self.swept))
    }
}
