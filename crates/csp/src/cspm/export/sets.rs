//! Events and sets of events.

use rustc_hash::FxHashMap;

use super::{Exporter, channel_of, define};
use crate::core::{EventId, SetId};
use crate::cspm::ast::{Bracket, Expression, ExpressionKind};
use crate::value::{Name, Value};

/// Sets of more events than this are written once, by name.
const NAMED_SET: usize = 6;

impl Exporter<'_> {
    pub(super) fn event(&self, event: EventId) -> Expression {
        self.names.value(self.model.event_name(event))
    }

    /// A set of events; a large one by name.
    pub(super) fn set(&mut self, set: SetId) -> Expression {
        if let Some(name) = self.sets.get(&set) {
            return Expression::name(name.clone());
        }
        let events = self.model.set_events(set);
        let written = self.event_list(events);
        if events.len() <= NAMED_SET {
            return written;
        }
        let name = self.names.fresh("EVENTS");
        self.sets.insert(set, name.clone());
        self.definitions.push(define(name.clone(), None, written));
        Expression::name(name)
    }

    /// Events one by one, except that a channel stands for all of its events.
    pub(super) fn event_list(&self, events: &[EventId]) -> Expression {
        let mut by_channel: Vec<(Name, Vec<EventId>)> = Vec::new();
        let mut position: FxHashMap<Name, usize> = FxHashMap::default();
        for &event in events {
            let channel = channel_of(self.model, event).unwrap_or_else(|_| "".into());
            let next = by_channel.len();
            let at = *position.entry(channel.clone()).or_insert(next);
            if at == next {
                by_channel.push((channel, Vec::new()));
            }
            by_channel[at].1.push(event);
        }
        let (mut whole, mut single) = (Vec::new(), Vec::new());
        for (channel, events) in by_channel {
            match self.channel_events.get(&channel) == Some(&events.len()) && events.len() > 1 {
                true => whole.push(self.names.value(&Value::Atom(channel))),
                false => single.extend(events.iter().map(|&event| self.event(event))),
            }
        }
        let whole = (!whole.is_empty()).then(|| Expression::new(ExpressionKind::List(Bracket::Productions, whole)));
        let single = Expression::new(ExpressionKind::List(Bracket::Set, single));
        match (whole, &single.kind) {
            (None, _) => single,
            (Some(whole), ExpressionKind::List(_, list)) if list.is_empty() => whole,
            (Some(whole), _) => {
                Expression::new(ExpressionKind::Call(Box::new(Expression::name("union")), vec![whole, single]))
            }
        }
    }
}
