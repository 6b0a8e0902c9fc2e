//! Signal handlers as threads of the search.
//!
//! A signal that may arrive at any moment is delivered by a thread of the runtime, its *courier*.
//! The courier waits until the signal may be delivered, suspends the thread that the signal
//! interrupts, runs the handler in its place, and lets it go on. The last component of a courier's
//! spawn path lies beyond those of all threads that its creator creates by itself, so the names of
//! these do not depend on signals.
//!
//! | bits of `arg` | |
//! |---|---|
//! | 0..16 | the thread whose signal it is: it runs the handler, as far as the program can tell |
//! | 16..32 | the thread that is suspended: that one, or the courier whose handler is interrupted |
//! | 32..40 | the signal |
//! | 40 | of a return: whether it ends the wait of the suspended thread |

/// Set in the last component of a courier's spawn path. Parties have a higher bit.
const COMPONENT: u32 = 1 << 30;
/// Set in what stands for the delivery of a signal, in the place of a code address; the bits of
/// [`crate::party`] are different.
const PLACES: u64 = 1 << 47 | 1 << 46;

/// What a beginning or a return of a handler is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// The thread whose signal it is.
    pub target: u16,
    /// The thread that is suspended.
    pub onto: u16,
    /// The signal.
    pub signal: u8,
    /// Whether the return ends the wait of the suspended thread.
    pub interrupts: bool,
}

impl Handling {
    /// As an operand.
    #[must_use]
    pub const fn pack(self) -> u64 {
        self.target as u64 | (self.onto as u64) << 16 | (self.signal as u64) << 32 | (self.interrupts as u64) << 40
    }

    /// Reverses [`Handling::pack`].
    #[must_use]
    pub const fn unpack(arg: u64) -> Self {
        Handling {
            target: arg as u16,
            onto: (arg >> 16) as u16,
            signal: (arg >> 32) as u8,
            interrupts: arg >> 40 & 1 != 0,
        }
    }
}

/// The last component of the spawn path of the `nth` courier, from 1, of a thread.
#[must_use]
pub const fn component(nth: u32) -> u32 {
    COMPONENT | nth & (COMPONENT - 1)
}

/// The number of the courier with this component, if it is one.
#[must_use]
pub const fn of_component(component: u32) -> Option<u32> {
    if component >> 30 == 1 { Some(component & (COMPONENT - 1)) } else { None }
}

/// What stands for the delivery of a signal, in the place of a code address.
#[must_use]
pub const fn place(signal: u8) -> u64 {
    PLACES | signal as u64
}

/// The signal whose delivery a code address stands for.
#[must_use]
pub const fn of_place(pc: u64) -> Option<u8> {
    if pc & !0xff == PLACES { Some(pc as u8) } else { None }
}

/// How the place of a delivery begins, in words; the name of the signal follows. No function has
/// such a name.
pub const PREFIX: &str = "handler of ";

/// Names of signals, by number.
const NAMES: [&str; 32] = [
    "",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The name of a signal; that of the real-time ones, whose numbers begin with 34, stands for all.
#[must_use]
pub const fn name(signal: u8) -> &'static str {
    if signal > 0 && (signal as usize) < NAMES.len() { NAMES[signal as usize] } else { "real-time signal" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::party::{Party, PartyRole};

    #[test]
    fn operands_come_back() {
        let handling = Handling { target: 255, onto: 7, signal: 64, interrupts: true };
        assert_eq!(Handling::unpack(handling.pack()), handling);
        assert_eq!(of_component(component(3)), Some(3));
        assert_eq!(of_place(place(10)), Some(10));
    }

    #[test]
    fn parties_and_couriers_are_told_apart() {
        let party = Party { role: PartyRole::Peer, number: 64 };
        assert_eq!(of_component(party.component()), None);
        assert_eq!(of_place(party.place(77)), None);
        assert_eq!(Party::of_component(component(1)), None);
        assert_eq!(Party::of_place(place(64)), None);
        assert_eq!(of_component(5), None);
    }
}
