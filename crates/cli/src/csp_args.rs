//! Arguments of `raddle csp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{positive, seconds};
use crate::values::size;

/// `raddle csp`.
#[derive(Debug, Subcommand)]
pub enum CspCommand {
    /// Check the assertions of a CSPm file: exit status 0 all hold, 1 some fail, 2 the file is
    /// wrong, 3 a budget ended
    Check(CspCheckArgs),
    /// Draw the labelled transition system of a process as a graph for Graphviz (DOT): exit status
    /// 0 it is whole, 2 the file is wrong, 3 it was cut, or a limit was reached
    Draw(CspDrawArgs),
}

/// `raddle csp check`.
#[derive(Debug, Args)]
pub struct CspCheckArgs {
    /// A script in CSPm
    #[arg(value_name = "MODEL.csp")]
    pub file: PathBuf,
    /// States that one assertion may need
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = positive())]
    pub max_states: u64,
    /// What stops the command
    #[command(flatten)]
    pub limits: CspLimits,
}

/// `raddle csp draw`.
#[derive(Debug, Args)]
pub struct CspDrawArgs {
    /// A script in CSPm
    #[arg(value_name = "MODEL.csp")]
    pub file: PathBuf,
    /// The process, as CSPm: a name, or what else an assertion could name [default: the process of
    /// the first assertion]
    #[arg(long, value_name = "PROCESS", allow_hyphen_values = true)]
    pub process: Option<String>,
    /// States that are drawn, those nearest to the first
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = positive())]
    pub max_states: u64,
    /// What stops the command
    #[command(flatten)]
    pub limits: CspLimits,
    /// Write the graph there instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What stops a command for models.
#[derive(Debug, Args)]
pub struct CspLimits {
    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Stop when raddle uses so much memory (500M, 2G)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory_limit: Option<u64>,
}
