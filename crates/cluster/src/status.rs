//! What is under way on a server.

use crate::board::{self, Announcement, Beacon};
use crate::connection::ServerConnection;
use crate::error::ClusterError;

pub use crate::board::now;

/// A search under way.
#[derive(Clone, Debug)]
pub struct SearchStatus {
    /// Its identifier.
    pub id: String,
    /// The name of its program.
    pub program: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// What its coordinator says; `None`: there is none at the moment.
    pub coordinator: Option<Member>,
    /// What its workers say.
    pub workers: Vec<Member>,
}

/// A process that takes part in a search.
#[derive(Clone, Debug)]
pub struct Member {
    /// The machine, and the number of the process there.
    pub name: String,
    /// Runs so far; of the coordinator, those of the whole search.
    pub runs: u64,
    /// Runs in a second.
    pub rate: f64,
    /// Tasks that are done.
    pub done: u64,
    /// Tasks that are open.
    pub open: u64,
    /// How many runs the whole search takes.
    pub estimate: Option<f64>,
}

impl From<&Beacon> for Member {
    fn from(beacon: &Beacon) -> Self {
        let Beacon { runs, rate, done, open, estimate, .. } = *beacon;
        let printable = |text: &str| text.chars().filter(|c| !c.is_control()).take(80).collect::<String>();
        Member { name: format!("{}/{}", printable(&beacon.host), beacon.process), runs, rate, done, open, estimate }
    }
}

/// All searches under way.
///
/// # Errors
/// If the server is lost.
pub fn all(connection: &ServerConnection) -> Result<Vec<SearchStatus>, ClusterError> {
    let mut all = Vec::new();
    for (id, Announcement { program, began, .. }) in board::all(connection)? {
        let crew = board::crew(connection, &id)?;
        let mut workers: Vec<Member> = crew.iter().filter(|one| !one.is_coordinator).map(Member::from).collect();
        workers.sort_by(|a, b| a.name.cmp(&b.name));
        let coordinator = crew.iter().find(|one| one.is_coordinator).map(Member::from);
        all.push(SearchStatus { id, program, began, coordinator, workers });
    }
    Ok(all)
}
