//! The side that listens.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::channel::{Channel, Ending, Shared};
use crate::handshake::{Answer, Hello, SessionId, answer, hear};
use crate::stream::Stream;
use crate::{LinkError, Timing, Token, token};

/// How long a connection may take for its first words.
const GREETING: Duration = Duration::from_secs(5);
/// Connections that may be saying their first words at the same time.
const MOST_GREETING: usize = 32;
/// Messages that wait for whom they are for. Then no more are read.
const MOST_WAITING: usize = 64;
/// The time between two looks at the listening socket.
const PAUSE: Duration = Duration::from_millis(5);
/// The time between two looks at all sessions.
const SWEEP: Duration = Duration::from_millis(200);
/// How long sessions may take to end.
const END_TIME: Duration = Duration::from_secs(3);

/// What sessions may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Sessions at the same time.
    pub sessions: usize,
    /// How long one may last.
    pub time: Option<Duration>,
    /// Bytes of a message.
    pub longest: usize,
    /// How long to wait for the other side.
    pub timing: Timing,
}

/// What serves a session, in a thread of its own.
pub type Handler = dyn Fn(Channel) + Send + Sync;

/// A listening socket.
pub struct Server {
    listener: TcpListener,
    state: Arc<State>,
}

struct State {
    token: Token,
    limits: ServerLimits,
    handler: Box<Handler>,
    sessions: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    greeting: AtomicUsize,
}

struct Session {
    shared: Arc<Shared>,
    inbox: SyncSender<Vec<u8>>,
    began: Instant,
    /// Held by the thread that reads.
    reading: Mutex<()>,
    /// Since when there is no connection.
    alone: Mutex<Option<Instant>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Listens there. Who shows the token is served by `handler`.
    ///
    /// # Errors
    /// If the system refuses the address.
    pub fn listen(at: SocketAddr, token: Token, limits: ServerLimits, handler: Box<Handler>) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let (sessions, greeting) = (Mutex::default(), AtomicUsize::new(0));
        Ok(Server { listener, state: Arc::new(State { token, limits, handler, sessions, greeting }) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` says so.
    pub fn run(&self, stop: impl Fn() -> bool) {
        let mut swept = Instant::now();
        while !stop() {
            match self.listener.accept() {
                Ok((stream, _)) => self.state.take(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
                // Without descriptors, say: some may be free again later.
                Err(error) => {
                    tracing::debug!(%error, "a connection was lost");
                    thread::sleep(SWEEP);
                }
            }
            if swept.elapsed() > SWEEP {
                swept = Instant::now();
                self.state.sweep();
            }
        }
        for session in lock(&self.state.sessions).values() {
            session.shared.end(Ending::Own, "the agent was stopped");
        }
        let begun = Instant::now();
        while !lock(&self.state.sessions).is_empty() && begun.elapsed() < END_TIME {
            thread::sleep(PAUSE);
        }
    }
}

impl State {
    /// Serves a connection in a thread of its own.
    fn take(self: &Arc<Self>, stream: TcpStream) {
        if self.greeting.fetch_add(1, Ordering::AcqRel) >= MOST_GREETING {
            self.greeting.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let state = Arc::clone(self);
        thread::spawn(move || {
            let greeted = stream.set_nonblocking(false).and_then(|()| Stream::tcp(stream)).map(|mut stream| {
                let heard = state.greet(&mut stream);
                (stream, heard)
            });
            state.greeting.fetch_sub(1, Ordering::AcqRel);
            if let Ok((stream, Ok((id, session, hello)))) = greeted {
                state.attend(stream, id, &session, &hello);
            }
        });
    }

    /// Hears the first words, and finds or begins the session. Who is not let in is told why.
    fn greet(self: &Arc<Self>, stream: &mut Stream) -> io::Result<(SessionId, Arc<Session>, Hello)> {
        let refuse = |stream: &mut Stream, why: Answer| {
            // It may be gone.
            let _ = answer(stream, &why, GREETING);
            io::Error::from(ErrorKind::PermissionDenied)
        };
        let hello = match hear(stream, GREETING) {
            Ok(hello) => hello,
            Err(error) => return Err(refuse(stream, Answer::Refused(error.to_string()))),
        };
        if !self.token.is(&hello.token) {
            return Err(refuse(stream, Answer::Refused("the token is wrong".into())));
        }
        if hello.session == SessionId::default() {
            return match self.begin() {
                Ok((id, session)) => Ok((id, session, hello)),
                Err(why) => Err(refuse(stream, Answer::Refused(why))),
            };
        }
        let known = lock(&self.sessions).get(&hello.session).cloned();
        match known {
            Some(session) => Ok((hello.session, session, hello)),
            None => Err(refuse(stream, Answer::Forgotten)),
        }
    }

    /// Begins a session.
    fn begin(self: &Arc<Self>) -> Result<(SessionId, Arc<Session>), String> {
        let id = token::random().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared::new(self.limits.longest));
        let (inbox, messages) = sync_channel(MOST_WAITING);
        let began = Instant::now();
        let session =
            Arc::new(Session { shared, inbox, began, reading: Mutex::default(), alone: Mutex::new(Some(began)) });
        // One that was left a moment ago may not have ended yet.
        let mut sessions = lock(&self.sessions);
        while sessions.len() >= self.limits.sessions {
            if began.elapsed() > END_TIME {
                return Err(format!("{} programs run here, and no more may", sessions.len()));
            }
            drop(sessions);
            thread::sleep(PAUSE);
            sessions = lock(&self.sessions);
        }
        sessions.insert(id, Arc::clone(&session));
        drop(sessions);
        self.serve(id, Arc::clone(&session.shared), messages);
        Ok((id, session))
    }

    fn serve(self: &Arc<Self>, id: SessionId, shared: Arc<Shared>, messages: Receiver<Vec<u8>>) {
        /// Removes the session, however its thread ends.
        struct Remove(Arc<State>, SessionId);
        impl Drop for Remove {
            fn drop(&mut self) {
                lock(&self.0.sessions).remove(&self.1);
            }
        }
        let remove = Remove(Arc::clone(self), id);
        thread::spawn(move || {
            (remove.0.handler)(Channel::new(shared, messages));
        });
    }

    /// Reads what comes over a connection for a session.
    fn attend(&self, mut stream: Stream, id: SessionId, session: &Session, hello: &Hello) {
        // The other side takes the old connection for broken. Its thread must not read on beside
        // this one.
        session.shared.detach();
        let reading = lock(&session.reading);
        *lock(&session.alone) = None;
        let welcome = Answer::Welcome { session: id, received: session.shared.received() };
        let attached = answer(&mut stream, &welcome, GREETING)
            .and_then(|()| stream.try_clone())
            .and_then(|clone| session.shared.attach(clone, hello.received));
        if attached.is_ok() {
            let timing = &self.limits.timing;
            let why = session.shared.read(&mut stream, timing, &mut |message| session.inbox.send(message).is_ok());
            tracing::debug!(%why, "a connection ended");
            if why.kind() == ErrorKind::InvalidData {
                session.shared.end(Ending::Own, &format!("{why}: this makes no sense"));
            }
        }
        session.shared.detach();
        *lock(&session.alone) = Some(Instant::now());
        drop(reading);
    }

    /// Ends sessions that have lasted too long, or whose other side is gone.
    fn sweep(&self) {
        let all: Vec<Arc<Session>> = lock(&self.sessions).values().cloned().collect();
        for session in all {
            if let Some(time) = self.limits.time.filter(|&time| session.began.elapsed() > time) {
                let what = format!("a program may run for {} seconds here", time.as_secs_f64());
                session.shared.end(Ending::Told(what.clone()), &what);
            }
            let alone = *lock(&session.alone);
            if alone.is_some_and(|since| since.elapsed() > self.limits.timing.patience) {
                let what = LinkError::Unreachable("the other side".into(), "it has gone away".into());
                session.shared.end(Ending::Lost(what), "");
            }
        }
    }
}
