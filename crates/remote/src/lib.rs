//! Messages between two processes over a connection that may break.
//!
//! One side listens ([`server`]), the other connects ([`client`]), directly or through `ssh`. Who
//! connects shows a token first. From then on each side sends messages, which the other one gets in
//! order, each exactly once: a side keeps what it has sent until the other one says that it has it,
//! and sends it again over the next connection ([`channel`]). What the messages mean is no concern
//! of this crate.
//!
//! Nothing is encrypted here. That is left to `ssh`.
#![forbid(unsafe_code)]

pub mod address;
pub mod channel;
pub mod client;
pub mod frame;
mod handshake;
pub mod server;
mod stream;
pub mod token;

use std::time::Duration;

pub use address::AgentAddress;
pub use channel::{Channel, Incoming};
pub use client::AgentEndpoint;
pub use server::{Server, ServerLimits};
pub use token::Token;

/// Text of the other side without the signs that a terminal would obey.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|sign| if sign.is_control() { '?' } else { sign }).collect()
}

/// How long the sides wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A side that has heard nothing for so long asks for a sign of life.
    pub heartbeat: Duration,
    /// A connection on which nothing was heard for so long is given up.
    pub silence: Duration,
    /// How long one side tries, or waits, for a new connection in place of one that broke.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(15),
            patience: Duration::from_secs(60),
        }
    }
}

/// Why there is no connection, or none any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The address makes no sense.
    #[error("`{0}` is no address of an agent: give ssh:HOST, ssh:HOST:PORT or tcp:HOST:PORT")]
    Address(String),
    /// No connection.
    #[error("the agent at {0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// The agent does not want to talk to us.
    #[error("the agent at {0} refuses: {1}")]
    Refused(String, String),
    /// The agent does not know the session: it was started again.
    #[error("the agent at {0} was started again")]
    Forgotten(String),
}
