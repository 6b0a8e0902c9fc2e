//! What is a scheduling point and what reads may see, on the command line.

use clap::ValueEnum;
use raddle_model::weak::MemoryModel;

/// What reads may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MemoryArg {
    /// The last store: sequential consistency
    #[default]
    Sc,
    /// Stores may be delayed, as on x86
    Tso,
    /// What C11 and C++11 allow, but for values out of thin air and load buffering
    Rc11,
}

impl From<MemoryArg> for MemoryModel {
    fn from(arg: MemoryArg) -> Self {
        match arg {
            MemoryArg::Sc => MemoryModel::Sc,
            MemoryArg::Tso => MemoryModel::Tso,
            MemoryArg::Rc11 => MemoryModel::Rc11,
        }
    }
}

/// What is a scheduling point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GranularityArg {
    /// Synchronising operations
    #[default]
    Sync,
    /// Shared accesses as well
    Access,
}

impl From<GranularityArg> for raddle_exec::Granularity {
    fn from(name: GranularityArg) -> Self {
        match name {
            GranularityArg::Sync => raddle_exec::Granularity::Sync,
            GranularityArg::Access => raddle_exec::Granularity::Access,
        }
    }
}
