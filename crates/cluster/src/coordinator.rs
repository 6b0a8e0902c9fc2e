//! Has a search done by workers.

use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use futures_util::StreamExt as _;

use crate::board::{self, Announcement, BEACON_PERIOD, Beacon, COORDINATOR};
use crate::connection::{ServerConnection, Trouble};
use crate::error::ClusterError;
use crate::names;
use crate::tree::{Reading, Task, TaskTree};

/// Records that are read at a time.
const BATCH: usize = 256;
/// How long records are waited for.
const WAIT: Duration = Duration::from_millis(100);
/// How long nothing may be under way while tasks are open.
const STILL: Duration = Duration::from_secs(2);

/// A search to be done.
#[derive(Debug)]
pub struct Search {
    /// What is searched.
    pub job: Vec<u8>,
    /// The program's name, and the program.
    pub name: String,
    /// See above.
    pub program: Vec<u8>,
    /// All the work.
    pub work: Vec<u8>,
    /// How long a worker may be silent before its task is given to another one.
    pub lease: Duration,
    /// How long a worker explores a task.
    pub share: Duration,
    /// How many servers keep a copy of the streams.
    pub replicas: usize,
}

/// What was done with a result.
#[derive(Debug)]
pub enum ResultTaken {
    /// It counts.
    Counted,
    /// It makes no sense: why.
    Refused(String),
    /// It counts, and no more are needed.
    Enough,
}

/// Takes results.
pub trait Take {
    /// The result of a task.
    fn take(&mut self, result: &[u8]) -> ResultTaken;

    /// Called now and then with the number of workers, of tasks that are done, and of open ones.
    /// Returns how many runs the search has, and takes in all; `None`: the search is to end.
    fn wait(&mut self, workers: u64, done: u64, open: u64) -> Option<(u64, Option<f64>)>;

    /// Something that the user should know.
    fn say(&mut self, text: &str);
}

/// Has a search done. True: all of it was done. False: no more is wanted.
///
/// # Errors
/// If the server is lost.
pub fn run(connection: &ServerConnection, search: &Search, take: &mut dyn Take) -> Result<bool, ClusterError> {
    let id = names::search_id(&search.job);
    set_up(connection, &id, search)?;
    let mut coordinator = Coordinator {
        connection,
        id: &id,
        tree: TaskTree::new(&id, &Task::root(search.work.clone())),
        reader: None,
        next: 1,
        refused: 0,
        beacon: Beacon { is_coordinator: true, ..Beacon::of_this_process() },
        told: None,
        workers: 0,
        begun: Instant::now(),
        still: None,
    };
    coordinator.store_open()?;
    coordinator.follow(take)
}

/// Removes a search from the server: its report is written.
///
/// # Errors
/// If the server is lost.
pub fn forget(connection: &ServerConnection, job: &[u8]) -> Result<(), ClusterError> {
    let id = names::search_id(job);
    board::remove(connection, &id)?;
    for stream in [names::tasks(&id), names::done(&id), format!("OBJ_{}", names::bucket(&id))] {
        let removed = connection.block(connection.context().delete_stream(stream));
        if let Err(why) = removed {
            tracing::debug!(%why, "a stream was not removed");
        }
    }
    Ok(())
}

/// Makes the streams, stores what workers need, and lists the search.
fn set_up(connection: &ServerConnection, id: &str, search: &Search) -> Result<(), ClusterError> {
    board::set_up(connection)?;
    let stream = |name: String, subject: String| Config {
        name,
        subjects: vec![subject],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        num_replicas: search.replicas,
        ..Config::default()
    };
    connection.stream(&stream(names::tasks(id), names::task_subject(id, "*")))?;
    connection.stream(&stream(names::done(id), names::done_subject(id, "*")))?;
    let consumer = pull::Config {
        durable_name: Some(names::WORKERS.into()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: search.lease,
        max_ack_pending: 100_000,
        ..Default::default()
    };
    connection.insist("create a consumer", async |context| {
        let created = context.create_consumer_on_stream(consumer.clone(), names::tasks(id)).await;
        created.map(|_| ()).map_err(Trouble::again)
    })?;
    let bucket = connection.bucket(&names::bucket(id))?;
    connection.put(&bucket, names::PROGRAM, &search.program)?;
    connection.put(&bucket, names::JOB, &search.job)?;
    if board::find(connection, id)?.is_some() {
        return Ok(());
    }
    let milliseconds = |time: Duration| time.as_millis() as u64;
    let announcement = Announcement {
        program: search.name.clone(),
        lease: milliseconds(search.lease),
        share: milliseconds(search.share),
        began: board::now(),
    };
    board::announce(connection, id, &announcement)
}

struct Coordinator<'a> {
    connection: &'a ServerConnection,
    id: &'a str,
    tree: TaskTree,
    /// Reads the log; absent where it has to be made anew.
    reader: Option<PullConsumer>,
    /// Number of the next record in the log.
    next: u64,
    /// Records that were refused.
    refused: u64,
    beacon: Beacon,
    told: Option<Instant>,
    workers: u64,
    begun: Instant,
    /// Since when nothing is under way although tasks are open.
    still: Option<Instant>,
}

impl Coordinator<'_> {
    /// Reads records until all is done.
    fn follow(&mut self, take: &mut dyn Take) -> Result<bool, ClusterError> {
        while !self.tree.is_done() {
            if !self.tell(take) {
                return Ok(false);
            }
            match self.read() {
                Ok(messages) if messages.is_empty() => self.look_after()?,
                Ok(messages) => {
                    self.still = None;
                    for message in messages {
                        if !self.record(&message, take)? {
                            return Ok(false);
                        }
                    }
                }
                Err(why) => {
                    tracing::debug!(why, "no records");
                    std::thread::sleep(WAIT);
                    if board::find(self.connection, self.id)?.is_none() {
                        return Err(ClusterError::Gone);
                    }
                }
            }
        }
        if self.refused > 0 {
            take.say(&format!("{} records were refused, and their tasks done again", self.refused));
        }
        Ok(true)
    }

    /// The next records of the log.
    fn read(&mut self) -> Result<Vec<Message>, String> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.begin_reading()?,
        };
        let messages = self.connection.block(async {
            let batch = reader.batch().max_messages(BATCH).expires(WAIT).messages().await;
            let mut batch = batch.map_err(|error| error.to_string())?;
            let mut messages = Vec::new();
            let limit = tokio::time::Instant::now() + 20 * WAIT;
            while let Some(message) = tokio::time::timeout_at(limit, batch.next()).await.map_err(|_| "no answer")? {
                messages.push(message.map_err(|error| error.to_string())?);
            }
            Ok::<_, String>(messages)
        })?;
        self.reader = Some(reader);
        Ok(messages)
    }

    /// What reads the log from the next record on. The server forgets it when it is not used.
    fn begin_reading(&self) -> Result<PullConsumer, String> {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.next },
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            ..Default::default()
        };
        let created = self.connection.context().create_consumer_on_stream(config, names::done(self.id));
        self.connection.block(created).map_err(|error| error.to_string())
    }

    /// Takes a record. False: no more is wanted.
    fn record(&mut self, message: &Message, take: &mut dyn Take) -> Result<bool, ClusterError> {
        let Ok(number) = message.info().map(|info| info.stream_sequence) else { return Ok(true) };
        self.next = self.next.max(number + 1);
        let subject = message.subject.as_str();
        let Some(name) = names::id_of_task(subject) else { return Ok(true) };
        let why = match self.tree.read(name, &message.payload) {
            Reading::Unknown => Some("a record belongs to no task of the search".into()),
            Reading::Wrong(why) => Some(why),
            Reading::Fits(record) => match take.take(&record.result) {
                ResultTaken::Refused(why) => Some(why),
                ResultTaken::Counted => {
                    self.tree.count(&record);
                    None
                }
                ResultTaken::Enough => return Ok(false),
            },
        };
        if let Some(why) = why {
            self.refused += 1;
            take.say(&format!("{why}: it is refused"));
            self.connection.remove(&names::done(self.id), subject)?;
            self.store_again(name)?;
        }
        Ok(true)
    }

    /// Stores an open task again, for one worker more. Nothing happens if it is not open.
    fn store_again(&self, name: &str) -> Result<(), ClusterError> {
        let open = self.tree.open().find(|(id, _)| id.to_string() == name);
        let Some((_, bytes)) = open else { return Ok(()) };
        let subject = names::task_subject(self.id, name);
        self.connection.remove(&names::tasks(self.id), &subject)?;
        self.connection.store_once(&subject, bytes)?;
        Ok(())
    }

    /// Stores the open tasks that are not there.
    fn store_open(&self) -> Result<(), ClusterError> {
        for (id, bytes) in self.tree.open() {
            self.connection.store_once(&names::task_subject(self.id, &id.to_string()), bytes)?;
        }
        Ok(())
    }

    /// Where nothing is under way although tasks are open, something was lost or forged: these
    /// tasks are stored again.
    fn look_after(&mut self) -> Result<(), ClusterError> {
        let (tasks, context) = (names::tasks(self.id), self.connection.context());
        let is_still = self.connection.block(async {
            let consumer: Result<PullConsumer, _> = context.get_consumer_from_stream(names::WORKERS, tasks).await;
            consumer.is_ok_and(|consumer| {
                let info = consumer.cached_info();
                info.num_pending == 0 && info.num_ack_pending == 0
            })
        });
        match self.still {
            _ if !is_still => self.still = None,
            None => self.still = Some(Instant::now()),
            Some(since) if since.elapsed() >= STILL => {
                self.still = None;
                let names: Vec<String> = self.tree.open().map(|(id, _)| id.to_string()).collect();
                tracing::debug!(tasks = names.len(), "open tasks are stored again");
                for name in names {
                    self.store_again(&name)?;
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Says how far the search is. False: it is to end.
    fn tell(&mut self, take: &mut dyn Take) -> bool {
        let (done, open) = self.tree.figures();
        let Some((runs, estimate)) = take.wait(self.workers, done, open) else { return false };
        if self.told.is_none_or(|told| told.elapsed() >= BEACON_PERIOD) {
            self.told = Some(Instant::now());
            self.workers = board::workers(self.connection, self.id);
            let rate = runs as f64 / self.begun.elapsed().as_secs_f64().max(0.001);
            self.beacon = Beacon { runs, rate, done, open, estimate, ..self.beacon.clone() };
            board::tell(self.connection, self.id, COORDINATOR, &self.beacon);
        }
        true
    }
}
