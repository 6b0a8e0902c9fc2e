//! Files mapped into a target, from `/proc/<pid>/maps`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A part of a file in the target's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The file.
    pub path: PathBuf,
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Where in the file it starts.
    pub offset: u64,
    /// Whether the processor may execute it.
    pub executable: bool,
}

/// Of the mappings of an emulator's process, those of files of the program: an emulator reads their
/// code and does not execute it. A file's mappings follow one another, from its start on.
#[must_use]
pub fn of_emulated(all: &[Mapping]) -> Vec<Mapping> {
    let files = all.chunk_by(|one, next| one.path == next.path && next.offset != 0);
    files.filter(|parts| parts.iter().all(|part| !part.executable)).flatten().cloned().collect()
}

/// The mappings of a running process, in order of their addresses; none if it is gone.
#[must_use]
pub fn of_process(id: u32) -> Vec<Mapping> {
    std::fs::read(format!("/proc/{id}/maps")).map(|text| parse(&text)).unwrap_or_default()
}

/// Where the files of a process begin, of those that are there.
pub(crate) fn places(all: &[Mapping]) -> Vec<(PathBuf, u64)> {
    let files = all.iter().filter(|mapping| mapping.offset == 0 && mapping.path.is_file());
    files.map(|mapping| (mapping.path.clone(), mapping.start)).collect()
}

/// Paths are bytes, which need not be text.
fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// `start-end perms offset device inode   path`; lines without a file are skipped.
fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    let (permissions, offset) = (field()?, field()?);
    let path = fields.nth(2)?.trim_ascii_start();
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    path.starts_with(b"/").then_some(())?;
    Some(Mapping {
        path: PathBuf::from(OsString::from_vec(unescaped(path))),
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        executable: permissions.contains('x'),
    })
}

/// Undoes the kernel's escaping: it writes a line break as `\012`, and escapes nothing else.
fn unescaped(mut path: &[u8]) -> Vec<u8> {
    const BREAK: &[u8] = b"\\012";
    let mut bytes = Vec::with_capacity(path.len());
    while let Some((&first, rest)) = path.split_first() {
        match path.strip_prefix(BREAK) {
            Some(rest) => {
                bytes.push(b'\n');
                path = rest;
            }
            None => {
                bytes.push(first);
                path = rest;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_understood() {
        let text = "555555554000-555555556000 r-xp 00001000 08:01 123                        /tmp/a b\n\
                    7ffff7dc1000-7ffff7dc4000 rw-p 00000000 00:00 0 \n\
                    7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n";
        let mapping = Mapping {
            path: "/tmp/a b".into(),
            start: 0x5555_5555_4000,
            end: 0x5555_5555_6000,
            offset: 0x1000,
            executable: true,
        };
        assert_eq!(parse(text.as_bytes()), [mapping]);
        let odd = b"1000-2000 r-xp 00001000 08:01 123        /tmp/a\\012b\xff (deleted)";
        let path = OsString::from_vec(b"/tmp/a\nb\xff (deleted)".to_vec());
        assert_eq!(parse(odd)[0].path, PathBuf::from(path));
    }

    #[test]
    fn files_of_the_emulator_are_not_the_programs() {
        let line = |start: u32, rights: &str, offset: u32, path: &str| {
            format!("{start:x}-{:x} {rights} {offset:08x} 08:01 1    {path}\n", start + 0x1000)
        };
        let of = |base: u32, rights: &str, path: &str| {
            line(base, "r--p", 0, path) + &line(base + 0x1000, rights, 0x1000, path)
        };
        let text = of(0x1_0000, "r--p", "/prog") + &of(0x2_0000, "r--p", "/libc") + &of(0x3_0000, "r-xp", "/libc");
        let left: Vec<u64> = of_emulated(&parse(text.as_bytes())).iter().map(|mapping| mapping.start).collect();
        assert_eq!(left, [0x1_0000, 0x1_1000, 0x2_0000, 0x2_1000]);
    }

    #[test]
    fn our_own_file_is_among_our_own() {
        let own = std::env::current_exe().unwrap();
        assert!(of_process(std::process::id()).iter().any(|mapping| mapping.path == own));
    }
}
