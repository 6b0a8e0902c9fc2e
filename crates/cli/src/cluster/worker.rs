//! `raddle worker`: works on the searches of a server.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::PathBuf;

use raddle_cluster::worker::{self, Explore, Failure, TaskOutcome, Work};
use raddle_cluster::{ClusterError, ServerConnection};
use raddle_engine::Error;
use raddle_engine::distributed::{self, Explorer, SharedJob};
use raddle_exec::interrupt;
use raddle_exec::programs::programs_below;
use raddle_model::TargetError;
use tempfile::TempDir;

use super::args::WorkerArgs;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;

/// Runs the command.
pub fn run(args: &WorkerArgs) -> CommandResult {
    if args.programs.is_empty() && !args.fetch {
        let what = "a worker runs only what you let it run: name programs or directories of programs, or let it fetch \
                    any program that a search on the server names (--fetch)";
        return Err(CommandError(what.into()));
    }
    interrupt::install()?;
    let access = args.nats.access()?;
    let work = || -> Result<Work, CommandError> {
        let connection = ServerConnection::open(&access, "raddle worker", interrupt::requested)?;
        let directory = tempfile::tempdir()?;
        let mut local = Local { args, directory, job: None, explorer: None, program: PathBuf::new() };
        Ok(worker::run(&connection, args.once, &mut local)?)
    };
    let all: Vec<Work> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..args.jobs).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect::<Result<_, _>>()
    })?;
    if !args.quiet {
        let sum = |of: fn(&Work) -> f64| all.iter().map(of).sum::<f64>();
        let (runs, tasks) = (sum(|work| work.runs as f64), sum(|work| work.tasks as f64));
        let (busy, present) = (sum(|work| work.busy.as_secs_f64()), sum(|work| work.present.as_secs_f64()));
        let share = 100.0 * busy / present.max(1e-9);
        say(&format!("raddle: {runs} runs in {tasks} tasks, busy for {busy:.3} s, {share:.1}% of the time"));
    }
    Ok(exit_codes::FINE)
}

/// This machine.
struct Local<'a> {
    args: &'a WorkerArgs,
    /// For programs that were fetched, and input.
    directory: TempDir,
    job: Option<SharedJob>,
    program: PathBuf,
    explorer: Option<Explorer>,
}

impl Local<'_> {
    /// The program of a job: one that the user has named, or one that is fetched.
    fn find(
        &self,
        job: &SharedJob,
        fetch: &mut dyn FnMut(&mut dyn Write) -> Result<(), ClusterError>,
    ) -> Result<PathBuf, String> {
        if let Some(path) = programs_below(&self.args.programs).into_iter().find(|path| job.is_of(path)) {
            return Ok(path);
        }
        if !self.args.fetch {
            let named = self.args.programs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "the program that is searched is none of {named}: name it, or let it be fetched (--fetch)"
            ));
        }
        let path = self.directory.path().join(job.program());
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = std::fs::File::create(&path).map_err(wrong)?;
        fetch(&mut file).map_err(|error| error.to_string())?;
        file.sync_data().map_err(wrong)?;
        drop(file);
        if !job.is_of(&path) {
            let _ = std::fs::remove_file(&path);
            return Err("the program on the server is another one than the search names".into());
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).map_err(wrong)?;
        Ok(path)
    }

    /// What explores; started anew after a failure.
    fn explorer(&mut self) -> Result<&mut Explorer, Error> {
        let explorer = match (self.explorer.take(), &self.job) {
            (Some(explorer), _) => explorer,
            (None, Some(job)) => Explorer::start(job.clone(), &self.program, self.directory.path())?,
            (None, None) => return Err(distributed::Refused("no search has begun".into()).into()),
        };
        Ok(self.explorer.insert(explorer))
    }
}

impl Explore for Local<'_> {
    fn begin(
        &mut self,
        job: &[u8],
        fetch: &mut dyn FnMut(&mut dyn Write) -> Result<(), ClusterError>,
    ) -> Result<(), String> {
        let job = SharedJob::from_bytes(job).map_err(|error| error.to_string())?;
        self.program = self.find(&job, fetch)?;
        (self.job, self.explorer) = (Some(job), None);
        self.explorer().map(|_| ()).map_err(|error| error.to_string())
    }

    fn explore(
        &mut self,
        work: &[u8],
        pieces: usize,
        room: usize,
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<TaskOutcome, Failure> {
        let explored = self.explorer().and_then(|explorer| explorer.explore(work, pieces, room, may_go_on));
        match explored {
            Ok(distributed::Explored { result, rest, runs }) => Ok(TaskOutcome { result, rest, runs }),
            Err(error) => {
                // The target may be in the middle of something.
                self.explorer = None;
                match error {
                    Error::Target(TargetError::Interrupted) => Err(Failure::Interrupted),
                    error => Err(Failure::Failed(error.to_string())),
                }
            }
        }
    }

    fn lost(&self, reason: &str) -> Vec<u8> {
        distributed::lost(reason)
    }

    fn say(&mut self, text: &str) {
        if !self.args.quiet {
            say(&format!("raddle: {text}"));
        }
    }
}
