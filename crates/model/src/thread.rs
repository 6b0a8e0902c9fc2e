//! Threads and their names.

use std::fmt;

use raddle_vocab::handler;
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

    /// Whether it names the courier of a signal.
    #[must_use]
    pub fn is_courier(&self) -> bool {
        self.0.last().is_some_and(|&component| handler::of_component(component).is_some())
    }

    /// The name of a party.
    #[must_use]
    pub fn of_party(party: Party) -> Self {
        ThreadPath(vec![party.component()])
    }
}

impl fmt::Display for ThreadPath {
    /// `T0` for main, `T3` for its third child, `T3.1` for that one's first; `T3.h1` for the first
    /// signal that it sends to a handler; `client1` for a party.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(party) = self.party() {
            return write!(f, "{party}");
        }
        f.write_str("T")?;
        if self.0.is_empty() {
            return f.write_str("0");
        }
        self.0.iter().enumerate().try_for_each(|(index, &component)| {
            let dot = if index > 0 { "." } else { "" };
            match handler::of_component(component) {
                Some(nth) => write!(f, "{dot}h{nth}"),
                None => write!(f, "{dot}{component}"),
            }
        })
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
