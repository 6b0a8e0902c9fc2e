//! `raddle coordinate`: a check whose search workers make.

use std::path::Path;
use std::time::Duration;

use raddle_cluster::ServerConnection;
use raddle_cluster::coordinator::{self, Search, Take};
use raddle_engine::Crew;
use raddle_engine::distributed::{Elsewhere, SharedJob, Taken, Taker};
use raddle_exec::interrupt;

use super::args::{CoordinateArgs, is_secret};
use crate::check;
use crate::error::{CommandError, CommandResult, say};

/// Runs the command.
pub fn run(args: &CoordinateArgs) -> CommandResult {
    let check = &args.check;
    if check.gtest || check.checkpoint.is_some() || check.jobs.is_some() {
        let what = "--gtest, --checkpoint and --jobs do not go with coordinate: workers search, and the server keeps \
                    the search";
        return Err(CommandError(what.into()));
    }
    args.check.target.remote.accept(&[(true, "`raddle coordinate`")])?;
    if let Some(secret) = args.pass_env.iter().find(|word| is_secret(word)) {
        let name = secret.to_string_lossy();
        let name = name.split('=').next().unwrap_or_default();
        return Err(CommandError(format!("{name} lets processes into the server: programs do not get it")));
    }
    interrupt::install()?;
    let connection = ServerConnection::open(&args.nats.access()?, "raddle coordinator", interrupt::requested)?;
    let server = Server {
        connection,
        lease: Duration::from_secs_f64(args.lease),
        share: Duration::from_secs_f64(args.share),
        replicas: args.replicas.into(),
        quiet: check.shown.quiet,
        job: None,
    };
    let report =
        check::check_with(check, check::How::default(), |checker| checker.elsewhere(Box::new(server), &args.pass_env))?;
    Ok(check::status(&report))
}

/// Workers, by way of a server.
struct Server {
    connection: ServerConnection,
    lease: Duration,
    share: Duration,
    replicas: usize,
    quiet: bool,
    /// The job under way.
    job: Option<Vec<u8>>,
}

impl Elsewhere for Server {
    fn explore(&mut self, job: &SharedJob, file: &Path, taker: &mut dyn Taker) -> Result<bool, String> {
        let bytes = job.to_bytes();
        let program = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        self.job = Some(bytes.clone());
        let search = Search {
            job: bytes,
            name: job.name().into(),
            program,
            work: SharedJob::whole(),
            lease: self.lease,
            share: self.share,
            replicas: self.replicas,
        };
        if !self.quiet {
            say("raddle: waiting for workers (`raddle worker` with the same server)");
        }
        let mut take = Bridge { taker };
        coordinator::run(&self.connection, &search, &mut take).map_err(|error| error.to_string())
    }

    fn forget(&mut self) {
        if let Some(job) = self.job.take()
            && let Err(error) = coordinator::forget(&self.connection, &job)
        {
            say(&format!("raddle: the search was not removed from the server: {error}"));
        }
    }
}

/// From what the server says to what the check understands.
struct Bridge<'a> {
    taker: &'a mut dyn Taker,
}

impl Take for Bridge<'_> {
    fn take(&mut self, result: &[u8]) -> coordinator::ResultTaken {
        match self.taker.take(result) {
            Taken::Counted => coordinator::ResultTaken::Counted,
            Taken::Refused(why) => coordinator::ResultTaken::Refused(why),
            Taken::Enough => coordinator::ResultTaken::Enough,
        }
    }

    fn wait(&mut self, workers: u64, done: u64, open: u64) -> Option<(u64, Option<f64>)> {
        self.taker.wait(Crew { workers, done, open })
    }

    fn say(&mut self, text: &str) {
        say(&format!("raddle: {text}"));
    }
}
