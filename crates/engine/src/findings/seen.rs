//! What is seen of a program, and which defects that shows.

use std::collections::BTreeSet;

use raddle_exec::{Noticed, NoticedFacts, Options};
use raddle_model::finding::Kind;

/// What is seen of a program, in all runs so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    calls_only: bool,
    is_observed: bool,
    noticed: Noticed,
}

impl Seen {
    /// By targets with clones of these options.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        let is_observed = options.observer.is_some();
        Seen { calls_only: options.sees_calls_only() && !is_observed, is_observed, noticed: options.noticed.clone() }
    }

    /// Whether a plug-in of an emulator records accesses.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.is_observed
    }

    /// Whether a defect of this kind is one, as far as can be told. What orders two accesses may be
    /// an atomic operation that is not seen, and so may be what ends a loop. Something that looks
    /// like a race in a program that may have such operations is a limit of the check.
    #[must_use]
    pub fn shows(&self, kind: Kind) -> bool {
        if !self.is_observed {
            return !self.calls_only || !matches!(kind, Kind::Livelock | Kind::DataRace);
        }
        let facts = self.noticed.facts();
        if kind == Kind::DataRace && facts.has_other_atomics {
            self.noticed.add(NoticedFacts::of_atomic_code());
            return false;
        }
        !matches!(kind, Kind::Livelock | Kind::DataRace) || !facts.has_atomic_code()
    }

    /// A suppressed race of an observed program: its accesses cannot become scheduling points.
    pub fn name_suppression(&self) {
        let text = "a suppressed race of a program that was not built with raddle: orders of its accesses were not \
                    explored";
        self.noticed.add(NoticedFacts { remarks: BTreeSet::from([text.into()]), ..NoticedFacts::default() });
    }
}
