//! Which files a process has mapped, and where.

use std::path::{Path, PathBuf};

use object::Architecture;

/// Where Linux puts a position-independent program when address randomisation is off.
const fn program_base(machine: Architecture) -> u64 {
    match machine {
        // With addresses of 48 bits.
        Architecture::Aarch64 => 0xaaaa_aaaa_a000,
        _ => 0x5555_5555_4000,
    }
}

/// A mapped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// Lowest address that belongs to it; `None` for a program at its default place.
    pub start: Option<u64>,
}

/// The files that a process has mapped. `raddle-exec` reads them from `/proc`; the caller adds them
/// here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    list: Vec<Module>,
}

impl Modules {
    /// Only the program, where it is put when address randomisation is off.
    #[must_use]
    pub fn of_program(path: &Path) -> Self {
        Modules { list: vec![Module { path: path.to_path_buf(), start: None }] }
    }

    /// Adds a file at a known place.
    pub fn add(&mut self, path: &Path, start: u64) {
        self.list.push(Module { path: path.to_path_buf(), start: Some(start) });
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.list.iter()
    }
}

/// What to add to the addresses in a file whose first segment is linked at `linked`, when it is
/// mapped at `start`.
pub(super) fn bias(start: Option<u64>, linked: u64, movable: bool, machine: Architecture) -> u64 {
    let page = linked & !0xfff;
    match start {
        Some(start) => start.wrapping_sub(page),
        None if movable => program_base(machine).wrapping_sub(page),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bias_is_zero_for_fixed_programs() {
        let of = |start, linked, movable| bias(start, linked, movable, Architecture::X86_64);
        assert_eq!(of(None, 0x40_0000, false), 0);
        assert_eq!(of(Some(0x40_0000), 0x40_0000, false), 0);
        assert_eq!(of(None, 0, true), program_base(Architecture::X86_64));
        assert_eq!(of(Some(0x7000), 0x1040, true), 0x6000);
    }
}
