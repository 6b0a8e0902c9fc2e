//! Which files a process has mapped, and where.

use std::path::{Path, PathBuf};

/// Where Linux puts a position-independent program when address randomisation is off.
const PROGRAM_BASE: u64 = 0x5555_5555_4000;

/// A mapped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// Lowest address that belongs to it; `None` for a program at its default place.
    pub start: Option<u64>,
}

/// The files that a process has mapped; the program itself comes first.
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

    /// From the text of `/proc/<pid>/maps`. Lines that do not look like mappings of files are passed over.
    #[must_use]
    pub fn from_maps(program: &Path, maps: &str) -> Self {
        let mut list: Vec<Module> = Vec::new();
        for (start, path) in maps.lines().filter_map(mapped_file) {
            if !list.iter().any(|module| module.path == path) {
                list.push(Module { path, start: Some(start) });
            }
        }
        match list.iter().position(|module| module.path == program) {
            Some(index) => list.swap(0, index),
            None => list.insert(0, Module { path: program.to_path_buf(), start: None }),
        }
        Modules { list }
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

/// What to add to the addresses in a file whose first segment is linked at `linked`, when it is mapped at `start`.
pub(super) fn bias(start: Option<u64>, linked: u64, movable: bool) -> u64 {
    let page = linked & !0xfff;
    match start {
        Some(start) => start.wrapping_sub(page),
        None if movable => PROGRAM_BASE.wrapping_sub(page),
        None => 0,
    }
}

/// Start and file of a line that maps the beginning of a file.
fn mapped_file(line: &str) -> Option<(u64, PathBuf)> {
    let mut rest = line;
    let mut field = || {
        let text = rest.trim_start();
        let (word, tail) = text.split_once(' ').unwrap_or((text, ""));
        rest = tail;
        (!word.is_empty()).then_some(word)
    };
    let start = u64::from_str_radix(field()?.split('-').next()?, 16).ok()?;
    let _permissions = field()?;
    let offset = u64::from_str_radix(field()?, 16).ok()?;
    let (_device, _inode) = (field()?, field()?);
    let path = rest.trim_start();
    (offset == 0 && path.starts_with('/')).then(|| (start, PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
555555554000-555555555000 r--p 00000000 08:01 131 /tmp/my prog
555555555000-555555556000 r-xp 00001000 08:01 131 /tmp/my prog
555555558000-555555559000 rw-p 00000000 00:00 0   [heap]
7ffff7d00000-7ffff7d28000 r--p 00000000 08:01 99 /usr/lib/libc.so.6
7ffff7d28000-7ffff7e00000 r-xp 00028000 08:01 99 /usr/lib/libc.so.6
not a line
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]
";

    #[test]
    fn maps_give_each_file_once_with_the_program_first() {
        let modules = Modules::from_maps(Path::new("/usr/lib/libc.so.6"), MAPS);
        let list: Vec<_> = modules.iter().map(|m| (m.path.to_str().unwrap(), m.start)).collect();
        assert_eq!(list, [("/usr/lib/libc.so.6", Some(0x7fff_f7d0_0000)), ("/tmp/my prog", Some(0x5555_5555_4000))]);
    }

    #[test]
    fn a_program_that_is_not_mapped_is_still_there() {
        let modules = Modules::from_maps(Path::new("/tmp/other"), "");
        assert_eq!(modules, Modules::of_program(Path::new("/tmp/other")));
    }

    #[test]
    fn bias_is_zero_for_fixed_programs() {
        assert_eq!(bias(None, 0x40_0000, false), 0);
        assert_eq!(bias(Some(0x40_0000), 0x40_0000, false), 0);
        assert_eq!(bias(None, 0, true), PROGRAM_BASE);
        assert_eq!(bias(Some(0x7000), 0x1040, true), 0x6000);
    }
}
