//! Programs, compiled in several ways, print the names and places that lookups should give.

use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_testkit::tools::require;

use super::*;

/// A program that was built and run, with its answers.
struct Probe {
    _directory: tempfile::TempDir,
    program: PathBuf,
    output: String,
}

impl Probe {
    fn build(compiler: &str, source: &str, flags: &str) -> Probe {
        require(compiler);
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().canonicalize().unwrap().join("probe");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/symbols/testdata").join(source);
        let status = Command::new(compiler)
            .args(flags.split_whitespace())
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .arg("-pthread")
            .status()
            .unwrap();
        assert!(status.success(), "{compiler} {flags}");
        let output = Command::new(&program).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        Probe { _directory: directory, program, output }
    }

    fn symbols(&self) -> Symbols {
        let mut modules = Modules::default();
        for line in self.lines("module") {
            let path = if line[1].is_empty() { &self.program } else { Path::new(line[1]) };
            modules.add(path, hex(line[0]));
        }
        Symbols::new(&modules, Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    /// Fields of the lines with a certain question.
    fn lines(&self, question: &str) -> impl Iterator<Item = Vec<&str>> {
        self.output.lines().filter_map(move |line| {
            let mut fields = line.split('\t');
            (fields.next() == Some(question)).then(|| fields.collect())
        })
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Asks every question of a program and compares; returns how many there were.
fn ask_all(probe: &Probe, how: &str) -> usize {
    let symbols = probe.symbols();
    let mut asked = 0;
    for line in probe.lines("data") {
        let named = symbols.global(hex(line[0]), line[1].parse().unwrap());
        let named = named.unwrap_or_else(|| panic!("{how}: no name for {line:?}"));
        assert_eq!((named.part.as_str(), named.kind), (line[2], ObjectKind::Global), "{how}");
        let declared = named.declared.expect("declared somewhere");
        assert!(declared.file.as_deref().is_some_and(|file| file.contains("testdata/names.c")), "{how} {declared:?}");
        asked += 1;
    }
    for line in probe.lines("tls") {
        let named = symbols.thread_local(hex(line[3]), hex(line[0]), line[1].parse().unwrap());
        let named = named.unwrap_or_else(|| panic!("{how}: no name for {line:?}"));
        assert_eq!((named.part.as_str(), named.kind), (line[2], ObjectKind::Tls), "{how}");
        asked += 1;
    }
    for line in probe.lines("pc") {
        let frames = symbols.frames(hex(line[0]));
        let functions: Vec<&str> = frames.iter().filter_map(|place| place.function.as_deref()).collect();
        let (expected, line_number) = (line[2], line[1].parse().unwrap());
        // Each compiler names lambdas in its own way.
        let matches = match expected.strip_prefix('*') {
            Some(end) => functions[0].ends_with(end),
            None => expected.split(',').eq(functions.iter().copied()),
        };
        assert!(matches, "{how}: {functions:?} for {expected}");
        assert_eq!(frames[0].line, Some(line_number), "{how} {frames:?}");
        let file = frames[0].file.as_deref().unwrap_or("");
        assert!(file.starts_with("src/symbols/testdata/names.c"), "{how}: {file}");
        asked += 1;
    }
    for line in probe.lines("local") {
        let registers = FrameRegisters { pc: hex(line[3]), sp: hex(line[4]), bp: hex(line[5]) };
        let named = symbols.local(&registers, hex(line[0]), line[1].parse().unwrap());
        let named = named.unwrap_or_else(|| panic!("{how}: no name for {line:?}"));
        assert_eq!((named.part.as_str(), named.kind), (line[2], ObjectKind::Stack), "{how}");
        asked += 1;
    }
    for line in probe.lines("block") {
        let number = |index: usize| line[index].parse().unwrap();
        let name = symbols.in_block(hex(line[0]), super::BlockUse::Allocation, number(1), (number(2), number(3)));
        let name = name.and_then(|name| name.by_pointer().or_else(|| name.by_type("#1")));
        assert_eq!(name.as_deref().unwrap_or(""), line[4], "{how}");
        asked += 1;
    }
    asked
}

fn every_way(compilers: [&str; 2], source: &str, least: usize) {
    for compiler in compilers {
        for flags in [
            "-O0 -gdwarf-4",
            "-O0 -gdwarf-5",
            "-O2 -gdwarf-4",
            "-O2 -gdwarf-5",
            "-O0 -g -no-pie -gz",
            "-O0 -g3 -fdebug-types-section",
        ] {
            let how = format!("{compiler} {flags} {source}");
            let probe = Probe::build(compiler, source, flags);
            assert!(ask_all(&probe, &how) >= least, "{how}: too few questions");
        }
    }
}

#[test]
fn c_names_and_places() {
    every_way(["gcc", "clang-19"], "names.c", 45);
}

#[test]
fn cpp_names_and_places() {
    every_way(["g++", "clang++-19"], "names.cpp", 27);
}

#[test]
fn a_stripped_program_still_has_an_answer() {
    let probe = Probe::build("gcc", "names.c", "-O0 -g");
    assert!(Command::new("strip").arg("--strip-all").arg(&probe.program).status().unwrap().success());
    let symbols = probe.symbols();
    let pc = hex(probe.lines("pc").next().unwrap()[0]);
    let frames = symbols.frames(pc);
    assert_eq!(frames.len(), 1);
    assert!(frames[0].function.as_deref().unwrap().starts_with("probe+0x"), "{frames:?}");
    assert_eq!(symbols.global(hex(probe.lines("data").next().unwrap()[0]), 4), None);
}

#[test]
fn without_dwarf_the_symbol_table_answers() {
    let probe = Probe::build("gcc", "names.c", "-O0 -g0");
    let symbols = probe.symbols();
    let pc = hex(probe.lines("pc").next().unwrap()[0]);
    assert_eq!(symbols.frames(pc)[0].function.as_deref(), Some("main"));
    let line = probe.lines("data").find(|line| line[2] == "table[3].count").unwrap();
    let named = symbols.global(hex(line[0]), 4).unwrap();
    assert!(named.part.starts_with("table+"), "{named:?}");
    assert_eq!(named.object, "table");
}

#[test]
fn addresses_of_nothing_get_the_address_itself() {
    let symbols = Symbols::new(&Modules::of_program(Path::new("/nonexistent")), Path::new("/"));
    assert_eq!(symbols.frames(0x1234)[0].function.as_deref(), Some("0x1234"));
    assert_eq!(symbols.frames(0)[0].function.as_deref(), Some("0x0"));
    assert_eq!(symbols.global(0x1234, 4), None);
    assert_eq!(symbols.thread_local(1, 0, 4), None);
}

/// Damages every part of the debug information in turn: answers may get worse, but there is always
/// one, within a bounded time.
#[test]
fn damaged_debug_information_is_survived() {
    let probe = Probe::build("gcc", "names.c", "-O0 -g");
    let original = std::fs::read(&probe.program).unwrap();
    let started = std::time::Instant::now();
    let mut random = 0x1234_5678_9abc_def1_u64;
    for _ in 0..150 {
        let mut bytes = original.clone();
        for _ in 0..40 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The first page holds the headers: damage there only makes the file unreadable.
            let at = 4096 + (random as usize) % (bytes.len() - 4096);
            bytes[at] = (random >> 32) as u8;
        }
        std::fs::write(&probe.program, &bytes).unwrap();
        let symbols = probe.symbols();
        for line in probe.lines("data") {
            let _ = symbols.global(hex(line[0]), line[1].parse().unwrap());
        }
        for line in probe.lines("pc") {
            assert!(!symbols.frames(hex(line[0])).is_empty());
        }
        for line in probe.lines("local") {
            let registers = FrameRegisters { pc: hex(line[3]), sp: hex(line[4]), bp: hex(line[5]) };
            let _ = symbols.local(&registers, hex(line[0]), 4);
        }
    }
    std::fs::write(&probe.program, &original[..original.len() / 2]).unwrap();
    let _ = probe.symbols().global(hex(probe.lines("data").next().unwrap()[0]), 4);
    assert!(started.elapsed().as_secs() < 120, "took {:?}", started.elapsed());
}

#[test]
fn own_code_is_told_from_the_systems() {
    let place = |file: &str| Place { file: Some(file.into()), ..Place::default() };
    assert!(is_own_code(&place("bank.c")));
    assert!(is_own_code(&place("/home/me/bank.c")));
    assert!(!is_own_code(&place("/usr/include/c++/12/bits/std_mutex.h")));
    assert!(!is_own_code(&place("/opt/gcc-14/include/c++/14/mutex")));
    assert!(!is_own_code(&place("/home/me/.local/share/raddle/1/include/bits/basic_string.tcc")));
    assert!(!is_own_code(&Place::default()));
}
