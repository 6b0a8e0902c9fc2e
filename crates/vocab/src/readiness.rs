//! When operations that wait for input or output can go on, as encoded in `value` and `old` of an
//! [`OpKind::Io`](crate::OpKind::Io).
//!
//! | bits of `value` | |
//! |---|---|
//! | 0..8 | the [`IoCondition`] that the operation waits for; 0 if there is none that is known |
//! | 8..24 | [`Readiness`] of its object, behind it |
//! | 24..40 | that of the second thing |
//! | 40..44 | of each queue in `old`: whether it is ready, and whether that is known |
//! | 44..60 | the number of the descriptor of a connection that it makes or ends, plus 1, and whether it ends |
//!
//! Two numbers of 16 bits in `old` are the descriptors of queues of `epoll` that the operation
//! changes beside the things of its operands, plus 1.
//!
//! All operations that change the readiness of a thing depend on one another. So in every order
//! that keeps the order of dependent operations, a thing is ready for what its last operation has
//! left.

use crate::io::{self, ChannelKind, Endpoint};

/// Something that a thread can wait for at a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Bytes, a connection or the end, at this end of a channel (0 or 1).
    Input(u8),
    /// Room for bytes, at this end.
    Output(u8),
    /// A connection to a port is made or refused at once.
    Answer,
    /// A scripted client can connect to a port.
    Listener,
    /// The scripted party of a connection can make its next step.
    Script,
}

impl Condition {
    const fn bit(self) -> u8 {
        match self {
            Condition::Input(end) => 2 * (end & 1),
            Condition::Output(end) => 2 * (end & 1) + 1,
            Condition::Answer => 4,
            Condition::Listener => 5,
            Condition::Script => 6,
        }
    }
}

/// What a thing is ready for, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(u16);

impl Readiness {
    /// Adds whether a condition holds.
    pub const fn add(&mut self, condition: Condition, holds: bool) {
        let bit = condition.bit();
        self.0 |= 1 << (8 + bit) | (holds as u16) << bit;
    }

    /// Of a channel that no operation has touched: a pipe is empty, and so is a pair of sockets.
    /// Nothing is known of others.
    #[must_use]
    pub fn at_first(thing: u64) -> Readiness {
        let mut first = Readiness::default();
        match ChannelKind::of(thing) {
            Some(ChannelKind::Pipe) if !io::is_named_pipe(thing) => {
                first.add(Condition::Input(0), false);
                first.add(Condition::Output(1), true);
            }
            Some(ChannelKind::SocketPair) => [0, 1].into_iter().for_each(|end| {
                first.add(Condition::Input(end), false);
                first.add(Condition::Output(end), true);
            }),
            _ => {}
        }
        first
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    const fn excludes(self, bit: u8) -> bool {
        self.0 >> (8 + bit) & 1 != 0 && self.0 >> bit & 1 == 0
    }
}

/// What a waiting operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoCondition {
    /// Whether the second thing of the operation has to be ready, not the first.
    pub on_second: bool,
    bit: u8,
}

impl IoCondition {
    const SECOND: u8 = 1 << 6;

    /// The object of the operation has to be ready for this.
    #[must_use]
    pub const fn new(condition: Condition) -> Self {
        IoCondition { on_second: false, bit: condition.bit() }
    }

    /// The second thing has to be.
    #[must_use]
    pub const fn on_second(condition: Condition) -> Self {
        IoCondition { on_second: true, ..IoCondition::new(condition) }
    }

    /// Whether a thing of this readiness is known not to be ready for it.
    #[must_use]
    pub const fn is_unmet_by(self, readiness: Readiness) -> bool {
        readiness.excludes(self.bit)
    }

    const fn pack(self) -> u8 {
        (1 + self.bit) | if self.on_second { IoCondition::SECOND } else { 0 }
    }

    const fn unpack(byte: u8) -> Option<Self> {
        match byte & (IoCondition::SECOND - 1) {
            number @ 1..=7 => Some(IoCondition { on_second: byte & IoCondition::SECOND != 0, bit: number - 1 }),
            _ => None,
        }
    }
}

/// Queues of `epoll` that one operation can change beside its operands.
pub const MOST_QUEUES: usize = 2;

/// What an operation waits for, and what is ready behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoEffect {
    condition: u8,
    queue_bits: u8,
    /// Of its object.
    pub object: Readiness,
    /// Of the second thing.
    pub second: Readiness,
    queues: [u16; MOST_QUEUES],
    number: u16,
}

impl IoEffect {
    /// That of an operation that waits for this, of which nothing else is known yet.
    #[must_use]
    pub fn waiting(condition: Option<IoCondition>) -> Self {
        IoEffect { condition: condition.map_or(0, IoCondition::pack), ..IoEffect::default() }
    }

    /// What the operation waits for, if that is known.
    #[must_use]
    pub fn condition(&self) -> Option<IoCondition> {
        IoCondition::unpack(self.condition)
    }

    /// Adds a queue that is changed, and whether it is ready, if that is known. False if there is
    /// no room for it.
    #[must_use]
    pub fn add_queue(&mut self, descriptor: u16, is_ready: Option<bool>) -> bool {
        let Some(at) = self.queues.iter().position(|&queue| queue == 0) else { return false };
        self.queues[at] = descriptor + 1;
        let bits = is_ready.map_or(0, |is_ready| 2 | u8::from(is_ready));
        self.queue_bits |= bits << (2 * at);
        true
    }

    /// The operation makes the descriptor, or ends it.
    pub fn note_number(&mut self, descriptor: u16, is_end: bool) {
        self.number = (descriptor + 1) << 1 | u16::from(is_end);
    }

    /// What stands for the number of a descriptor that it makes or ends, and whether it ends: a
    /// connection that gets a number comes behind the end of the one that had it before.
    #[must_use]
    pub fn number(&self) -> Option<(u64, bool)> {
        let descriptor = (self.number >> 1).checked_sub(1)?;
        Some((io::number(descriptor), self.number & 1 != 0))
    }

    /// The queues that are changed: what stands for each, and what it is ready for.
    pub fn queues(&self) -> impl Iterator<Item = (u64, Readiness)> {
        let (queues, bits) = (self.queues, self.queue_bits);
        (0..MOST_QUEUES).filter_map(move |at| {
            let descriptor = queues[at].checked_sub(1)?;
            let mut readiness = Readiness::default();
            if bits >> (2 * at) & 2 != 0 {
                readiness.add(Condition::Input(0), bits >> (2 * at) & 1 != 0);
            }
            Some((io::file(Endpoint::Queue(descriptor).thing()), readiness))
        })
    }

    /// `value` and `old`.
    #[must_use]
    pub fn pack(&self) -> [u64; 2] {
        let things = u64::from(self.object.0) << 8 | u64::from(self.second.0) << 24;
        let value = u64::from(self.condition) | things | u64::from(self.queue_bits) << 40;
        let value = value | u64::from(self.number) << 44;
        [value, u64::from(self.queues[0]) | u64::from(self.queues[1]) << 16]
    }

    /// Reverses [`IoEffect::pack`].
    #[must_use]
    pub fn unpack([value, old]: [u64; 2]) -> Self {
        IoEffect {
            condition: value as u8,
            queue_bits: (value >> 40) as u8 & 15,
            object: Readiness((value >> 8) as u16),
            second: Readiness((value >> 24) as u16),
            queues: [old as u16, (old >> 16) as u16],
            number: (value >> 44) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_keep_what_they_are_made_of() {
        let mut effect = IoEffect::waiting(Some(IoCondition::on_second(Condition::Script)));
        effect.object.add(Condition::Input(1), true);
        effect.second.add(Condition::Answer, false);
        assert!(effect.add_queue(255, Some(false)));
        assert!(effect.add_queue(7, None));
        assert!(!effect.add_queue(8, None));
        effect.note_number(255, true);
        assert_eq!(effect.number(), Some((io::number(255), true)));
        assert_eq!(IoEffect::unpack(effect.pack()), effect);
        let queues: [_; 2] = core::array::from_fn(|at| effect.queues().nth(at));
        assert!(
            IoCondition::new(Condition::Input(0))
                .is_unmet_by(queues[0].map_or(Readiness::default(), |(_, ready)| ready))
        );
        assert_eq!(queues[1], Some((io::file(Endpoint::Queue(7).thing()), Readiness::default())));
    }

    #[test]
    fn only_what_is_known_not_to_hold_is_excluded() {
        let mut readiness = Readiness::default();
        assert!(readiness.is_unknown());
        readiness.add(Condition::Input(0), true);
        readiness.add(Condition::Output(1), false);
        for (condition, is_unmet) in [
            (Condition::Input(0), false),
            (Condition::Output(1), true),
            (Condition::Input(1), false),
            (Condition::Listener, false),
        ] {
            assert_eq!(IoCondition::new(condition).is_unmet_by(readiness), is_unmet);
            assert_eq!(IoCondition::on_second(condition).is_unmet_by(readiness), is_unmet);
        }
        assert_eq!(IoEffect::default().condition(), None);
    }
}
