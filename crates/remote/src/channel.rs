//! Messages in order, each exactly once, over one connection after the other.
//!
//! Messages of each direction are numbered from 1. A side keeps what it has sent until the other
//! side says, with whatever it sends, that it has received it. A new connection begins with the
//! last numbers that both sides have received; what is missing is sent again. A message of which
//! only a part came counts as not received.
//!
//! The thread that reads must never wait for the one that writes: if both sides wrote more than the
//! connection holds, neither would ever read.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::frame::{self, Assembler, Frame, FrameReader};
use crate::stream::Stream;
use crate::{LinkError, Timing, plain};

/// The most messages that are kept because the other side did not say that it has them.
const MOST_KEPT: usize = 1024;

/// How long a side that wants no more of it reads on, so that the other one hears that.
const FAREWELL: Duration = Duration::from_secs(2);

/// What there is to receive.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Vec<u8>),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    Ended(Ending),
}

/// Why no message comes any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// This side ended it.
    Own,
    /// The other side ended it, for this reason.
    Told(String),
    /// The other side cannot be reached any more, or does not follow the rules.
    Lost(LinkError),
}

/// One side of a sequence of connections.
#[derive(Debug)]
pub struct Channel {
    shared: Arc<Shared>,
    inbox: Receiver<Vec<u8>>,
}

impl Channel {
    pub(crate) fn new(shared: Arc<Shared>, inbox: Receiver<Vec<u8>>) -> Self {
        Channel { shared, inbox }
    }

    /// Sends a message, now or as soon as there is a connection again.
    pub fn send(&self, message: Vec<u8>) {
        self.shared.send(message);
    }

    /// Waits for a message for so long.
    pub fn receive(&self, time: Duration) -> Incoming {
        match self.inbox.recv_timeout(time) {
            Ok(message) => Incoming::Message(message),
            Err(RecvTimeoutError::Timeout) => self.shared.ended().map_or(Incoming::Nothing, Incoming::Ended),
            Err(RecvTimeoutError::Disconnected) => Incoming::Ended(self.shared.ended().unwrap_or(Ending::Own)),
        }
    }

    /// The most bytes that a message to this side may have from now on.
    pub fn accept(&self, longest: usize) {
        self.shared.longest.store(longest, Ordering::Relaxed);
    }

    /// Becomes true when no message comes any more.
    #[must_use]
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.is_over)
    }

    /// Ends it and tells the other side why.
    pub fn end(self, sentence: &str) {
        self.shared.end(Ending::Own, sentence);
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.shared.end(Ending::Own, "it is over");
    }
}

/// What the thread that reads and the one that writes share.
#[derive(Debug)]
pub(crate) struct Shared {
    writer: Mutex<Writer>,
    /// What the other side has received.
    acknowledged: AtomicU64,
    /// What this side has received.
    received: AtomicU64,
    /// What this side has sent.
    sent: AtomicU64,
    ended: OnceLock<Ending>,
    is_over: Arc<AtomicBool>,
    longest: AtomicUsize,
}

#[derive(Debug, Default)]
struct Writer {
    stream: Option<Stream>,
    /// What the other side may not have, with numbers.
    kept: VecDeque<(u64, Vec<u8>)>,
    buffer: Vec<u8>,
}

impl Writer {
    /// Writes what is in the buffer. A connection that takes no more is given up; the thread that
    /// reads from it notices.
    fn flush(&mut self) {
        if let Some(stream) = &mut self.stream
            && stream.write_all(&self.buffer).is_err()
        {
            stream.shut_down();
            self.stream = None;
        }
        self.buffer.clear();
        self.buffer.shrink_to(2 * frame::PIECE);
    }
}

impl Shared {
    pub(crate) fn new(longest: usize) -> Self {
        Shared {
            writer: Mutex::default(),
            acknowledged: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            ended: OnceLock::new(),
            is_over: Arc::default(),
            longest: AtomicUsize::new(longest),
        }
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ended(&self) -> Option<Ending> {
        self.ended.get().cloned()
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    fn send(&self, message: Vec<u8>) {
        let mut writer = self.writer();
        if self.ended().is_some() {
            return;
        }
        self.forget_acknowledged(&mut writer);
        let number = self.sent.fetch_add(1, Ordering::AcqRel) + 1;
        if writer.stream.is_some() {
            frame::put_message(number, self.received(), &message, &mut writer.buffer);
            writer.flush();
        }
        writer.kept.push_back((number, message));
        if writer.kept.len() > MOST_KEPT {
            drop(writer);
            self.end(Ending::Own, "messages are not acknowledged");
        }
    }

    fn forget_acknowledged(&self, writer: &mut Writer) {
        let acknowledged = self.acknowledged.load(Ordering::Acquire);
        while writer.kept.front().is_some_and(|&(number, _)| number <= acknowledged) {
            writer.kept.pop_front();
        }
    }

    /// Notes what the other side has received.
    ///
    /// # Errors
    /// If that was never sent.
    fn acknowledge(&self, number: u64) -> io::Result<()> {
        if number > self.sent.load(Ordering::Acquire) {
            return Err(frame::FrameError::Order(number).into());
        }
        self.acknowledged.fetch_max(number, Ordering::AcqRel);
        Ok(())
    }

    /// Takes a new connection, over which the other side said what it has received, and sends the
    /// rest again.
    ///
    /// # Errors
    /// If what it said makes no sense.
    pub(crate) fn attach(&self, stream: Stream, received: u64) -> io::Result<()> {
        self.acknowledge(received)?;
        let mut writer = self.writer();
        if let Some(old) = writer.stream.replace(stream) {
            old.shut_down();
        }
        self.forget_acknowledged(&mut writer);
        let kept = std::mem::take(&mut writer.kept);
        for (number, message) in &kept {
            frame::put_message(*number, self.received(), message, &mut writer.buffer);
            writer.flush();
        }
        writer.kept = kept;
        // It may have ended before there was a connection to say so on.
        let is_late = self.ended().is_some();
        drop(writer);
        if is_late {
            self.say_end("it is over");
        }
        Ok(())
    }

    /// Gives the connection up, if there is one.
    pub(crate) fn detach(&self) {
        if let Some(stream) = self.writer().stream.take() {
            stream.shut_down();
        }
    }

    /// Says something short, unless something else is just being said: that is a sign of life, too.
    fn say(&self, frame: &Frame) {
        if let Ok(mut writer) = self.writer.try_lock() {
            frame::put(frame, &mut writer.buffer);
            writer.flush();
        }
    }

    fn say_end(&self, sentence: &str) {
        let mut writer = self.writer();
        frame::put(&Frame::End(sentence.into()), &mut writer.buffer);
        writer.flush();
        if let Some(stream) = writer.stream.take() {
            stream.finish();
        }
    }

    /// Ends it, and tells the other side.
    pub(crate) fn end(&self, ending: Ending, sentence: &str) {
        let is_first = self.ended.set(ending).is_ok();
        self.is_over.store(true, Ordering::Release);
        if is_first {
            self.say_end(sentence);
        }
    }

    /// Reads from a connection until it breaks or all is over; why it broke. Messages are passed to
    /// `deliver`.
    pub(crate) fn read(
        &self,
        stream: &mut Stream,
        timing: &Timing,
        deliver: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> io::Error {
        let broken = stream.set_timeouts(timing.heartbeat, timing.silence);
        broken.and_then(|()| self.read_on(stream, timing, deliver)).err().unwrap_or_else(|| ErrorKind::Other.into())
    }

    fn read_on(
        &self,
        stream: &mut Stream,
        timing: &Timing,
        deliver: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> io::Result<()> {
        let (mut heard, mut begun) = (Instant::now(), 0);
        let mut over: Option<Instant> = None;
        let mut reader = FrameReader::default();
        let mut assembler = Assembler::new(self.longest.load(Ordering::Relaxed));
        loop {
            if self.ended.get().is_some() && over.get_or_insert_with(Instant::now).elapsed() > FAREWELL {
                return Ok(());
            }
            let Some(bytes) = reader.read(stream, frame::LONGEST)? else {
                // A long frame comes slowly over a slow connection.
                if std::mem::replace(&mut begun, reader.begun()) != reader.begun() {
                    heard = Instant::now();
                } else if heard.elapsed() > timing.silence {
                    return Err(io::Error::new(ErrorKind::TimedOut, "nothing was heard for too long"));
                }
                self.say(&Frame::Ping { acknowledged: self.received() });
                continue;
            };
            (heard, begun) = (Instant::now(), 0);
            match frame::parse(&bytes)? {
                Frame::Data { number, acknowledged, last, bytes } => {
                    self.acknowledge(acknowledged)?;
                    assembler.accept(self.longest.load(Ordering::Relaxed));
                    if let Some(message) = assembler.take(number, self.received(), last, bytes)? {
                        self.received.store(number, Ordering::Release);
                        if over.is_none() && !deliver(message) {
                            return Ok(());
                        }
                    }
                }
                Frame::Ping { acknowledged } => {
                    self.acknowledge(acknowledged)?;
                    self.say(&Frame::Pong { acknowledged: self.received() });
                }
                Frame::Pong { acknowledged } => self.acknowledge(acknowledged)?,
                Frame::End(sentence) => {
                    let _ = self.ended.set(Ending::Told(plain(&sentence)));
                    self.is_over.store(true, Ordering::Release);
                    return Ok(());
                }
            }
        }
    }
}
