//! Does tasks.

use std::io::Write;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt as _;

use crate::board::{self, Announcement, BEACON_PERIOD, Beacon};
use crate::connection::ServerConnection;
use crate::error::ClusterError;
use crate::names;
use crate::tree::{Task, TaskId, TaskRecord};

/// How long a worker waits for a task before it looks whether the search is still there.
const WAIT: Duration = Duration::from_secs(1);
/// Between two looks for a search.
const LOOK: Duration = Duration::from_millis(500);
/// While fewer tasks than this wait, tasks are explored for a shorter time, so that more come into
/// being.
pub const FEW: u64 = 4;
/// That time, as a part of the usual one.
pub const SHORT: u32 = 10;
/// Pieces that a task leaves, about.
pub const PIECES: usize = 8;
/// Times that a task is delivered before it is given up.
const MOST_DELIVERIES: i64 = 10;
/// How long a task rests that cannot be done now.
const REST: Duration = Duration::from_secs(1);

/// What came of a task.
#[derive(Debug)]
pub struct TaskOutcome {
    /// Its result.
    pub result: Vec<u8>,
    /// What is left.
    pub rest: Vec<Vec<u8>>,
    /// Runs that were made.
    pub runs: u64,
}

/// Why a task was not done.
#[derive(Debug)]
pub enum Failure {
    /// The user wants to end.
    Interrupted,
    /// For another reason: a sentence. The task is delivered again.
    Failed(String),
}

/// Explores the work of tasks.
pub trait Explore {
    /// A search begins. `fetch` writes its program.
    ///
    /// # Errors
    /// If this process cannot take part in it: a sentence.
    fn begin(
        &mut self,
        job: &[u8],
        fetch: &mut dyn FnMut(&mut dyn Write) -> Result<(), ClusterError>,
    ) -> Result<(), String>;

    /// Explores a piece of work until `may_go_on` says no. The result and what is left, about so
    /// many pieces, have at most `room` bytes.
    ///
    /// # Errors
    /// If it cannot be explored. Then nothing of it was.
    fn explore(
        &mut self,
        work: &[u8],
        pieces: usize,
        room: usize,
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<TaskOutcome, Failure>;

    /// The result of a piece of work that no worker could explore.
    fn lost(&self, reason: &str) -> Vec<u8>;

    /// Something that the user should know.
    fn say(&mut self, text: &str);
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Searches that it took part in.
    pub searches: u64,
    /// Tasks whose record is its own.
    pub tasks: u64,
    /// Runs that it made.
    pub runs: u64,
    /// How long it explored,
    pub busy: Duration,
    /// and how long it could have, from its first task on.
    pub present: Duration,
}

/// Works on the searches of a server, the oldest first, until the user wants to end; with `once`,
/// until one that it could take part in is over.
///
/// # Errors
/// If the server is lost; with `once`, if the only search is one that this process cannot take part
/// in.
pub fn run(connection: &ServerConnection, once: bool, explore: &mut dyn Explore) -> Result<Work, ClusterError> {
    let mut work = Work::default();
    let mut refused: Vec<String> = Vec::new();
    while !connection.should_stop() {
        let searches = board::all(connection)?;
        let next = searches.into_iter().find(|(id, _)| !refused.contains(id));
        let Some((id, announcement)) = next else {
            std::thread::sleep(LOOK);
            continue;
        };
        match join(connection, &id, explore) {
            Ok(()) => {}
            Err(ClusterError::Gone) => continue,
            Err(ClusterError::Unfit(why)) if !once => {
                explore.say(&format!("{}: {why}", announcement.program));
                refused.push(id);
                continue;
            }
            Err(error) => return Err(error),
        }
        explore.say(&format!("working on {}", announcement.program));
        let mut worker = Worker::new(connection, &id, &announcement, explore, &mut work);
        match worker.work() {
            Err(ClusterError::Gone) => {}
            other => other?,
        }
        work.searches += 1;
        if once {
            break;
        }
    }
    Ok(work)
}

/// Gets ready for a search.
fn join(connection: &ServerConnection, search: &str, explore: &mut dyn Explore) -> Result<(), ClusterError> {
    let bucket = names::bucket(search);
    let mut job = Vec::new();
    // The bucket is complete before the search is listed.
    connection.get(&bucket, names::JOB, &mut job)?;
    if names::search_id(&job) != search {
        return Err(ClusterError::Unfit("what is searched was forged: it has another name".into()));
    }
    let mut fetch = |into: &mut dyn Write| connection.get(&bucket, names::PROGRAM, into);
    explore.begin(&job, &mut fetch).map_err(ClusterError::Unfit)
}

struct Worker<'a> {
    connection: &'a ServerConnection,
    search: &'a str,
    lease: Duration,
    share: Duration,
    explore: &'a mut dyn Explore,
    work: &'a mut Work,
    beacon: Beacon,
    name: String,
    begun: Instant,
    told: Option<Instant>,
    /// When its first task began.
    first: Option<Instant>,
}

impl<'a> Worker<'a> {
    fn new(
        connection: &'a ServerConnection,
        search: &'a str,
        announcement: &Announcement,
        explore: &'a mut dyn Explore,
        work: &'a mut Work,
    ) -> Self {
        let bounded = |milliseconds: u64| Duration::from_millis(milliseconds.clamp(10, 3_600_000));
        let beacon = Beacon::of_this_process();
        // Processes in containers may have equal numbers.
        let seed = format!("{} {} {:?}", beacon.host, beacon.process, std::time::SystemTime::now());
        Worker {
            connection,
            search,
            lease: bounded(announcement.lease),
            share: bounded(announcement.share),
            explore,
            work,
            beacon,
            name: names::search_id(seed.as_bytes()),
            begun: Instant::now(),
            told: None,
            first: None,
        }
    }

    /// Does tasks until the search is gone or the user wants to end.
    fn work(&mut self) -> Result<(), ClusterError> {
        while !self.connection.should_stop() {
            self.tell();
            match self.pull() {
                Ok(Some(message)) => self.take(&message)?,
                Ok(None) if board::find(self.connection, self.search)?.is_none() => return Err(ClusterError::Gone),
                Ok(None) => {}
                Err(why) => {
                    tracing::debug!(why, "no task");
                    if board::find(self.connection, self.search)?.is_none() {
                        return Err(ClusterError::Gone);
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
        Ok(())
    }

    /// The next task, if one comes in time.
    fn pull(&self) -> Result<Option<Message>, String> {
        let (tasks, context) = (names::tasks(self.search), self.connection.context());
        self.connection.block(async {
            let consumer: PullConsumer =
                context.get_consumer_from_stream(names::WORKERS, tasks).await.map_err(|error| error.to_string())?;
            let batch = consumer.batch().max_messages(1).expires(WAIT).messages();
            let mut batch = batch.await.map_err(|error| error.to_string())?;
            match tokio::time::timeout(2 * WAIT, batch.next()).await {
                Ok(Some(Ok(message))) => Ok(Some(message)),
                Ok(Some(Err(error))) => Err(error.to_string()),
                Ok(None) => Ok(None),
                Err(_) => Err("no answer".into()),
            }
        })
    }

    /// Does a task that was delivered.
    fn take(&mut self, message: &Message) -> Result<(), ClusterError> {
        let Some(name) = names::id_of_task(&message.subject).map(String::from) else {
            return self.answer(message, AckKind::Term);
        };
        let (delivered, waiting) = message.info().map_or((1, 0), |info| (info.delivered, info.pending));
        if delivered > 1
            && let Some(known) = self.known(&name)?
        {
            return match known {
                Ok(record) => self.finish(&record, message),
                // The coordinator removes it.
                Err(_) => self.answer(message, AckKind::Nak(Some(REST))),
            };
        }
        let task = match Task::from_bytes(self.search, &name, &message.payload) {
            Ok(task) => task,
            // The coordinator stores it again.
            Err(why) => {
                self.explore.say(&why);
                return self.answer(message, AckKind::Term);
            }
        };
        let id = task.id(self.search);
        if delivered > MOST_DELIVERIES {
            let reason =
                format!("a part of the search was given up after {MOST_DELIVERIES} workers failed on it ({id})");
            let record = TaskRecord::new(self.search, id, Vec::new(), self.explore.lost(&reason));
            return self.commit(&name, record, message);
        }
        match self.do_task(&task, id, waiting, message) {
            Ok(record) => self.commit(&name, record, message),
            Err(Failure::Interrupted) => self.answer(message, AckKind::Nak(None)),
            Err(Failure::Failed(why)) => {
                self.explore.say(&why);
                self.answer(message, AckKind::Nak(Some(REST)))
            }
        }
    }

    /// Explores a task while its lease is renewed.
    fn do_task(&mut self, task: &Task, id: TaskId, waiting: u64, message: &Message) -> Result<TaskRecord, Failure> {
        let lease = self.lease;
        let (context, reply) = (self.connection.context().clone(), message.reply.clone());
        let acker = async_nats::jetstream::message::Acker::new(context, reply);
        let renewing = self.connection.spawn(async move {
            loop {
                tokio::time::sleep(lease / 3).await;
                let _ = acker.ack_with(AckKind::Progress).await;
            }
        });
        let share = if waiting < FEW { self.share / SHORT } else { self.share };
        let begun = Instant::now();
        let mut may_go_on = |_| begun.elapsed() < share;
        let explored = self.explore.explore(&task.work, PIECES, self.connection.room(), &mut may_go_on);
        renewing.abort();
        let (first, busy) = (*self.first.get_or_insert(begun), begun.elapsed());
        self.work.busy += busy;
        self.work.present = first.elapsed();
        let TaskOutcome { result, rest, runs } = explored?;
        self.work.runs += runs;
        self.beacon.runs += runs;
        Ok(TaskRecord::new(self.search, id, rest, result))
    }

    /// Stores the one record of a task. If there is another one, that one counts.
    fn commit(&mut self, name: &str, record: TaskRecord, message: &Message) -> Result<(), ClusterError> {
        crash_if_a_test_wants("before-record");
        let record = match self.connection.store_once(&names::done_subject(self.search, name), &record.to_bytes())? {
            true => {
                self.work.tasks += 1;
                self.beacon.done += 1;
                record
            }
            false => match self.known(name)? {
                Some(Ok(known)) => known,
                _ => return self.answer(message, AckKind::Nak(Some(REST))),
            },
        };
        crash_if_a_test_wants("behind-record");
        self.finish(&record, message)
    }

    /// The record of a task, if there is one.
    fn known(&self, name: &str) -> Result<Option<Result<TaskRecord, String>>, ClusterError> {
        let stored = self.connection.stored(&names::done(self.search), &names::done_subject(self.search, name))?;
        Ok(stored.map(|(_, bytes)| TaskRecord::from_bytes(self.search, name, &bytes)))
    }

    /// Stores the children of a task that has a record, and acknowledges it.
    fn finish(&self, record: &TaskRecord, message: &Message) -> Result<(), ClusterError> {
        for task in record.tasks() {
            let name = task.id(self.search).to_string();
            self.connection.store_once(&names::task_subject(self.search, &name), &task.to_bytes())?;
        }
        self.answer(message, AckKind::Ack)
    }

    /// Answers a delivery. If the answer is lost, the task is delivered again.
    fn answer(&self, message: &Message, kind: AckKind) -> Result<(), ClusterError> {
        if let Err(why) = self.connection.block(message.ack_with(kind)) {
            tracing::debug!(%why, "a delivery was not answered");
        }
        Ok(())
    }

    fn tell(&mut self) {
        if self.told.is_none_or(|told| told.elapsed() >= BEACON_PERIOD) {
            self.told = Some(Instant::now());
            self.beacon.rate = self.beacon.runs as f64 / self.begun.elapsed().as_secs_f64().max(0.001);
            board::tell(self.connection, self.search, &self.name, &self.beacon);
        }
    }
}

/// Ends the process if a test wants that at this place. Never in a release build.
fn crash_if_a_test_wants(place: &str) {
    if cfg!(debug_assertions) && std::env::var_os("RADDLE_TEST_WORKER_DIES").is_some_and(|wanted| wanted == place) {
        std::process::abort();
    }
}
