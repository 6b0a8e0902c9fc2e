//! One search by many machines: `raddle coordinate`, `raddle worker` and `raddle status`.

pub mod args;
mod coordinate;
mod status;
mod worker;

use raddle_cluster::ClusterError;

use crate::error::CommandError;

pub use coordinate::run as coordinate;
pub use status::run as status;
pub use worker::run as work;

impl From<ClusterError> for CommandError {
    fn from(error: ClusterError) -> Self {
        CommandError(error.to_string())
    }
}
