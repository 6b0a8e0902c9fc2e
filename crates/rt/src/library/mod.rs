//! What the functions of the C library and the system calls are to the search. The lists are data:
//! `functions.txt` and `system_calls.txt`, whose first lines explain the kinds.
//!
//! A function that the runtime does not export but that touches shared state is reached through a
//! stub ([`imports`]). So is one that the list does not know: it counts as not modelled.

pub mod calls;
mod hidden;
pub mod imports;
pub mod noreturn;
pub mod program_hooks;

use core::cmp::Ordering;

use crate::arch::syscall::NUMBER_COLUMN;

pub use hidden::address as hidden_state;

static FUNCTIONS: &str = include_str!("functions.txt");
static SYSTEM_CALLS: &str = include_str!("system_calls.txt");

/// What a call is to the search, as far as the runtime has to act.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Nothing has to be done: it is harmless, or the runtime replaces the function.
    Known,
    /// The kernel writes to the memory of its arguments.
    Fills,
    /// It finds a function by its name.
    LooksUp,
    /// It accesses hidden state that the C library guards, known by this number.
    State(u64),
    /// It accesses hidden state that is not guarded, which has this address.
    Race(usize),
    /// It ends the process.
    Ends,
    /// It accesses the object of its first argument, which the C library guards.
    Object,
    /// It accesses the object of its first argument, which is not guarded.
    RaceOn,
    /// Its effect is not part of the search.
    Unmodelled(Effect),
}

/// What an effect that is not modelled lasts for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is in memory, which is restored: it matters if there is a second thread.
    Shared,
    /// It may be in the kernel.
    Kernel,
    /// Only the end of the process undoes it.
    Lasting,
}

/// What the function of this name is.
pub fn kind_of(name: &[u8]) -> CallKind {
    find(name).map_or(CallKind::Unmodelled(Effect::Kernel), parse)
}

/// The line of a name in the list, behind the name.
fn find(name: &[u8]) -> Option<&'static str> {
    let text = FUNCTIONS.as_bytes();
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = text[low..middle].iter().rposition(|&byte| byte == b'\n').map_or(low, |at| low + at + 1);
        let end = text[start..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| start + at);
        let line = &FUNCTIONS[start..end];
        let (here, rest) = line.split_once(' ').unwrap_or((line, ""));
        match here.as_bytes().cmp(name) {
            Ordering::Equal => return Some(rest),
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
        }
    }
    None
}

/// The words that follow a name.
fn parse(words: &'static str) -> CallKind {
    let mut words = words.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some("unmodelled"), Some("shared")) => CallKind::Unmodelled(Effect::Shared),
        (Some("unmodelled"), Some("lasting")) => CallKind::Unmodelled(Effect::Lasting),
        (Some("unmodelled"), _) => CallKind::Unmodelled(Effect::Kernel),
        (Some("pure"), Some("fills")) => CallKind::Fills,
        (Some("pure"), Some("looks-up")) => CallKind::LooksUp,
        (Some("modelled"), Some("ends")) => CallKind::Ends,
        (Some("modelled"), Some("object")) => CallKind::Object,
        (Some("modelled"), Some("race-on")) => CallKind::RaceOn,
        (Some("modelled"), Some(attribute)) => match attribute.split_once('=') {
            Some(("state", state)) => CallKind::State(number(state)),
            Some((_, state)) => CallKind::Race(hidden::address(state)),
            None => CallKind::Known,
        },
        _ => CallKind::Known,
    }
}

/// A number for a word, the same in every run (FNV-1a).
fn number(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Columns with numbers in the list of system calls.
const NUMBERS: usize = 2;

/// Name and kind of a system call; one that the list does not know has neither.
pub fn system_call(number: i64) -> Option<(&'static str, CallKind)> {
    SYSTEM_CALLS.lines().find_map(|line| {
        let mut words = line.splitn(NUMBERS + 2, ' ');
        let own = words
            .by_ref()
            .take(NUMBERS)
            .enumerate()
            .fold(None, |own, (column, word)| if column == NUMBER_COLUMN { word.parse().ok() } else { own });
        let (name, kind) = (words.next()?, words.next()?);
        (own == Some(number)).then(|| (name, parse(kind)))
    })
}
