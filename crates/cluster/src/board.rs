//! What is written on the server for all processes to see: searches under way, and how far
//! processes are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::connection::{ServerConnection, Trouble};
use crate::error::ClusterError;
use crate::names;

/// A process that was not heard of for so long is not there.
const MEMORY: Duration = Duration::from_secs(15);
/// Between two beacons of a process.
pub const BEACON_PERIOD: Duration = Duration::from_secs(2);
/// Bytes of an entry, at most.
const MOST_BYTES: usize = 64 << 10;
/// Entries that are read, at most.
const MOST: usize = 4096;

/// A search under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// The program's name.
    pub program: String,
    /// Milliseconds after which a task is given to another worker.
    pub lease: u64,
    /// Milliseconds that a worker explores a task.
    pub share: u64,
    /// When it began, in seconds since 1970.
    pub began: u64,
}

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beacon {
    /// The machine, and the number of the process there.
    pub host: String,
    /// See above.
    pub process: u32,
    /// Whether it is the coordinator. Its runs are those of the whole search.
    pub is_coordinator: bool,
    /// Runs so far.
    pub runs: u64,
    /// Runs in a second.
    pub rate: f64,
    /// Tasks that are done, and, of the coordinator, those that are open.
    pub done: u64,
    /// See above.
    pub open: u64,
    /// How many runs the whole search takes.
    pub estimate: Option<f64>,
}

impl Beacon {
    /// Of this process.
    pub fn of_this_process() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Beacon { host: host.trim().into(), process: std::process::id(), ..Beacon::default() }
    }
}

/// The time in seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Makes the board.
pub fn set_up(connection: &ServerConnection) -> Result<(), ClusterError> {
    let searches = Config {
        name: names::SEARCHES.into(),
        subjects: vec![names::search("*")],
        max_messages_per_subject: 1,
        ..Config::default()
    };
    let beacons = Config {
        name: names::BEACONS.into(),
        subjects: vec![names::beacon("*", "*")],
        max_messages_per_subject: 1,
        max_messages: MOST as i64,
        discard: DiscardPolicy::Old,
        max_age: MEMORY,
        duplicate_window: MEMORY,
        storage: StorageType::Memory,
        ..Config::default()
    };
    connection.stream(&searches)?;
    connection.stream(&beacons)?;
    Ok(())
}

/// Announces a search.
pub fn announce(connection: &ServerConnection, search: &str, announcement: &Announcement) -> Result<(), ClusterError> {
    let bytes = serde_json::to_vec(announcement).unwrap_or_default();
    connection.insist("list the search", async |context| {
        let sent = context.publish(names::search(search), bytes.clone().into()).await.map_err(Trouble::again)?;
        sent.await.map(|_| ()).map_err(Trouble::again)
    })
}

/// A search by its identifier; `None` if it is not under way.
pub fn find(connection: &ServerConnection, search: &str) -> Result<Option<Announcement>, ClusterError> {
    let stored = connection.stored(names::SEARCHES, &names::search(search))?;
    Ok(stored.and_then(|(_, bytes)| read(&bytes)))
}

/// All searches under way, the oldest first.
pub fn all(connection: &ServerConnection) -> Result<Vec<(String, Announcement)>, ClusterError> {
    let mut all = Vec::new();
    for subject in subjects(connection, names::SEARCHES, &names::search("*"))? {
        let Some(id) = names::id_of_search(&subject) else { continue };
        if let Some(found) = find(connection, id)? {
            all.push((id.to_owned(), found));
        }
    }
    all.sort_by(|a, b| (a.1.began, &a.0).cmp(&(b.1.began, &b.0)));
    Ok(all)
}

/// Takes a search off the board.
pub fn remove(connection: &ServerConnection, search: &str) -> Result<(), ClusterError> {
    connection.remove(names::SEARCHES, &names::search(search))
}

/// Says how far this process is. Nothing waits for the answer.
pub fn tell(connection: &ServerConnection, search: &str, name: &str, beacon: &Beacon) {
    let bytes = serde_json::to_vec(beacon).unwrap_or_default();
    let client = connection.context().client();
    let subject = names::beacon(search, name);
    connection.spawn(async move {
        let _ = client.publish(subject, bytes.into()).await;
    });
}

/// What processes that work on a search have said lately.
pub fn crew(connection: &ServerConnection, search: &str) -> Result<Vec<Beacon>, ClusterError> {
    let subjects = subjects(connection, names::BEACONS, &names::beacon(search, "*"))?;
    let mut crew = Vec::new();
    for subject in subjects {
        crew.extend(connection.stored(names::BEACONS, &subject)?.and_then(|(_, bytes)| read(&bytes)));
    }
    Ok(crew)
}

/// How many workers were heard of lately.
pub fn workers(connection: &ServerConnection, search: &str) -> u64 {
    let coordinator = names::beacon(search, COORDINATOR);
    let subjects = subjects(connection, names::BEACONS, &names::beacon(search, "*"));
    subjects.map_or(0, |subjects| subjects.iter().filter(|subject| **subject != coordinator).count() as u64)
}

/// The name under which a coordinator speaks.
pub const COORDINATOR: &str = "coordinator";

/// The subjects of a stream.
fn subjects(connection: &ServerConnection, stream: &str, filter: &str) -> Result<Vec<String>, ClusterError> {
    use futures_util::TryStreamExt as _;

    connection.insist("list", async |context| {
        let stream = match context.get_stream_no_info(stream).await {
            Ok(stream) => stream,
            Err(error) => return Err(Trouble::again(error)),
        };
        match stream.info_with_subjects(filter).await {
            Ok(info) => {
                let all: Vec<(String, usize)> = info.try_collect().await.map_err(Trouble::again)?;
                Ok(all.into_iter().take(MOST).map(|(subject, _)| subject).collect())
            }
            // There is no board yet.
            Err(error) if error.to_string().contains("stream not found") => Ok(Vec::new()),
            Err(error) => Err(Trouble::again(error)),
        }
    })
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    if bytes.len() > MOST_BYTES { None } else { serde_json::from_slice(bytes).ok() }
}
