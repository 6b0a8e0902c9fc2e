//! A connection: to a socket, or to a process `ssh` that passes it on.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::AgentAddress;

/// How long the system may take to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Both directions of a connection. Clones are the same connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    /// The other end is standard input and output of a process.
    Process(UnixStream, Arc<Passer>),
}

/// A process that passes a connection on. It ends with it.
#[derive(Debug)]
pub(crate) struct Passer(Mutex<Child>);

impl Drop for Passer {
    fn drop(&mut self) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Stream {
    pub(crate) fn open(address: &AgentAddress) -> io::Result<Self> {
        match address {
            AgentAddress::Tcp { host, port } => {
                let mut last = io::Error::other("the name has no address");
                for place in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&place, CONNECT_TIME) {
                        Ok(stream) => return Self::tcp(stream),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            AgentAddress::Ssh { host, port } => {
                let (own, other) = UnixStream::pair()?;
                let (input, output) = (OwnedFd::from(other.try_clone()?), OwnedFd::from(other));
                let mut command = Command::new("ssh");
                // It must not ask for a password on the terminal that shows the progress of a
                // search.
                command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-W"]);
                command.arg(format!("127.0.0.1:{port}")).arg("--").arg(host);
                let child = command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::inherit());
                let child = child.spawn().map_err(|error| io::Error::other(format!("ssh does not start: {error}")))?;
                Ok(Stream::Process(own, Arc::new(Passer(Mutex::new(child)))))
            }
        }
    }

    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        // A batch must not wait for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        Ok(Stream::Tcp(stream))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Process(stream, passer) => Stream::Process(stream.try_clone()?, Arc::clone(passer)),
        })
    }

    pub(crate) fn set_timeouts(&self, read: Duration, write: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(read)).and_then(|()| stream.set_write_timeout(Some(write)))
            }
            Stream::Process(stream, _) => {
                stream.set_read_timeout(Some(read)).and_then(|()| stream.set_write_timeout(Some(write)))
            }
        }
    }

    /// Says nothing more. What the other side says can still be read.
    pub(crate) fn finish(&self) {
        // It may have ended before.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Process(stream, _) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Ends the connection for all clones.
    pub(crate) fn shut_down(&self) {
        // It may have ended before.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Process(stream, _) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Process(stream, _) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Process(stream, _) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
