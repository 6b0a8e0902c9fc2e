//! Tasks, records, and which of them make up a search.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::names::hexadecimal;

/// Version of what is stored. It is read first.
const VERSION: u8 = 1;

/// Names a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId([u8; 16]);

impl TaskId {
    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0; 16];
        let digits = text.as_bytes().chunks_exact(2);
        if text.len() != 32 {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(digits) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(TaskId(id))
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    version: u8,
    parent: TaskId,
    index: u32,
    /// What there is to do.
    pub work: Vec<u8>,
}

impl Task {
    /// All the work.
    #[must_use]
    pub fn root(work: Vec<u8>) -> Self {
        Task { version: VERSION, parent: TaskId([0; 16]), index: 0, work }
    }

    /// A child of a task.
    #[must_use]
    pub fn child(parent: TaskId, index: u32, work: Vec<u8>) -> Self {
        Task { version: VERSION, parent, index, work }
    }

    /// Its name in a search.
    #[must_use]
    pub fn id(&self, search: &str) -> TaskId {
        let mut hash = Sha256::new();
        hash.update(search.as_bytes());
        hash.update(self.parent.0);
        hash.update(self.index.to_le_bytes());
        hash.update(&self.work);
        let digest = hash.finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        TaskId(id)
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads a task that was stored with this name.
    ///
    /// # Errors
    /// If it is none, or one of another search or name: a sentence.
    pub fn from_bytes(search: &str, name: &str, bytes: &[u8]) -> Result<Self, String> {
        let task: Task = read(bytes, "task")?;
        if task.id(search).to_string() == name {
            Ok(task)
        } else {
            Err("a task was forged: its work has another name".into())
        }
    }
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    version: u8,
    search: String,
    task: TaskId,
    /// The children's work.
    pub children: Vec<Vec<u8>>,
    /// What doing it gave.
    pub result: Vec<u8>,
}

impl TaskRecord {
    /// Of a task of a search.
    #[must_use]
    pub fn new(search: &str, task: TaskId, children: Vec<Vec<u8>>, result: Vec<u8>) -> Self {
        TaskRecord { version: VERSION, search: search.into(), task, children, result }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads a record that was stored with this name.
    ///
    /// # Errors
    /// If it is none, or one of another search or task: a sentence.
    pub fn from_bytes(search: &str, name: &str, bytes: &[u8]) -> Result<Self, String> {
        let record: TaskRecord = read(bytes, "record")?;
        if record.search != search || record.task.to_string() != name {
            return Err("a record was forged: it belongs to another task or search".into());
        }
        Ok(record)
    }

    /// The tasks of the children.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        (0u32..).zip(&self.children).map(|(index, work)| Task::child(self.task, index, work.clone()))
    }
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &str) -> Result<T, String> {
    if bytes.first() != Some(&VERSION) {
        return Err(format!("a {what} has another form: it was written by another version"));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(format!("a {what} makes no sense")),
    }
}

/// Which tasks of a search are open.
#[derive(Debug)]
pub struct TaskTree {
    search: String,
    /// Announced, without a record. As they are stored.
    open: BTreeMap<TaskId, Vec<u8>>,
    done: u64,
}

/// A record that was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    /// It belongs to an open task.
    Fits(TaskRecord),
    /// Its task is not open: it was never announced, or is done.
    Unknown,
    /// Its task is open, but it makes no sense: why.
    Wrong(String),
}

impl TaskTree {
    /// Nothing is done yet.
    #[must_use]
    pub fn new(search: &str, root: &Task) -> Self {
        let open = BTreeMap::from([(root.id(search), root.to_bytes())]);
        TaskTree { search: search.into(), open, done: 0 }
    }

    /// Reads a record that was stored with this name. It does not count yet.
    #[must_use]
    pub fn read(&self, name: &str, bytes: &[u8]) -> Reading {
        if !TaskId::parse(name).is_some_and(|id| self.open.contains_key(&id)) {
            return Reading::Unknown;
        }
        match TaskRecord::from_bytes(&self.search, name, bytes) {
            Ok(record) => Reading::Fits(record),
            Err(why) => Reading::Wrong(why),
        }
    }

    /// Counts a record: its task is done, and its children are open.
    pub fn count(&mut self, record: &TaskRecord) {
        if self.open.remove(&record.task).is_none() {
            return;
        }
        self.done += 1;
        for task in record.tasks() {
            self.open.insert(task.id(&self.search), task.to_bytes());
        }
    }

    /// Whether everything is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Tasks that are done, and those that are open.
    #[must_use]
    pub fn figures(&self) -> (u64, u64) {
        (self.done, self.open.len() as u64)
    }

    /// The open tasks as they are stored.
    pub fn open(&self) -> impl Iterator<Item = (TaskId, &[u8])> {
        self.open.iter().map(|(id, bytes)| (*id, &bytes[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: &str = "0123456789abcdef";

    fn tree() -> (TaskTree, TaskId) {
        let root = Task::root(vec![1, 2, 3]);
        (TaskTree::new(SEARCH, &root), root.id(SEARCH))
    }

    fn record(task: TaskId, children: &[&[u8]]) -> TaskRecord {
        TaskRecord::new(SEARCH, task, children.iter().map(|work| work.to_vec()).collect(), vec![9])
    }

    #[test]
    fn all_is_done_when_every_announced_task_has_a_record() {
        let (mut tree, root) = tree();
        let first = record(root, &[b"a", b"b"]);
        assert_eq!(tree.read(&root.to_string(), &first.to_bytes()), Reading::Fits(first.clone()));
        tree.count(&first);
        assert_eq!((tree.figures(), tree.is_done()), ((1, 2), false));
        let children: Vec<TaskId> = first.tasks().map(|task| task.id(SEARCH)).collect();
        assert_eq!(
            tree.open().map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>(),
            children.iter().copied().collect()
        );
        for child in children {
            tree.count(&record(child, &[]));
            tree.count(&record(child, &[b"late"]));
        }
        assert_eq!((tree.figures(), tree.is_done()), ((3, 0), true));
        assert_eq!(tree.read(&root.to_string(), &first.to_bytes()), Reading::Unknown);
    }

    #[test]
    fn children_with_equal_work_are_different_tasks() {
        let (_, root) = tree();
        let ids: Vec<TaskId> = record(root, &[b"a", b"a"]).tasks().map(|task| task.id(SEARCH)).collect();
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn forged_tasks_have_another_name() {
        let task = Task::root(vec![7]);
        let name = task.id(SEARCH).to_string();
        assert_eq!(Task::from_bytes(SEARCH, &name, &task.to_bytes()), Ok(task.clone()));
        let forged = Task { work: vec![8], ..task.clone() };
        assert!(Task::from_bytes(SEARCH, &name, &forged.to_bytes()).unwrap_err().contains("forged"));
        assert!(Task::from_bytes("fedcba9876543210", &name, &task.to_bytes()).is_err());
        let mut newer = task.to_bytes();
        newer[0] = VERSION + 1;
        assert!(Task::from_bytes(SEARCH, &name, &newer).unwrap_err().contains("another version"));
    }

    #[test]
    fn records_of_other_tasks_searches_and_forms_are_told_apart() {
        let (tree, root) = tree();
        let name = root.to_string();
        let wrong = |bytes: &[u8]| matches!(tree.read(&name, bytes), Reading::Wrong(_));
        let whole = record(root, &[b"a"]).to_bytes();
        assert!((0..whole.len()).all(|end| wrong(&whole[..end])));
        assert!(wrong(&[&whole[..], &[0]].concat()));
        let other = Task::root(vec![4]).id(SEARCH);
        assert!(wrong(&record(other, &[]).to_bytes()));
        assert!(wrong(&TaskRecord { search: "x".into(), ..record(root, &[]) }.to_bytes()));
        assert_eq!(tree.read(&other.to_string(), &record(other, &[]).to_bytes()), Reading::Unknown);
    }
}
