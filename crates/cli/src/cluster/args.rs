//! The words of `coordinate`, `worker` and `status`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use raddle_cluster::ServerAccess;
use raddle_exec::remote::TOKEN_VARIABLE;

use crate::args::CheckArgs;
use crate::error::CommandError;

/// How a server is reached. Secrets come from the environment, where other users do not see them.
#[derive(Clone, Debug, Args)]
#[command(after_help = CREDENTIALS)]
pub struct NatsArgs {
    /// Address of a NATS server with JetStream: nats://HOST:4222 or tls://HOST:4222 [default:
    /// NATS_URL]
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// File with the credentials of a user (JWT and key) [default: NATS_CREDS]
    #[arg(long, value_name = "FILE")]
    pub creds: Option<PathBuf>,
    /// File with the seed of a key [default: NATS_NKEY]
    #[arg(long, value_name = "FILE")]
    pub nkey: Option<PathBuf>,
    /// Certificates to trust [default: NATS_CA, or those of the system]
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Certificate to show to the server [default: NATS_CERT]
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Key of that certificate [default: NATS_KEY]
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

const CREDENTIALS: &str = "\
Credentials come from the variables that the `nats` command reads: NATS_URL, NATS_USER and NATS_PASSWORD, NATS_TOKEN,
NATS_CREDS, NATS_NKEY, NATS_CA, NATS_CERT, NATS_KEY. They are written nowhere, and programs do not get them.";

impl NatsArgs {
    /// How to reach the server.
    ///
    /// # Errors
    /// If no server is named.
    pub fn access(&self) -> Result<ServerAccess, CommandError> {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = |given: &Option<PathBuf>, name: &str| given.clone().or_else(|| text(name).map(PathBuf::from));
        let url = self.nats.clone().or_else(|| text("NATS_URL"));
        let url = url.ok_or_else(|| CommandError("name a NATS server: --nats nats://HOST:4222".into()))?;
        let certificate = match (path(&self.tls_cert, "NATS_CERT"), path(&self.tls_key, "NATS_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(CommandError("--tls-cert and --tls-key go together".into())),
        };
        Ok(ServerAccess {
            url,
            user: text("NATS_USER"),
            password: text("NATS_PASSWORD"),
            token: text("NATS_TOKEN"),
            credentials: path(&self.creds, "NATS_CREDS"),
            nkey: path(&self.nkey, "NATS_NKEY"),
            authority: path(&self.tls_ca, "NATS_CA"),
            certificate,
        })
    }
}

/// `raddle coordinate`.
#[derive(Clone, Debug, Args)]
pub struct CoordinateArgs {
    /// The server
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Give this variable to the program, too: NAME or NAME=VALUE (it has HOME, LANG, LC_*, PATH,
    /// TZ, USER)
    #[arg(long, value_name = "NAME[=VALUE]", action = clap::ArgAction::Append)]
    pub pass_env: Vec<OsString>,
    /// Give the task of a worker that was not heard of for so many seconds to another one
    #[arg(long, value_name = "S", default_value = "10", value_parser = crate::args::seconds)]
    pub lease: f64,
    /// Let a worker explore a task for so many seconds before it divides what is left
    #[arg(long, value_name = "S", default_value = "1", value_parser = crate::args::seconds)]
    pub share: f64,
    /// Servers that keep a copy of the search
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub replicas: u8,
    /// The check
    #[command(flatten)]
    pub check: CheckArgs,
}

/// `raddle worker`.
#[derive(Clone, Debug, Args)]
pub struct WorkerArgs {
    /// The server
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Programs that may be run, and directories of such programs
    #[arg(value_name = "PROG|DIR")]
    pub programs: Vec<PathBuf>,
    /// Run any program that a search names: it is fetched from the server
    #[arg(long)]
    pub fetch: bool,
    /// End when a search is over
    #[arg(long)]
    pub once: bool,
    /// Processors to use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: u32,
    /// Print nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

/// `raddle status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// The server
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Whether a variable lets processes into a server: no program gets it.
pub fn is_secret(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("NATS_") || name == TOKEN_VARIABLE
}
