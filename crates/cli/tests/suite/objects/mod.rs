//! Every access to a shared object has a hook, however the object is copied and whatever its type:
//! random programs, with both compilers at several levels of optimisation.

mod generate;

use crate::common::{Place, for_each};
use generate::{VARIABLES, generate};
use raddle_testkit::effort::examples;
use serde_json::Value;
use std::collections::BTreeSet;

/// Programs for each compiler and level; ten times as many with `--more`.
const PROGRAMS: u64 = 3;

const COMPILERS: [&str; 2] = ["gcc", "clang-19"];

/// The last needs a processor with these vectors to run, which the tests with masks need as well.
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3 -mavx2"];

/// What two threads do, as the generator's `MODE`.
const RACE: &str = "-DMODE=0";
const UNDER_A_LOCK: &str = "-DMODE=1";
const NEIGHBOURS: &str = "-DMODE=2";

fn check(place: &Place, compiler: &str, flags: &str) -> Result<Value, String> {
    let done =
        place.raddle(["check", "--json", "-", "--quiet", "--compiler", compiler, "--cflags", flags, "program.c"]);
    serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.all()))
}

/// The numbers of the variables that are reported to be in a race.
fn racing(report: &Value) -> BTreeSet<usize> {
    let findings = report["findings"].as_array().into_iter().flatten();
    let races = findings.filter(|finding| finding["kind"] == "data-race");
    races.filter_map(|finding| variable(finding["variable"].as_str()?)).collect()
}

/// The number in `v12.of[0]`.
fn variable(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('v')?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Compares one program; what it says on failure is enough to look into it.
fn compare(seed: u64, compiler: &str, level: &str) -> Result<(), String> {
    let place = Place::new();
    let text = generate(seed);
    place.write("program.c", &text);
    for mode in [RACE, UNDER_A_LOCK, NEIGHBOURS] {
        // The size of vectors as arguments depends on options: the compilers warn.
        let flags = format!("-w {level} {mode}");
        let report = check(&place, compiler, &flags)?;
        let (expected, verdict) =
            if mode == RACE { ((0..VARIABLES).collect(), "bug") } else { (BTreeSet::new(), "verified") };
        if report["verdict"] != verdict || racing(&report) != expected {
            return Err(format!("seed {seed}, {compiler} {flags}: {:?}\n{report}\n{text}", racing(&report)));
        }
    }
    Ok(())
}

#[test]
fn every_copy_of_a_shared_object_is_seen() {
    let mut runs = Vec::new();
    for seed in 0..examples(PROGRAMS) {
        for compiler in COMPILERS {
            runs.extend(LEVELS.map(|level| (seed, compiler, level)));
        }
    }
    // A program of its own for each.
    let numbered: Vec<(u64, (u64, &str, &str))> = (0..).zip(runs).collect();
    for_each(&numbered, |&(number, (seed, compiler, level))| compare(seed * 1000 + number, compiler, level));
}

const BY_VALUE: &str = "\
#include <pthread.h>
struct Block { long parts[10]; };
static struct Block shared;
static long part(struct Block block) { return block.parts[9]; }
static void *set(void *argument) { shared.parts[9] = 1; return argument; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, set, 0);
#if COPY
    part(shared);
#endif
    pthread_join(thread, 0);
    return (int)part(shared) - 1;
}
";

const BY_ADDRESS: &str = "\
#include <pthread.h>
static void *nothing(void *argument) { return argument; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    return pthread_join(thread, 0);
}
";

/// A gcc that says that it is another build.
const OTHER_GCC: &str = "\
#!/bin/sh
if [ \"$*\" = -v ]; then
    gcc -v 2>&1 | sed 's/^gcc version \\([^ ]*\\).*/gcc version \\1 (another build)/' >&2
else
    exec gcc \"$@\"
fi
";

/// Without the plug-in, copies that are not seen keep the verdict from being *verified*.
#[test]
fn copies_without_the_plug_in_are_named() {
    let place = Place::new();
    let other = place.write_program("other-gcc", OTHER_GCC);
    let other = other.to_str().expect("text");
    place.write("program.c", BY_VALUE);
    let named = check(&place, other, "-DCOPY=1").unwrap();
    assert_eq!(named["verdict"], "incomplete", "{named:#}");
    let said = named["limits"][0].as_str().unwrap_or_default();
    assert!(said.contains("program.c: compiled by a gcc that raddle has no plug-in for"), "{named:#}");
    assert_eq!(check(&place, "gcc", "-DCOPY=1").unwrap()["verdict"], "bug");
    assert_eq!(check(&place, "gcc", "-DCOPY=0").unwrap()["verdict"], "verified");
    place.write("program.c", BY_ADDRESS);
    let verified = check(&place, other, "").unwrap();
    assert_eq!(verified["verdict"], "verified", "{verified:#}");
}
