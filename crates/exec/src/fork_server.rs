//! Targets with equal addresses where the system does not let address randomisation be switched
//! off, as in many containers. The program is started once and waits in raddle's runtime before its
//! own constructors. Each target is a fork of it, so that all have the addresses of the first.
//!
//! Another raddle has other addresses. Recordings name things by other means, so that they can be
//! replayed there.

use std::ffi::OsString;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use raddle_wire::ENV_SERVER;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, Signal};

use crate::orphans;

/// The server of all targets with clones of the same options; none until it is needed.
#[derive(Clone, Debug, Default)]
pub struct SharedForkServer(Arc<Mutex<Option<ForkServer>>>);

impl SharedForkServer {
    /// Makes a target with these files as its own: the shared one, standard input, output and
    /// error. The server is started by `start`, or again if the one that runs is for another
    /// command.
    ///
    /// # Errors
    /// If the program does not get as far as the runtime.
    pub(crate) fn fork(
        &self,
        wanted: &StartedCommand,
        files: [BorrowedFd<'_>; 4],
        patience: Duration,
        start: impl FnOnce() -> io::Result<ForkServer>,
    ) -> io::Result<Pid> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if server.as_ref().is_none_or(|server| server.command != *wanted) {
            *server = None;
        }
        let running = match &mut *server {
            Some(running) => running,
            none => none.insert(start()?),
        };
        let forked = running.fork(files, patience);
        if forked.is_err() {
            // It is lost, or of no use.
            *server = None;
        }
        forked
    }
}

/// What a server was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartedCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub directory: Option<PathBuf>,
    pub runtime: Option<PathBuf>,
}

/// A program that waits to be forked.
#[derive(Debug)]
pub(crate) struct ForkServer {
    command: StartedCommand,
    child: Child,
    socket: UnixStream,
    /// An entry in the environment of each process.
    mark: OsString,
    /// What has to stay while it runs.
    _kept: Option<tempfile::TempDir>,
}

impl ForkServer {
    /// Starts a command as server. `prepare` gets the descriptor that the program has to inherit.
    pub(crate) fn start(
        started: StartedCommand,
        mut command: Command,
        kept: Option<tempfile::TempDir>,
        prepare: impl FnOnce(&mut Command, i32),
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let number = theirs.as_raw_fd();
        let mut mark = OsString::from(ENV_SERVER);
        mark.push(format!("={number}"));
        command.env(ENV_SERVER, number.to_string()).process_group(0);
        prepare(&mut command, number);
        orphans::become_subreaper();
        let child = orphans::register(|| command.spawn(), |child| child.id() as i32)?;
        Ok(ForkServer { command: started, child, socket, mark, _kept: kept })
    }

    /// A new target, which is a child of this process.
    fn fork(&mut self, files: [BorrowedFd<'_>; 4], patience: Duration) -> io::Result<Pid> {
        let host = rustix::process::getpid().as_raw_nonzero().get().to_ne_bytes();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        self.socket.set_read_timeout(Some(patience))?;
        let socket = &mut self.socket;
        let answer = orphans::register(
            || {
                rustix::net::sendmsg(socket.as_fd(), &[IoSlice::new(&host)], &mut ancillary, SendFlags::NOSIGNAL)?;
                let mut answer = [0; 4];
                socket.read_exact(&mut answer)?;
                Ok::<i32, io::Error>(i32::from_ne_bytes(answer))
            },
            |&pid| pid,
        )?;
        let failed = || io::Error::other("the program cannot be forked");
        Pid::from_raw(answer).filter(|_| answer > 0).ok_or_else(failed)
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
        orphans::sweep(pid.as_raw_nonzero().get(), &self.mark);
    }
}
