//! Scripted parties: the other sides of connections, played by threads of the runtime.
//!
//! A party is a child of main. The last component of its spawn path lies beyond those of all
//! threads that main creates itself, so the names of the program's threads do not depend on the
//! parties, and their ranks come first. In the place of code addresses stand lines of scripts,
//! beyond all addresses that programs have.

use core::fmt;

/// Parties of a run, at most.
pub const MAX_PARTIES: usize = 64;
/// Lines of a script, at most.
pub const MAX_LINES: u32 = (1 << LINE_BITS) - 1;

const LINE_BITS: u32 = 24;
const NUMBER_BITS: u32 = 8;
/// Set in the last component of a party's spawn path.
const COMPONENT: u32 = 1 << 31;
/// Set in what stands for a line of a script: programs have no code there.
const LINES: u64 = 1 << 47;

/// What a party does first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartyRole {
    /// It connects to the program.
    Client,
    /// The program connects to it.
    Peer,
}

/// A party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party {
    /// What it does first.
    pub role: PartyRole,
    /// Its number among those of its role, from 1.
    pub number: u8,
}

impl Party {
    /// A number for it: the role in the upper byte, the number in the lower one. Never 0.
    #[must_use]
    pub const fn code(self) -> u16 {
        (self.role as u16) << NUMBER_BITS | self.number as u16
    }

    const fn of_code(code: u32) -> Option<Party> {
        let role = match code >> NUMBER_BITS {
            0 => PartyRole::Client,
            1 => PartyRole::Peer,
            _ => return None,
        };
        let number = code as u8;
        if number == 0 { None } else { Some(Party { role, number }) }
    }

    /// The last component of its spawn path.
    #[must_use]
    pub const fn component(self) -> u32 {
        COMPONENT | self.code() as u32
    }

    /// The party with this component.
    #[must_use]
    pub const fn of_component(component: u32) -> Option<Party> {
        if component & COMPONENT == 0 { None } else { Party::of_code(component & !COMPONENT) }
    }

    /// What stands for a line of its script, in the place of a code address. Line 0 stands for the
    /// script as a whole.
    #[must_use]
    pub const fn place(self, line: u32) -> u64 {
        LINES | (self.code() as u64) << LINE_BITS | (line & MAX_LINES) as u64
    }

    /// The party and the line that a code address stands for.
    #[must_use]
    pub const fn of_place(pc: u64) -> Option<(Party, u32)> {
        if pc & LINES == 0 || pc >> 48 != 0 {
            return None;
        }
        match Party::of_code(((pc & !LINES) >> LINE_BITS) as u32) {
            Some(party) => Some((party, pc as u32 & MAX_LINES)),
            None => None,
        }
    }

    /// The party of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Party> {
        let of = |role: PartyRole| {
            let digits = name.strip_prefix(role.word()).filter(|digits| !digits.starts_with(['0', '+']))?;
            digits.parse().ok().map(|number| Party { role, number })
        };
        of(PartyRole::Client).or_else(|| of(PartyRole::Peer))
    }
}

impl PartyRole {
    /// The word for reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            PartyRole::Client => "client",
            PartyRole::Peer => "peer",
        }
    }
}

impl fmt::Display for Party {
    /// `client1`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.role.word(), self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::string::ToString;

    #[test]
    fn parties_are_told_apart() {
        for role in [PartyRole::Client, PartyRole::Peer] {
            for number in [1, 7, u8::MAX] {
                let party = Party { role, number };
                assert_eq!(Party::of_component(party.component()), Some(party));
                assert_eq!(Party::of_place(party.place(MAX_LINES)), Some((party, MAX_LINES)));
                assert_eq!(Party::of_place(party.place(0)), Some((party, 0)));
                assert_eq!(Party::named(&party.to_string()), Some(party));
            }
        }
        assert!(Party { role: PartyRole::Client, number: 255 } < Party { role: PartyRole::Peer, number: 1 });
    }

    #[test]
    fn others_are_no_parties() {
        for component in [0, 1, COMPONENT, COMPONENT | 0x200, u32::MAX] {
            assert_eq!(Party::of_component(component), None);
        }
        for pc in [0, 0x7fff_ffff_f000, LINES, u64::MAX, 1 << 48] {
            assert_eq!(Party::of_place(pc), None);
        }
        for name in ["client", "client0", "client01", "client+1", "client256", "T1", "peer 1"] {
            assert_eq!(Party::named(name), None);
        }
    }
}
