//! Schedules, witnesses and traces.

use raddle_exec::recording::{Recording, choices_of, plan_of};
use serde_json::Value;

/// Larger bodies test nothing new.
const MAX_BYTES: usize = 1 << 16;
/// Header of the compact form up to its checksum: magic and version.
const HEADER: [u8; 12] = *b"raddle\x00t\x01\x00\x00\x00";

/// Reads the bytes as a file; then again as the contents of a file with a right checksum, because a
/// fuzzer does not guess checksums.
pub fn recording(data: &[u8]) {
    let data = &data[..data.len().min(MAX_BYTES)];
    read(data);
    read(&compact(data));
    if let Some(bytes) = readable(data) {
        read(&bytes);
    }
}

/// What is read can be written and read again, and its schedule can be planned.
fn read(bytes: &[u8]) {
    let Ok(recording) = Recording::from_bytes(bytes) else { return };
    if let Ok(bytes) = recording.to_bytes() {
        let again = Recording::from_bytes(&bytes).expect("what was written can be read");
        assert_eq!(again.schedule, recording.schedule);
    }
    let choices = choices_of(&recording.schedule).is_ok();
    assert_eq!(plan_of(&recording).is_ok(), choices, "the plan is made of the choices");
}

/// A file in the compact form with this body.
fn compact(body: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(body, 1);
    let checksum = crc32fast::hash(&packed).to_le_bytes();
    [&HEADER[..], &checksum, &(body.len() as u64).to_le_bytes(), &packed].concat()
}

/// The same JSON with a right checksum.
fn readable(data: &[u8]) -> Option<Vec<u8>> {
    let mut file: Value = serde_json::from_slice(data).ok()?;
    let fields = file.as_object_mut()?;
    let version = fields.remove("raddle-schedule")?;
    fields.remove("checksum");
    let checksum = crc32fast::hash(Value::from(fields.clone()).to_string().as_bytes());
    fields.insert("raddle-schedule".into(), version);
    fields.insert("checksum".into(), Value::from(format!("{checksum:08x}")));
    Some(file.to_string().into_bytes())
}
