//! Handles of events, of sets of events and of renamings, and the labels of transitions.

/// An event of one [`Model`](crate::Model).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub(crate) u32);

/// A set of events of one [`Model`](crate::Model).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(pub(crate) u32);

/// A renaming relation of one [`Model`](crate::Model).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RelationId(pub(crate) u32);

/// The label of a transition.
///
/// A hidden event keeps its name in the label: every operator treats it as a tau, and a
/// counterexample can still name it. The encoding is one word: 0 is tau, 1 is the tick of
/// termination. An event is in the upper 31 bits, and the lowest bit says whether it is hidden.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Label(u32);

/// A decoded [`Label`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LabelKind {
    /// An internal step without a name: a choice, a hand-over between sequential processes.
    Tau,
    /// Successful termination.
    Tick,
    /// An event that the environment sees.
    Visible(EventId),
    /// An event under a hiding operator; behaves as a tau.
    Hidden(EventId),
}

impl Label {
    /// The nameless internal step.
    pub(crate) const TAU: Label = Label(0);
    /// Successful termination.
    pub(crate) const TICK: Label = Label(1);

    /// The label of a visible event.
    pub(crate) fn visible(event: EventId) -> Label {
        Label((event.0 + 1) << 1)
    }

    /// The label of a hidden event.
    pub(crate) fn hidden(event: EventId) -> Label {
        Label(((event.0 + 1) << 1) | 1)
    }

    /// Whether the environment sees nothing of the step.
    pub(crate) fn is_silent(self) -> bool {
        self.0 == 0 || (self.0 > 1 && self.0 & 1 == 1)
    }

    /// The event, if it is one that the environment sees.
    pub(crate) fn event(self) -> Option<EventId> {
        match self.kind() {
            LabelKind::Visible(event) => Some(event),
            _ => None,
        }
    }

    /// The decoded label.
    pub(crate) fn kind(self) -> LabelKind {
        match self.0 {
            0 => LabelKind::Tau,
            1 => LabelKind::Tick,
            word if word & 1 == 0 => LabelKind::Visible(EventId((word >> 1) - 1)),
            word => LabelKind::Hidden(EventId((word >> 1) - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_what_they_were_made_of() {
        for event in [EventId(0), EventId(1), EventId((1 << 31) - 2)] {
            assert_eq!(Label::visible(event).kind(), LabelKind::Visible(event));
            assert_eq!(Label::hidden(event).kind(), LabelKind::Hidden(event));
            assert!(Label::hidden(event).is_silent() && !Label::visible(event).is_silent());
        }
        assert_eq!(Label::TAU.kind(), LabelKind::Tau);
        assert_eq!(Label::TICK.kind(), LabelKind::Tick);
        assert!(Label::TAU.is_silent() && !Label::TICK.is_silent());
    }
}
