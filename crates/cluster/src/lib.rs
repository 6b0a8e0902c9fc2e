//! A tree of tasks that many workers share, on a NATS server with JetStream.
//!
//! Work is bytes, and so are results; what they mean is up to the caller. A *task* is a piece of
//! work. Doing it gives a *record*: a result and further pieces, the task's children. All is done
//! when every task that was ever announced has a record. That is told from the log of records
//! alone, so any coordinator can take over.
//!
//! # Protocol
//! For each search `S` there are two streams, in files, with one message for each subject:
//! `raddle.S.task.ID` and `raddle.S.done.ID`. Every store says that there must be no message with
//! this subject yet: the first one stays. So delivery is at least once, and counting exactly once.
//!
//! 1. A worker pulls a task, explores it for a while, stores **one** record, stores the tasks of
//!    its children, and acknowledges the task.
//! 2. The identifier of a task is a hash of its parent's, its number and its work. So storing it
//!    again is harmless, and a task with other work has another identifier.
//! 3. A worker that dies loses its lease, and the task is delivered again. If it has a record by
//!    then, only its children are stored again.
//! 4. The coordinator reads the records in the order in which they were stored. A record counts if
//!    its task was announced by one that counted before. Records that do not count are removed, and
//!    their tasks done again.
//!
//! [`tree`] has this accounting and knows no network.
//!
//! # Failures
//! A worker, a coordinator and the server can be killed at any moment. What a server loses (because
//! it did not write it to its disk in time) is noticed when nothing is under way and tasks are
//! open: they are stored again. A task that was delivered ten times without a record gets one that
//! says so ([`worker::Explore::lost`]).
//!
//! # Trust
//! Who may connect is up to the server. A worker runs only programs that its operator names or
//! allows to be fetched. What comes from the server is bounded and checked before it is used.
#![forbid(unsafe_code)]

mod board;
mod connection;
pub mod coordinator;
mod error;
mod names;
pub mod status;
pub mod tree;
pub mod worker;

pub use connection::{ServerAccess, ServerConnection};
pub use error::ClusterError;
