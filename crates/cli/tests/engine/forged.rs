//! Recordings and reports that were changed: whatever stands in them, the commands end in
//! order and in time.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::tools::{Place, program};

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("forged_traces_end_in_order", forged_traces),
    ("forged_witnesses_end_in_order", forged_witnesses),
    ("forged_reports_end_in_order", forged_reports),
];

/// Bytes in front of a trace's payload: magic, version, checksum, size.
const HEADER: usize = 24;
/// Numbers that things of any size trip over.
const NUMBERS: [u64; 6] = [0, 255, 65_536, u32::MAX as u64, 1 << 63, u64::MAX];
/// No command on such a file needs nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The command ends with a status that the documentation knows, in time, and without a panic.
fn ends_in_order(place: &Place, words: &[&str]) {
    let begun = Instant::now();
    let done = place.raddle(words);
    let all = done.all();
    assert!(matches!(done.status(), Some(0..=3)), "{words:?}: {:?}\n{all}", done.status());
    assert!(!all.contains("panicked") && !all.contains("RUST_BACKTRACE"), "{words:?}: {all}");
    assert!(begun.elapsed() < PATIENCE, "{words:?} took {:?}", begun.elapsed());
    if done.status() == Some(2) {
        assert!(done.stderr().contains("raddle: "), "{words:?} does not say what is wrong: {all}");
    }
}

/// Puts the right header in front of a payload, which may claim any size.
fn sealed(payload: &[u8], size: u64) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(payload, 1);
    let mut bytes = b"raddle\0t\x01\0\0\0".to_vec();
    bytes.extend(crc32fast::hash(&packed).to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(packed);
    bytes
}

fn forged_traces() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let (two, trace) = (two.to_str().unwrap(), place.text("trace"));
    place.raddle(&["run", "--trace", &trace, two]);
    let bytes = std::fs::read(&trace).unwrap();
    let payload = miniz_oxide::inflate::decompress_to_vec(&bytes[HEADER..]).unwrap();
    let size = payload.len() as u64;
    let with = |at: usize, byte: u8| {
        let mut changed = payload.clone();
        changed[at] = byte;
        sealed(&changed, size)
    };
    let mut forged = vec![sealed(&payload, u64::MAX), sealed(&payload, 1 << 40), sealed(&payload, 0), sealed(&[], 0)];
    // Spread over the payload: paths, settings, threads, steps, accesses, the schedule.
    forged.extend((0..payload.len()).step_by(payload.len() / 12).flat_map(|at| [with(at, 0xff), with(at, 1)]));
    forged.extend((1..4).map(|part| sealed(&payload[..payload.len() * part / 4], size * part as u64 / 4)));
    for bytes in forged {
        std::fs::write(&trace, bytes).unwrap();
        ends_in_order(&place, &["replay", &trace]);
        ends_in_order(&place, &["run", "--schedule", &trace, two]);
    }
    assert_eq!(place.processes(), Vec::<String>::new());
}

/// Every number and text of a value, replaced one by one.
fn variants(value: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::Value;
    let mut all = Vec::new();
    match value {
        Value::Number(_) => all.extend(NUMBERS.map(Value::from)),
        Value::String(_) => all.extend(["", "T9.4294967295", "Exit", "<b>\u{0}"].map(Value::from)),
        Value::Bool(is) => all.push(Value::from(!is)),
        Value::Array(items) => {
            all.push(Value::Array(Vec::new()));
            all.push(items.iter().chain(items).cloned().collect());
            all.push(items.iter().rev().cloned().collect());
            for (index, item) in items.iter().enumerate() {
                all.extend(variants(item).into_iter().map(|variant| {
                    let mut changed = items.clone();
                    changed[index] = variant;
                    Value::Array(changed)
                }));
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let mut without = fields.clone();
                without.remove(name);
                all.push(Value::Object(without));
                all.extend(variants(field).into_iter().map(|variant| {
                    let mut changed = fields.clone();
                    changed.insert(name.clone(), variant);
                    Value::Object(changed)
                }));
            }
        }
        Value::Null => {}
    }
    all
}

/// About so many of the variants, from all over.
fn some(value: &serde_json::Value, count: usize) -> Vec<serde_json::Value> {
    let all = variants(value);
    let step = (all.len() / count).max(1);
    all.into_iter().step_by(step).collect()
}

fn parsed(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A directory with the run of a program that deadlocks.
fn checked(place: &Place) -> String {
    let deadlock = place.build(&program("deadlock"), &[]);
    let done = place.raddle(&["check", "--quiet", "--out", &place.text("run"), deadlock.to_str().unwrap()]);
    assert_eq!(done.status(), Some(1), "{}", done.all());
    deadlock.to_str().unwrap().into()
}

fn forged_witnesses() {
    let place = Place::new();
    let deadlock = checked(&place);
    let original = parsed(&place.path("run/d1.json"));
    let (witness, mut body) = (place.text("witness"), original.clone());
    for key in ["raddle-schedule", "checksum"] {
        body.as_object_mut().unwrap().remove(key);
    }
    for mut forged in some(&body, 40) {
        let checksum = format!("{:08x}", crc32fast::hash(forged.to_string().as_bytes()));
        forged["checksum"] = checksum.into();
        forged["raddle-schedule"] = original["raddle-schedule"].clone();
        std::fs::write(&witness, forged.to_string()).unwrap();
        ends_in_order(&place, &["replay", &witness]);
        ends_in_order(&place, &["run", "--schedule", &witness, &deadlock]);
    }
    assert_eq!(place.processes(), Vec::<String>::new());
}

fn forged_reports() {
    let place = Place::new();
    checked(&place);
    let formats = ["text", "tsan", "gcc", "github", "json", "sarif", "junit", "html", "perfetto", "dot", "std"];
    for name in ["report.json", "d1.story.json"] {
        let path = place.path("run").join(name);
        let original = parsed(&path);
        for (number, forged) in some(&original, 30).into_iter().enumerate() {
            std::fs::write(&path, forged.to_string()).unwrap();
            ends_in_order(&place, &["report", &place.text("run"), "--format", formats[number % formats.len()]]);
            ends_in_order(&place, &["show", &place.text("run"), "--step", "2"]);
        }
        std::fs::write(&path, &original.to_string()[..100]).unwrap();
        ends_in_order(&place, &["report", &place.text("run")]);
        std::fs::write(&path, original.to_string()).unwrap();
    }
}
