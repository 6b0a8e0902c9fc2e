//! Names of streams, subjects and objects.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The stream that lists the searches under way.
pub const SEARCHES: &str = "RADDLE_SEARCHES";
/// The stream in which workers and coordinators say how far they are. It is kept in memory.
pub const BEACONS: &str = "RADDLE_BEACONS";
/// The consumer from which workers pull tasks.
pub const WORKERS: &str = "workers";
/// The object that says what is searched, and the program.
pub const JOB: &str = "job";
pub const PROGRAM: &str = "program";

/// The subject of a search in [`SEARCHES`].
pub fn search(id: &str) -> String {
    format!("raddle.search.{id}")
}

/// The identifier in a subject of [`SEARCHES`].
pub fn id_of_search(subject: &str) -> Option<&str> {
    subject.strip_prefix("raddle.search.").filter(|id| is_id(id, 16))
}

/// The identifier of a search: a hash of what is searched.
pub fn search_id(job: &[u8]) -> String {
    hexadecimal(&Sha256::digest(job)[..8])
}

/// The stream of tasks.
pub fn tasks(search: &str) -> String {
    format!("RADDLE_{search}_TASKS")
}

/// The stream of records.
pub fn done(search: &str) -> String {
    format!("RADDLE_{search}_DONE")
}

/// The bucket with what is searched.
pub fn bucket(search: &str) -> String {
    format!("RADDLE_{search}")
}

/// The subject of a task; of all, with `*`.
pub fn task_subject(search: &str, task: &str) -> String {
    format!("raddle.{search}.task.{task}")
}

/// The subject of a record; of all, with `*`.
pub fn done_subject(search: &str, task: &str) -> String {
    format!("raddle.{search}.done.{task}")
}

/// The last part of a subject, if it is the identifier of a task.
pub fn id_of_task(subject: &str) -> Option<&str> {
    subject.rsplit('.').next().filter(|id| is_id(id, 32))
}

/// The subject of what a process says of itself; `*` for all.
pub fn beacon(search: &str, process: &str) -> String {
    format!("raddle.beacon.{search}.{process}")
}

fn is_id(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Bytes as digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_from_subjects_and_nothing_else_is() {
        let id = search_id(b"job");
        assert_eq!(id_of_search(&search(&id)), Some(&*id));
        assert_eq!(id_of_search("raddle.search.>"), None);
        assert_eq!(id_of_search("raddle.search.0123456789abcdeF"), None);
        let task = "0123456789abcdef0123456789abcdef";
        assert_eq!(id_of_task(&task_subject(&id, task)), Some(task));
        assert_eq!(id_of_task(&task_subject(&id, "*")), None);
    }
}
