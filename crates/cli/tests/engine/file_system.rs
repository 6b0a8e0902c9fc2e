//! Private files behave as real ones: random operations give the same natively and under raddle, in
//! equal directories, and raddle leaves the real directory as it was.

use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{Place, program};

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("private_files_behave_as_real_ones", private_files_behave_as_real_ones),
    ("private_files_in_a_process_of_their_own", private_files_in_a_process_of_their_own),
];

/// Operations of one sequence.
const STEPS: &str = "120";

/// A directory with files, links and directories, some levels down so that `..` stays inside.
fn tree(place: &Place, name: &str) -> PathBuf {
    let top = place.path(name);
    let work = top.join("w/w/w");
    if top.exists() {
        std::fs::remove_dir_all(&top).unwrap();
    }
    std::fs::create_dir_all(work.join("real/sub")).unwrap();
    for (file, text) in [("file", "one\n"), ("real/a", "two\n"), ("real/sub/b", "three\n")] {
        std::fs::write(work.join(file), text).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(5000);
        std::fs::File::options().write(true).open(work.join(file)).unwrap().set_modified(time).unwrap();
    }
    std::fs::hard_link(work.join("real/a"), work.join("real/c")).unwrap();
    symlink("real", work.join("link")).unwrap();
    symlink("nowhere", work.join("real/link")).unwrap();
    work
}

/// The directory that [`tree`] has made, given the one to work in.
fn top(work: &Path) -> &str {
    work.ancestors().nth(3).unwrap().to_str().unwrap()
}

/// Everything about a directory that a change would show in.
fn describe(directory: &Path, into: &mut String) {
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    for path in all {
        let about = path.symlink_metadata().unwrap();
        let (mode, links, time) = (about.mode(), about.nlink(), (about.mtime(), about.mtime_nsec()));
        let text = if about.is_file() { std::fs::read_to_string(&path).unwrap() } else { String::new() };
        writeln!(into, "{} {mode:o} {links} {time:?} {text:?}", path.display()).unwrap();
        if about.is_dir() {
            describe(&path, into);
        }
    }
}

fn state(directory: &Path) -> String {
    let mut text = String::new();
    describe(directory, &mut text);
    text
}

fn compare(seeds: std::ops::Range<u32>, mode: &str) {
    let place = Place::new();
    let program = place.build(&program("file_system"), &[]);
    for seed in seeds {
        let seed = seed.to_string();
        let real = tree(&place, "natives");
        let native = Command::new(&program).args([&seed, STEPS, real.to_str().unwrap()]).output().unwrap();
        let native = String::from_utf8_lossy(&native.stdout).replace(top(&real), "TOP");
        let private = tree(&place, "private");
        let before = state(&private);
        let text = private.to_str().unwrap();
        let run = place.raddle(&["run", "--mode", mode, program.to_str().unwrap(), "--", &seed, STEPS, text]);
        assert_eq!(run.status(), Some(0), "seed {seed}: {}", run.all());
        let found = run.stdout().replace(top(&private), "TOP");
        let different = native.lines().zip(found.lines()).find(|(one, other)| one != other);
        assert!(native == found, "seed {seed}: natively and under raddle {different:?}");
        assert_eq!(before, state(&private), "seed {seed} has changed the real directory");
    }
}

fn private_files_behave_as_real_ones() {
    compare(1..61, "snapshot");
}

fn private_files_in_a_process_of_their_own() {
    compare(61..71, "fork");
}
