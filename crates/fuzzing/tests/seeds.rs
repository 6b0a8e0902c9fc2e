//! Each target on its seeds and on damaged copies of them: what a fuzzer does at first, the same
//! every time.

use std::path::{Path, PathBuf};

use raddle_fuzzing::TARGETS;
use raddle_testkit::effort::examples;

/// Damaged copies of each seed; ten times as many with `--more`.
const COPIES: u64 = 1_000;

/// Numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }
}

fn seeds(target: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Changes the bytes in one of several ways.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
    match random.below(6) {
        0 => bytes.truncate(from),
        1 if !bytes.is_empty() => bytes[from] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[from] = [0, 1, b'*', b'|', b'-', 0x7f, 0xff][random.below(7)],
        3 => drop(bytes.drain(from.min(to)..from.max(to))),
        4 => {
            let part = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.splice(from..from, part);
        }
        _ => bytes.insert(from, random.below(256) as u8),
    }
}

#[test]
fn bodies_hold_on_seeds_and_damaged_copies() {
    let copies = examples(COPIES);
    for (target, body) in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for seed in seeds {
            let whole = std::fs::read(&seed).unwrap();
            body(&whole);
            for number in 0..copies {
                let mut random = Random(number);
                let mut bytes = whole.clone();
                for _ in 0..=random.below(4) {
                    damage(&mut bytes, &mut random);
                }
                body(&bytes);
            }
        }
    }
}

/// `fuzz/` has exactly these targets.
#[test]
fn every_body_has_a_fuzz_target() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut found: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut expected = TARGETS.map(|(name, _)| name.to_string());
    expected.sort();
    assert_eq!(found, expected);
}
