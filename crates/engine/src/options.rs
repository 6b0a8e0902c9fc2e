//! What a check is asked to do.

use std::time::Duration;

use raddle_exec::Granularity;
use raddle_model::weak::MemoryModel;
use raddle_report::suppress::Suppressions;

use crate::frameworks::Framework;
use crate::unseen::Trust;

/// Bound on the events of a run unless the caller sets another one.
pub const DEFAULT_MAX_EVENTS: u64 = 20_000_000;

/// Search strategies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrategyName {
    /// A few runs of `optimal`, a few samples, then `stateful`; `optimal` again where that does not
    /// pay.
    #[default]
    Auto,
    /// Each class of equivalent schedules exactly once.
    Optimal,
    /// Dynamic partial-order reduction that recognises states.
    Stateful,
    /// Dynamic partial-order reduction with sleep sets.
    Dpor,
    /// Data races only, with pruning by locksets.
    Pdp,
    /// Data races only, with pruning by thread states.
    Dhtc,
    /// Random schedules.
    Random,
    /// Random priorities with few changes.
    Pct,
    /// Partial-order sampling.
    Pos,
    /// Every schedule, one by one.
    Dfs,
}

impl StrategyName {
    /// The name in reports and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            StrategyName::Auto => "auto",
            StrategyName::Optimal => "optimal",
            StrategyName::Stateful => "stateful",
            StrategyName::Dpor => "dpor",
            StrategyName::Pdp => "pdp",
            StrategyName::Dhtc => "dhtc",
            StrategyName::Random => "random",
            StrategyName::Pct => "pct",
            StrategyName::Pos => "pos",
            StrategyName::Dfs => "dfs",
        }
    }

    /// The option that asks for it.
    fn option(self) -> &'static str {
        match self {
            StrategyName::Auto => "--strategy auto",
            StrategyName::Optimal => "--strategy optimal",
            StrategyName::Stateful => "--strategy stateful",
            StrategyName::Dpor => "--strategy dpor",
            StrategyName::Pdp => "--strategy pdp",
            StrategyName::Dhtc => "--strategy dhtc",
            StrategyName::Random => "--strategy random",
            StrategyName::Pct => "--strategy pct",
            StrategyName::Pos => "--strategy pos",
            StrategyName::Dfs => "--strategy dfs",
        }
    }

    /// Whether it leaves out schedules without a data race.
    #[must_use]
    pub fn prunes(self) -> bool {
        matches!(self, StrategyName::Pdp | StrategyName::Dhtc)
    }

    /// Whether it samples, and so would go on for ever without a bound.
    #[must_use]
    pub fn samples(self) -> bool {
        matches!(self, StrategyName::Random | StrategyName::Pct | StrategyName::Pos)
    }

    /// Whether several targets can share the search: no run may depend on what the target has
    /// learnt in others.
    #[must_use]
    pub fn can_share(self) -> bool {
        match self {
            StrategyName::Auto
            | StrategyName::Optimal
            | StrategyName::Random
            | StrategyName::Pct
            | StrategyName::Pos => true,
            StrategyName::Stateful
            | StrategyName::Dpor
            | StrategyName::Dfs
            | StrategyName::Pdp
            | StrategyName::Dhtc => false,
        }
    }
}

/// What is seen of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observe {
    /// Calls of the C library, as in programs that were not built with raddle.
    Sync,
    /// Memory accesses and atomic operations, too.
    All,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Everything.
    All,
    /// Data races.
    Race,
    /// Failed assertions, and nothing else.
    Reach,
}

impl Property {
    /// The name in reports and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Property::All => "all",
            Property::Race => "race",
            Property::Reach => "reach",
        }
    }
}

/// The name of a granularity in reports and on the command line.
#[must_use]
pub fn granularity_word(granularity: Granularity) -> &'static str {
    match granularity {
        Granularity::Sync => "sync",
        Granularity::Access => "access",
    }
}

/// What a check is asked to do.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// How to search.
    pub strategy: StrategyName,
    /// What is a scheduling point.
    pub granularity: Granularity,
    /// What to look for; `None` for what the strategy is made for.
    pub property: Option<Property>,
    /// What reads may see.
    pub memory: MemoryModel,
    /// Whether the first error ends the search.
    pub stop_at_first: bool,
    /// Bound on executions.
    pub max_executions: Option<u64>,
    /// Bound on the events of each run.
    pub max_events: u64,
    /// Bound on time.
    pub time_limit: Option<Duration>,
    /// Bound on the preemptions of a schedule.
    pub preemptions: Option<u32>,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
    /// Processors to use; `None` for all.
    pub jobs: Option<usize>,
    /// Start of the pseudo-random sequence.
    pub seed: u64,
    /// Bytes in which a search remembers states, roughly; `None` for a quarter of the free memory.
    pub cache: Option<u64>,
    /// Every so many executions, raddle checks itself on one.
    pub self_check: Option<u64>,
    /// Whether a warning makes the verdict a bug.
    pub warnings_are_errors: bool,
    /// Statuses beside 0 that the program may exit with.
    pub allowed_exits: Vec<i32>,
    /// The test framework that the program uses, and whose words findings show.
    pub framework: Option<Framework>,
    /// What the user says about code without hooks.
    pub trust: Trust,
    /// What not to report.
    pub suppressions: Suppressions,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions {
            strategy: StrategyName::default(),
            granularity: Granularity::default(),
            property: None,
            memory: MemoryModel::Sc,
            stop_at_first: false,
            max_executions: None,
            max_events: DEFAULT_MAX_EVENTS,
            time_limit: None,
            preemptions: None,
            spurious: 0,
            jobs: None,
            seed: 0,
            cache: None,
            self_check: None,
            warnings_are_errors: false,
            allowed_exits: Vec::new(),
            framework: None,
            trust: Trust::default(),
            suppressions: Suppressions::default(),
        }
    }
}

/// Options that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A pruning strategy was asked to look for everything.
    #[error(
        "--strategy {} looks for data races only and would miss the rest: use --property race, or another strategy",
        .0.word()
    )]
    PruningMisses(StrategyName),
    /// A sampling strategy was given a bound on preemptions.
    #[error("--preemptions goes with --strategy auto, optimal, stateful, dpor or dfs: a sample has no such bound")]
    BoundedSample,
    /// A pruning strategy was given a bound on preemptions.
    #[error("--preemptions goes with --strategy auto, optimal, stateful, dpor or dfs: pruning looks at whole searches")]
    BoundedPruning,
    /// Something that does not go with a memory model weaker than sequential consistency.
    #[error("{0} does not go with --memory {word}: it is made for sequential consistency", word = .1.word())]
    NeedsSc(&'static str, MemoryModel),
    /// A search that cannot be shared by several processes was to be.
    #[error(
        "{0} cannot be shared by several machines: leave it out (what is shared is --strategy optimal, without bounds \
         on preemptions)"
    )]
    NotShared(&'static str),
    /// Something that needs the memory accesses of a program without hooks.
    #[error(
        "{0} needs the memory accesses of the program, which was not built with raddle: compile and link it with \
         `raddle cc` or `raddle c++`"
    )]
    NeedsAccesses(&'static str),
}

impl CheckOptions {
    /// What is looked for.
    #[must_use]
    pub fn property(&self) -> Property {
        let default = if self.strategy.prunes() { Property::Race } else { Property::All };
        self.property.unwrap_or(default)
    }

    /// Processors to use: all that there are, unless the options say otherwise.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Refuses options that contradict each other.
    ///
    /// # Errors
    /// Which ones.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if self.strategy.prunes() && self.property() != Property::Race {
            return Err(OptionsError::PruningMisses(self.strategy));
        }
        if self.preemptions.is_some() && self.strategy.samples() {
            return Err(OptionsError::BoundedSample);
        }
        if self.preemptions.is_some() && self.strategy.prunes() {
            return Err(OptionsError::BoundedPruning);
        }
        self.validate_memory()
    }

    /// Refuses options that only sequential consistency goes with.
    fn validate_memory(&self) -> Result<(), OptionsError> {
        let refused = (self.strategy != StrategyName::Auto).then(|| self.strategy.option());
        let refused = refused
            .or(self.preemptions.map(|_| "--preemptions"))
            .or(self.self_check.map(|_| "--self-check"))
            .or((self.spurious > 0).then_some("--spurious"))
            .or((self.granularity == Granularity::Access).then_some("--granularity access"));
        match refused {
            Some(option) if self.memory.is_weak() => Err(OptionsError::NeedsSc(option, self.memory)),
            _ => Ok(()),
        }
    }

    /// Refuses options that a search by several processes cannot be made with.
    ///
    /// # Errors
    /// Which one.
    pub fn validate_for_sharing(&self) -> Result<(), OptionsError> {
        let is_shared = matches!(self.strategy, StrategyName::Auto | StrategyName::Optimal);
        let refused = (!is_shared).then(|| self.strategy.option());
        let bounded = self.preemptions.map(|_| "--preemptions");
        let checked = self.self_check.map(|_| "--self-check");
        let stopped = self.stop_at_first.then_some("--stop-at-first");
        let weak = self.memory.is_weak().then_some("--memory");
        refused
            .or(weak)
            .or(bounded)
            .or(checked)
            .or(stopped)
            .map_or(Ok(()), |option| Err(OptionsError::NotShared(option)))
    }

    /// Refuses options that a program without hooks cannot be checked with.
    ///
    /// # Errors
    /// Which one.
    pub fn validate_for_calls(&self, is_observed: bool) -> Result<(), OptionsError> {
        let refused = match self.strategy {
            _ if self.memory.is_weak() => Some("--memory"),
            StrategyName::Pdp => Some("--strategy pdp"),
            StrategyName::Dhtc => Some("--strategy dhtc"),
            // States are compared by what compiled code with hooks keeps alive.
            StrategyName::Stateful => Some("--strategy stateful"),
            _ if self.granularity == Granularity::Access => Some("--granularity access"),
            _ if self.property() == Property::Race && !is_observed => Some("--property race"),
            _ => None,
        };
        refused.map_or(Ok(()), |option| Err(OptionsError::NeedsAccesses(option)))
    }
}
