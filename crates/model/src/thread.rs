//! Threads and their names.

use std::fmt;

use raddle_vocab::party::Party;
use serde::{Deserialize, Serialize};

/// Names a thread by how it was created: main is the empty path, its third child `[3]`, the first
/// child of that one `[3, 1]`. The order is lexicographic, which is the order of ranks in
/// `raddle_vocab::policy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadPath(pub Vec<u32>);

impl ThreadPath {
    /// The scripted party that it names, if it names one.
    #[must_use]
    pub fn party(&self) -> Option<Party> {
        match self.0[..] {
            [component] => Party::of_component(component),
            _ => None,
        }
    }

    /// The name of a party.
    #[must_use]
    pub fn of_party(party: Party) -> Self {
        ThreadPath(vec![party.component()])
    }
}

impl fmt::Display for ThreadPath {
    /// `T0` for main, `T3` for its third child, `T3.1` for that one's first; `client1` for a party.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(party) = self.party() {
            return write!(f, "{party}");
        }
        match self.0.split_first() {
            None => f.write_str("T0"),
            Some((first, rest)) => {
                write!(f, "T{first}")?;
                rest.iter().try_for_each(|n| write!(f, ".{n}"))
            }
        }
    }
}

/// A thread of one execution. Its index in [`crate::Execution::threads`] is its run-local number
/// (order of creation).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Name that does not depend on the schedule.
    pub path: ThreadPath,
    /// Run-local number of the creator; `None` for main.
    pub parent: Option<u16>,
    /// What the program calls it, if it says so.
    pub name: Option<String>,
}
