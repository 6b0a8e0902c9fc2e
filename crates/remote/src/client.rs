//! The side that connects, and connects again.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::channel::{Channel, Ending, Shared};
use crate::handshake::{Answer, Hello, SessionId, greet};
use crate::stream::Stream;
use crate::{AgentAddress, LinkError, Timing, Token};

/// How long the other side may take for its first words.
const GREETING: Duration = Duration::from_secs(20);
/// The time between two attempts at a connection, at first and at last.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Where an agent is, and what it lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEndpoint {
    /// Where it is.
    pub address: AgentAddress,
    /// What it lets in.
    pub token: Token,
    /// How long to wait for it.
    pub timing: Timing,
}

/// A connection on which both sides have said their first words.
struct Greeted {
    stream: Stream,
    session: SessionId,
    /// What the other side has received.
    received: u64,
}

/// Why one attempt at a connection failed.
enum Failed {
    /// Another attempt would fail, too.
    ForGood(LinkError),
    ForNow(String),
}

impl AgentEndpoint {
    /// Begins a session. An agent that cannot be reached is tried again for so long; messages from
    /// it may have so many bytes.
    ///
    /// # Errors
    /// If there is no connection, or the agent refuses.
    pub fn open(&self, patience: Duration, longest: usize, stop: fn() -> bool) -> Result<Channel, LinkError> {
        let shared = Arc::new(Shared::new(longest));
        let greeted = self.try_for(patience, [0; 16], 0, &stop)?;
        let (sender, inbox) = channel();
        let (endpoint, ours) = (self.clone(), Arc::clone(&shared));
        thread::spawn(move || endpoint.keep_connected(greeted, &ours, &sender));
        Ok(Channel::new(shared, inbox))
    }

    fn connect(&self, session: SessionId, received: u64) -> Result<Greeted, Failed> {
        let name = || self.address.to_string();
        let attempt = Stream::open(&self.address).and_then(|mut stream| {
            let answer = greet(&mut stream, &Hello::new(&self.token, session, received), GREETING)?;
            Ok((stream, answer))
        });
        match attempt {
            Ok((stream, Answer::Welcome { session, received })) => Ok(Greeted { stream, session, received }),
            Ok((_, Answer::Refused(why))) => Err(Failed::ForGood(LinkError::Refused(name(), why))),
            Ok((_, Answer::Forgotten)) => Err(Failed::ForGood(LinkError::Forgotten(name()))),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(Failed::ForNow("the connection was closed at once".into()))
            }
            Err(error) => Err(Failed::ForNow(error.to_string())),
        }
    }

    fn try_for(
        &self,
        patience: Duration,
        session: SessionId,
        received: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Greeted, LinkError> {
        let begun = Instant::now();
        let [mut pause, longest] = PAUSES;
        loop {
            let why = match self.connect(session, received) {
                Ok(greeted) => return Ok(greeted),
                Err(Failed::ForGood(error)) => return Err(error),
                Err(Failed::ForNow(why)) => why,
            };
            tracing::debug!(address = %self.address, why, "no connection");
            if begun.elapsed() >= patience || stop() {
                return Err(LinkError::Unreachable(self.address.to_string(), why));
            }
            thread::sleep(pause);
            pause = (2 * pause).min(longest);
        }
    }

    /// Reads from one connection after the other until all is over.
    fn keep_connected(&self, mut greeted: Greeted, shared: &Arc<Shared>, inbox: &Sender<Vec<u8>>) {
        loop {
            let Greeted { mut stream, session, received } = greeted;
            // Beside reading: the other side may have much to send again, too.
            let attached = stream.try_clone().map(|clone| {
                let shared = Arc::clone(shared);
                thread::spawn(move || shared.attach(clone, received))
            });
            let why = shared.read(&mut stream, &self.timing, &mut |message| inbox.send(message).is_ok());
            stream.shut_down();
            if let Ok(Ok(Err(error))) = attached.map(thread::JoinHandle::join) {
                let what = LinkError::Unreachable(self.address.to_string(), error.to_string());
                shared.end(Ending::Lost(what), "what was said makes no sense");
            }
            shared.detach();
            tracing::debug!(address = %self.address, %why, "the connection ended");
            if shared.ended().is_some() {
                return;
            }
            let is_over = || shared.ended().is_some();
            match self.try_for(self.timing.patience, session, shared.received(), &is_over) {
                Ok(again) => greeted = again,
                Err(error) => return shared.end(Ending::Lost(error), ""),
            }
        }
    }
}
