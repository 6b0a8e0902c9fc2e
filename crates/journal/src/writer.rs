//! Writing: by a thread of its own, so that a search does not wait for the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{FILE_HEADER, Record, file_header};

/// A file may be so many times as large as what is needed of it,
const GROWTH: u64 = 2;
/// and so much larger, before it is written anew.
const ROOM: u64 = 4 << 20;

/// Why nothing is written any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}", path = path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    pub what: String,
}

/// What the thread is asked for.
enum Order {
    Append(Vec<Record>),
    Rewrite(Vec<Record>),
}

/// How long an order took, without waiting for the disk; or why it failed.
type Answer = Result<Duration, String>;

/// A journal that is written.
///
/// Writers are kept apart by a lock on the directory, which ends with the process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    orders: Option<Sender<Order>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    is_busy: bool,
    failure: Option<WriteError>,
    /// Bytes of the file.
    size: u64,
    /// How long the last order took.
    cost: Duration,
    /// Holds the lock.
    _directory: File,
}

impl Journal {
    /// A journal in this directory, which is made if need be. Nothing is written before the first
    /// order; a file of this name stays until then.
    ///
    /// # Errors
    /// If the directory cannot be used, or another process writes there.
    pub fn open(directory: &Path, name: &str) -> Result<Self, WriteError> {
        let path = directory.join(name);
        let failed = |error: io::Error| WriteError { path: directory.into(), what: error.to_string() };
        std::fs::create_dir_all(directory).map_err(failed)?;
        let handle = File::open(directory).map_err(failed)?;
        if handle.try_lock().is_err() {
            let what = "another raddle writes its journal there".into();
            return Err(WriteError { path: directory.into(), what });
        }
        let ((orders, taken), (answer, answers)) = (channel(), channel());
        let worker = Worker { path: path.clone(), file: None, size: 0 };
        let thread = thread::spawn(move || worker.work(&taken, &answer));
        Ok(Journal {
            path,
            orders: Some(orders),
            answers,
            thread: Some(thread),
            is_busy: false,
            failure: None,
            size: 0,
            cost: Duration::ZERO,
            _directory: handle,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether records are still being written.
    pub fn is_busy(&mut self) -> bool {
        while self.is_busy {
            match self.answers.try_recv() {
                Ok(answer) => self.take(answer),
                Err(_) => break,
            }
        }
        self.is_busy
    }

    /// Why nothing is written any more, if that is so.
    #[must_use]
    pub fn failure(&self) -> Option<&WriteError> {
        self.failure.as_ref()
    }

    /// How long the last order took, without waiting for the disk.
    #[must_use]
    pub fn cost(&self) -> Duration {
        self.cost
    }

    /// Whether `needed` bytes are so few that the file should be written anew instead of appending
    /// to it.
    #[must_use]
    pub fn is_wasteful(&self, needed: u64) -> bool {
        self.size > needed.saturating_mul(GROWTH).saturating_add(ROOM)
    }

    /// Appends records to what was written by this journal.
    pub fn append(&mut self, records: Vec<Record>) {
        self.size += records.iter().map(Record::size).sum::<u64>();
        self.order(Order::Append(records));
    }

    /// Puts a file with these records in the place of the present one. Whatever happens, one of the
    /// two is there.
    pub fn rewrite(&mut self, records: Vec<Record>) {
        self.size = FILE_HEADER as u64 + records.iter().map(Record::size).sum::<u64>();
        self.order(Order::Rewrite(records));
    }

    fn order(&mut self, order: Order) {
        self.wait();
        if self.failure.is_none()
            && let Some(orders) = &self.orders
        {
            self.is_busy = orders.send(order).is_ok();
        }
    }

    fn take(&mut self, answer: Answer) {
        self.is_busy = false;
        match answer {
            Ok(cost) => self.cost = cost,
            Err(what) => self.failure = Some(WriteError { path: self.path.clone(), what }),
        }
    }

    /// Waits until everything is written.
    pub fn wait(&mut self) {
        while self.is_busy {
            match self.answers.recv() {
                Ok(answer) => self.take(answer),
                Err(_) => self.is_busy = false,
            }
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct Worker {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

impl Worker {
    fn work(mut self, orders: &Receiver<Order>, answers: &Sender<Answer>) {
        while let Ok(order) = orders.recv() {
            let answer = self.perform(&order).map_err(|error| {
                // What was written of the last records is of no use, and the disk may be full.
                if let Some(file) = &self.file {
                    let _ = file.set_len(self.size);
                }
                error.to_string()
            });
            if answers.send(answer).is_err() {
                return;
            }
        }
    }

    fn perform(&mut self, order: &Order) -> io::Result<Duration> {
        let begun = Instant::now();
        match order {
            Order::Append(records) => {
                let file = self.file.as_mut().ok_or_else(|| io::Error::other("nothing was written before"))?;
                let written = write(file, records)?;
                let cost = begun.elapsed();
                file.sync_data()?;
                self.size += written;
                Ok(cost)
            }
            Order::Rewrite(records) => {
                let mut name = self.path.as_os_str().to_os_string();
                name.push(".part");
                let part = PathBuf::from(name);
                let cost = self.replace(&part, records, begun);
                if cost.is_err() {
                    let _ = std::fs::remove_file(&part);
                }
                cost
            }
        }
    }

    fn replace(&mut self, part: &Path, records: &[Record], begun: Instant) -> io::Result<Duration> {
        let _ = std::fs::remove_file(part);
        // It holds the environment of the program.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
        file.write_all(&file_header())?;
        let written = write(&mut file, records)?;
        let cost = begun.elapsed();
        file.sync_all()?;
        std::fs::rename(part, &self.path)?;
        if let Some(directory) = self.path.parent() {
            File::open(directory)?.sync_all()?;
        }
        (self.file, self.size) = (Some(file), FILE_HEADER as u64 + written);
        Ok(cost)
    }
}

/// Writes the records, and says how many bytes that took.
fn write(file: &mut File, records: &[Record]) -> io::Result<u64> {
    for record in records {
        file.write_all(&record.header())?;
        file.write_all(&record.contents)?;
    }
    Ok(records.iter().map(Record::size).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn record(kind: u32, size: usize) -> Record {
        Record { kind, contents: vec![7; size] }
    }

    #[test]
    fn records_are_appended_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(&directory.path().join("new"), "j").unwrap();
        journal.rewrite(vec![record(1, 5), record(2, 6)]);
        journal.append(vec![record(3, 7)]);
        journal.wait();
        assert_eq!(read(journal.path()).unwrap().records, [record(1, 5), record(2, 6), record(3, 7)]);
        assert!(!journal.is_wasteful(30) && journal.failure().is_none());
        journal.rewrite(vec![record(4, 8)]);
        journal.append(vec![record(5, 9)]);
        journal.wait();
        assert_eq!(read(journal.path()).unwrap().records, [record(4, 8), record(5, 9)]);
    }

    #[test]
    fn one_process_writes_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(directory.path(), "j").unwrap();
        assert!(Journal::open(directory.path(), "j").unwrap_err().to_string().contains("another raddle"));
        drop(journal);
        assert!(Journal::open(directory.path(), "j").is_ok());
    }

    #[test]
    fn a_file_that_mostly_holds_old_records_is_wasteful() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(directory.path(), "j").unwrap();
        journal.rewrite(vec![record(1, 1 << 20)]);
        assert!(!journal.is_wasteful(1 << 20));
        for _ in 0..6 {
            journal.append(vec![record(1, 1 << 20)]);
        }
        journal.wait();
        assert!(journal.is_wasteful(1 << 20) && !journal.is_wasteful(4 << 20));
    }

    /// A directory that vanishes fails as a full disk does.
    #[test]
    fn a_failure_is_told_and_ends_the_writing() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        let mut journal = Journal::open(&below, "j").unwrap();
        std::fs::remove_dir_all(&below).unwrap();
        journal.rewrite(vec![record(1, 5)]);
        journal.wait();
        assert!(journal.failure().is_some());
        journal.append(vec![record(2, 5)]);
        assert!(!journal.is_busy());
    }
}
