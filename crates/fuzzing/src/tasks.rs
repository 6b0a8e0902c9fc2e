use raddle_cluster::tree::{Reading, Task, TaskRecord, TaskTree};
use raddle_explore::optimal::items;

const SEARCH: &str = "0123456789abcdef";

/// Tasks and records of a shared search, and the work in them. What is understood is understood
/// again.
pub fn tasks(data: &[u8]) {
    let root = Task::root(data.to_vec());
    let name = root.id(SEARCH).to_string();
    assert_eq!(Task::from_bytes(SEARCH, &name, &root.to_bytes()), Ok(root.clone()));
    let _ = Task::from_bytes(SEARCH, &name, data);
    let mut tree = TaskTree::new(SEARCH, &root);
    if let Reading::Fits(record) = tree.read(&name, data) {
        assert_eq!(TaskRecord::from_bytes(SEARCH, &name, &record.to_bytes()), Ok(record.clone()));
        tree.count(&record);
    }
    if let Ok(work) = items::decode(data) {
        let bytes = items::encode(&work).expect("what was read is short enough to be written");
        assert_eq!(items::decode(&bytes), Ok(work));
    }
}
