//! The lists that say what each function of the C library and each system call is to the search:
//! they cover everything that the C library of this machine exports, and agree with the runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object as _, ObjectSymbol as _};
use raddle_cc::RUNTIME_LIBRARY;
use raddle_engine::{Checker, Observer, Sources, Verdict};

const FUNCTIONS: &str = include_str!("../../../rt/src/library/functions.txt");
const SYSTEM_CALLS: &str = include_str!("../../../rt/src/library/system_calls.txt");
const HIDDEN: &str = include_str!("../../../rt/src/library/hidden.rs");

/// The libraries that belong to the C library.
const LIBRARIES: [&str; 9] = [
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "librt.so.1",
    "libdl.so.2",
    "libutil.so.1",
    "libanl.so.1",
    "libresolv.so.2",
];

/// The kinds that `functions.txt` explains, with their attributes.
const KINDS: [&str; 12] = [
    "data",
    "modelled",
    "modelled ends",
    "modelled object",
    "modelled race-on",
    "pure",
    "pure fills",
    "pure looks-up",
    "thread-local",
    "unmodelled",
    "unmodelled lasting",
    "unmodelled shared",
];

/// Lines without comments, each as its words.
fn lines(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(before, _)| before));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|words| !words.is_empty())
}

/// The kind of every name.
fn kinds() -> BTreeMap<&'static str, String> {
    lines(FUNCTIONS).map(|words| (words[0], words[1..].join(" "))).collect()
}

/// Where the C library of this process is.
fn directory() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path =
        maps.lines().find_map(|line| line.find('/').map(|at| &line[at..]).filter(|at| at.ends_with("/libc.so.6")));
    PathBuf::from(path.expect("this test is linked with the C library")).parent().unwrap().to_path_buf()
}

/// Names that a shared library defines, but for those that only the C library itself may use.
fn exports(bytes: &[u8]) -> BTreeSet<String> {
    let file = ElfFile::<FileHeader64<Endianness>>::parse(bytes).unwrap();
    let endian = Endianness::Little;
    let versions = file.elf_section_table().versions(endian, bytes).unwrap();
    let is_private = |symbol: &object::read::elf::ElfSymbol<'_, '_, FileHeader64<Endianness>>| {
        versions.as_ref().is_some_and(|versions| {
            let index = versions.version_index(endian, symbol.index()).index();
            versions.version(index).unwrap().is_some_and(|version| version.name() == b"GLIBC_PRIVATE")
        })
    };
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && !is_private(symbol))
        .map(|symbol| symbol.name().unwrap().to_owned())
        .collect()
}

fn runtime() -> BTreeSet<String> {
    let runtime = raddle_engine::runtime::install().unwrap();
    exports(&fs::read(runtime.directory().join(RUNTIME_LIBRARY)).unwrap())
}

#[test]
fn the_lists_are_sorted_and_well_formed() {
    let names: Vec<&str> = lines(FUNCTIONS).map(|words| words[0]).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "names are sorted by bytes, each once");
    for (name, kind) in kinds() {
        let hidden = kind.strip_prefix("modelled race=");
        let is_known = KINDS.contains(&kind.as_str()) || kind.starts_with("modelled state=") || hidden.is_some();
        assert!(is_known, "{name}: {kind}");
        if let Some(hidden) = hidden {
            let is_there = HIDDEN.split_whitespace().any(|word| word == hidden);
            assert!(is_there, "{name}: hidden.rs has no address for the state of {hidden}");
        }
    }
    for words in lines(SYSTEM_CALLS) {
        assert!(KINDS.contains(&words[3..].join(" ").as_str()), "{words:?}");
    }
}

#[test]
fn every_symbol_of_the_c_library_is_listed() {
    let kinds = kinds();
    let mut seen = 0;
    for library in LIBRARIES {
        let bytes = fs::read(directory().join(library)).unwrap();
        let exports = exports(&bytes);
        seen += exports.len();
        // Names of versions are symbols, too.
        let is_unlisted = |name: &&String| !name.starts_with("GLIBC_") && !kinds.contains_key(name.as_str());
        let unlisted: Vec<&String> = exports.iter().filter(is_unlisted).collect();
        assert!(unlisted.is_empty(), "{library} exports what functions.txt does not list: {unlisted:?}");
    }
    assert!(seen > 3000, "the C library exports thousands of symbols, not {seen}");
}

#[test]
fn what_is_modelled_is_what_the_runtime_exports() {
    let (kinds, runtime) = (kinds(), runtime());
    // The compiler wrapper and clang send calls of some functions to other names.
    let is_exported =
        |name: &str| ["", "__wrap_", "__tsan_"].iter().any(|prefix| runtime.contains(&format!("{prefix}{name}")));
    for (name, kind) in kinds {
        let exported = is_exported(name);
        assert_eq!(exported, kind == "modelled", "{name} is {kind}; the runtime exports it: {exported}");
    }
}

#[test]
fn every_system_call_is_listed() {
    let column = if cfg!(target_arch = "aarch64") { 1 } else { 0 };
    let listed: BTreeSet<(&str, &str)> = lines(SYSTEM_CALLS).map(|words| (words[column], words[2])).collect();
    let header = fs::read_to_string("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
        .or_else(|_| fs::read_to_string("/usr/include/asm-generic/unistd.h"))
        .or_else(|_| fs::read_to_string("/usr/include/asm/unistd_64.h"))
        .expect("the C library's headers need those of the kernel");
    let mut seen = 0;
    for line in header.lines().filter_map(|line| line.strip_prefix("#define __NR_")) {
        let (name, number) = line.split_once(' ').unwrap();
        assert!(listed.contains(&(number, name)), "system_calls.txt lacks {number} {name}");
        seen += 1;
    }
    assert!(seen > 300, "there are hundreds of system calls, not {seen}");
}

/// Calls a function in a second thread.
const CALLER: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *nothing) {
    double load;
    getloadavg(&load, 1);
    syscall(SYS_gettimeofday, &load, NULL);
    return nothing;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    return pthread_join(thread, NULL);
}
"#;

#[test]
fn a_call_that_is_not_modelled_is_named_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("caller.c");
    fs::write(&source, CALLER).unwrap();
    let program = Sources::new([source]).compile_into(directory.path()).unwrap();
    let report = Checker::new(program).jobs(1).directory(directory.path()).run(&mut Quiet).unwrap();
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:?}");
    let [load, time] = &report.limits[..] else { panic!("two calls: {:?}", report.limits) };
    assert!(load.starts_with("getloadavg was called at ") && load.contains("caller.c:9: "), "{load}");
    assert!(time.starts_with("syscall(SYS_gettimeofday) was called at ") && time.contains("caller.c:10: "), "{time}");
}

/// Says nothing.
struct Quiet;

impl Observer for Quiet {}
