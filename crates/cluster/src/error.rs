//! What can go wrong between processes: sentences for the user.

/// Why a search cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The server's address makes no sense.
    #[error("{0}: this is no address of a NATS server: it looks like nats://HOST:4222 or tls://HOST:4222")]
    Address(String),
    /// A file with credentials cannot be used.
    #[error("{path}: {what}")]
    Credentials {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// The server lets the client not in.
    #[error(
        "{0}: the NATS server refuses the credentials: give them in NATS_CREDS, NATS_NKEY, NATS_TOKEN, or NATS_USER \
         and NATS_PASSWORD, or in the address"
    )]
    Refused(String),
    /// The server cannot be reached.
    #[error("{address}: the NATS server cannot be reached ({what})")]
    Unreachable {
        /// Its address.
        address: String,
        /// What the client says.
        what: String,
    },
    /// The server has no streams.
    #[error("{0}: the NATS server has no JetStream: start it with `nats-server --jetstream`")]
    NoJetStream(String),
    /// The server did not do what it was asked for.
    #[error("the NATS server does not {what} ({why})")]
    Server {
        /// What it was to do.
        what: &'static str,
        /// What the client says.
        why: String,
    },
    /// The search is gone: it was finished, or removed.
    #[error("the search is not on the server any more: another coordinator has finished it, or it was removed")]
    Gone,
    /// There is a search that this process cannot take part in.
    #[error("{0}")]
    Unfit(String),
}
