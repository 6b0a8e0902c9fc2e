//! Checks that survive an interruption.
//!
//! A check writes a journal. A check that is resumed goes on from the last record that is whole.
//! The report is the one that an uninterrupted check would have made. So a record holds all that
//! the rest of the check depends on:
//!
//! * which program was searched, how, and where: `identity`;
//! * the searches: what their strategies know, and the runs under way, which are made again;
//! * what the target has learnt of spin loops, and what its runs have shown that is not modelled;
//! * the executions that told something about defects. They are met again, and their witnesses are
//!   run again: a finding is never taken from a file.
//!
//! States and places are compared by address. A new process of the same program has the same ones,
//! if the system lets raddle fix them. A first run shows whether it is so; if it is not, the check
//! begins again.
//!
//! Records hold everything, so the last one is enough. The larger they are, the less often they are
//! written: a check spends a small share of its time on them.

mod identity;
mod keeper;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_exec::{SavedTarget, SpinFacts};
use raddle_journal::{Contents, Record};
use raddle_model::Execution;
use serde::{Deserialize, Serialize};

use crate::directory::ROOT;
use crate::error::Error;
pub(crate) use identity::{Identity, own_checksum};
pub(crate) use keeper::Keeper;

/// The journal, in its directory.
pub const JOURNAL: &str = "search.journal";

/// Kinds of records.
mod kind {
    /// [`super::Identity`].
    pub const IDENTITY: u32 = 1;
    /// [`super::RoundRow`].
    pub const ROUND: u32 = 2;
    /// An execution to name objects by.
    pub const EXAMPLE: u32 = 3;
    /// An execution that told something, with the number of executions before it.
    pub const MEETING: u32 = 4;
    /// [`super::CheckRow`] and what belongs to it.
    pub const CHECK: u32 = 5;
}

/// Where and when a check writes its journal.
#[derive(Clone, Debug)]
pub struct Durability {
    /// The directory of the journal.
    pub directory: PathBuf,
    /// Nothing is written before the check has lasted for so long.
    pub after: Duration,
    /// The command line of the check, for `raddle resume`.
    pub command: Vec<OsString>,
}

/// What came before the search under way: searches that were given up because of suppressed races.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RoundRow {
    /// Accesses that are scheduling points.
    pub benign: Vec<u64>,
    /// What was suppressed, in words.
    pub suppressed: Vec<String>,
    /// Lines of suppressions that were used.
    pub used: Vec<usize>,
}

/// The part of a check that changes from record to record.
pub(crate) struct SavedCheck {
    pub runs_before: u64,
    pub has_overwritten_lock: bool,
    pub target: SavedTarget,
    pub outer: Vec<u8>,
    pub search: Vec<u8>,
    pub knowledge: Vec<u8>,
}

/// The same as it is written; the bytes follow behind it.
#[derive(Serialize, Deserialize)]
struct CheckRow {
    elapsed: Duration,
    runs_before: u64,
    has_overwritten_lock: bool,
    target: SavedTarget,
    /// Executions that were met by then.
    meetings: u64,
    has_example: bool,
    /// Lengths of what follows: outer, search, knowledge.
    lengths: [u64; 3],
}

/// A check to go on with.
#[derive(Debug)]
pub(crate) struct ResumedCheck {
    pub round: RoundRow,
    pub elapsed: Duration,
    pub runs_before: u64,
    pub has_overwritten_lock: bool,
    pub target: SavedTarget,
    pub knowledge: SpinFacts,
    pub outer: Vec<u8>,
    pub search: Vec<u8>,
    pub example: Option<Execution>,
    /// Executions that told something, with the number of executions before each.
    pub meetings: Vec<(u64, Execution)>,
}

/// A check that was interrupted.
#[derive(Debug)]
pub struct Interrupted {
    path: PathBuf,
    /// Bytes behind the last whole record.
    torn: usize,
    pub(crate) identity: Identity,
    /// `None`: it ended before anything of the search was written.
    pub(crate) check: Option<ResumedCheck>,
}

impl Interrupted {
    /// Reads the journal of a check: by its directory, or the directory, report or program name of
    /// a run; without a name, the check that was saved last.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or it was written by another raddle.
    pub fn load(name: Option<&Path>) -> Result<Self, Error> {
        let path = match name {
            Some(name) => find(name)?,
            None => newest(Path::new(ROOT))?,
        };
        // The directory of a run may only name the journal.
        let path = path.canonicalize().unwrap_or(path);
        let unusable = |what: String| Error::Journal { path: path.clone(), what };
        let contents = raddle_journal::read(&path).map_err(|error| unusable(error.to_string()))?;
        Interrupted::of(path.clone(), &contents).map_err(unusable)
    }

    fn of(path: PathBuf, contents: &Contents) -> Result<Self, String> {
        let mut records = contents.records.iter();
        let identity = records.next().filter(|record| record.kind == kind::IDENTITY);
        let identity = identity.ok_or("it does not say what was searched")?;
        let identity = Identity::from_bytes(&identity.contents)?;
        let check = resumed_check(records)?;
        Ok(Interrupted { path, torn: contents.torn, identity, check })
    }

    /// The journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same with another path to the journal.
    #[must_use]
    pub fn at(self, path: PathBuf) -> Self {
        Interrupted { path, ..self }
    }

    /// The command that the check was started with.
    #[must_use]
    pub fn command(&self) -> Vec<OsString> {
        self.identity.command.iter().cloned().map(OsString::from_vec).collect()
    }

    /// The working directory in which the check was started.
    #[must_use]
    pub fn working_directory(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.identity.directory.clone()))
    }

    /// What the user should know of the journal, as a sentence.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        (self.torn > 0).then(|| {
            let bytes = self.torn;
            format!(
                "the end of the journal was not written ({bytes} bytes are left out): going on from the record before"
            )
        })
    }
}

/// The last state of the check that was written to its end; `None` if there is none yet.
fn resumed_check<'a>(records: impl Iterator<Item = &'a Record>) -> Result<Option<ResumedCheck>, String> {
    let (mut round, mut example, mut meetings, mut last) = (None, None, Vec::new(), None);
    for record in records {
        match record.kind {
            kind::ROUND => round = Some(&record.contents),
            kind::EXAMPLE => example = Some(&record.contents),
            kind::MEETING => meetings.push(&record.contents),
            kind::CHECK => last = Some(&record.contents),
            kind => return Err(format!("it has a record of kind {kind}, which this raddle does not know")),
        }
    }
    let round = round.ok_or("it does not say how the search began")?;
    let wrong = |error: postcard::Error| format!("it makes no sense: {error}");
    let round: RoundRow = postcard::from_bytes(round).map_err(wrong)?;
    let Some(last) = last else { return Ok(None) };
    let (row, rest): (CheckRow, &[u8]) = postcard::take_from_bytes(last).map_err(wrong)?;
    let [outer, search, knowledge] = parts(rest, row.lengths).ok_or("a record is shorter than it says")?;
    let met = usize::try_from(row.meetings).ok().and_then(|count| meetings.get(..count));
    let met = met.ok_or("executions are missing")?;
    let sound = |execution: Execution| {
        execution.is_sound().then_some(execution).ok_or_else(|| String::from("an execution makes no sense"))
    };
    let meeting = |bytes: &&Vec<u8>| {
        let (before, execution): (u64, Execution) = postcard::from_bytes(bytes).map_err(wrong)?;
        Ok::<_, String>((before, sound(execution)?))
    };
    let example = match example.filter(|_| row.has_example) {
        Some(bytes) => Some(sound(postcard::from_bytes(bytes).map_err(wrong)?)?),
        None if row.has_example => return Err("an execution is missing".into()),
        None => None,
    };
    Ok(Some(ResumedCheck {
        round,
        elapsed: row.elapsed,
        runs_before: row.runs_before,
        has_overwritten_lock: row.has_overwritten_lock,
        target: row.target,
        knowledge: SpinFacts::from_bytes(knowledge).ok_or("what was known of spin loops makes no sense")?,
        outer: outer.to_vec(),
        search: search.to_vec(),
        example,
        meetings: met.iter().map(meeting).collect::<Result<_, _>>()?,
    }))
}

/// Parts of these lengths, which are all of the bytes.
fn parts(bytes: &[u8], lengths: [u64; 3]) -> Option<[&[u8]; 3]> {
    let mut rest = bytes;
    let mut parts = [bytes; 3];
    for (part, length) in parts.iter_mut().zip(lengths) {
        (*part, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    }
    rest.is_empty().then_some(parts)
}

/// The journal of a check, by the name of a directory, a report or a program.
fn find(name: &Path) -> Result<PathBuf, Error> {
    let usual = Path::new(ROOT).join(name);
    let directories = [Some(name), name.parent(), Some(&usual)];
    let found = directories.into_iter().flatten().map(|directory| directory.join(JOURNAL)).find(|path| path.is_file());
    if name.file_name().is_some_and(|file| file == JOURNAL) && name.is_file() {
        return Ok(name.into());
    }
    found.ok_or_else(|| Error::NothingToResume(name.into()))
}

/// The journal that was written last, of the runs below this directory.
fn newest(root: &Path) -> Result<PathBuf, Error> {
    let nothing = || Error::NothingToResume(root.into());
    let runs = std::fs::read_dir(root).map_err(|_| nothing())?.flatten();
    let written = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).ok();
    let journals = runs.map(|run| run.path().join(JOURNAL)).filter(|path| path.is_file());
    journals.max_by_key(written).ok_or_else(nothing)
}

/// Removes the journal of an earlier check from a directory.
///
/// # Errors
/// If the system refuses.
pub fn forget(directory: &Path) -> Result<(), Error> {
    let path = directory.join(JOURNAL);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(&path, error)),
        _ => Ok(()),
    }
}

/// Makes the journal of another directory known in the directory of the run.
///
/// # Errors
/// If the system refuses.
pub fn link(from: &Path, to: &Path) -> Result<(), Error> {
    forget(from)?;
    let (path, journal) = (from.join(JOURNAL), to.join(JOURNAL));
    let journal = std::path::absolute(&journal).unwrap_or(journal);
    std::os::unix::fs::symlink(journal, &path).map_err(|error| Error::file(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::fixture::{done, execution};
    use raddle_vocab::OpKind;

    fn record<T: Serialize>(kind: u32, value: &T) -> Record {
        Record { kind, contents: postcard::to_stdvec(value).unwrap() }
    }

    fn lengths_are(lengths: [u64; 3]) -> Option<[usize; 3]> {
        parts(&[1, 2, 3, 4, 5], lengths).map(|parts| parts.map(<[u8]>::len))
    }

    #[test]
    fn parts_are_all_of_a_record() {
        assert_eq!(lengths_are([2, 0, 3]), Some([2, 0, 3]));
        assert_eq!(lengths_are([2, 0, 2]), None, "something is left");
        assert_eq!(lengths_are([6, 0, 0]), None);
        assert_eq!(lengths_are([u64::MAX, 1, 1]), None);
    }

    #[test]
    fn records_that_do_not_fit_each_other_are_refused() {
        let round = record(kind::ROUND, &RoundRow::default());
        let refused = |records: &[Record], words: &str| {
            let error = resumed_check(records.iter()).err().unwrap();
            assert!(error.contains(words), "{error}");
        };
        refused(&[], "how the search began");
        assert!(resumed_check([round.clone()].iter()).unwrap().is_none(), "it ended before its first record");
        refused(&[record(kind::CHECK, &0u8)], "how the search began");
        refused(&[round.clone(), record(kind::CHECK, &0u8)], "makes no sense");
        refused(&[round, record(77, &0u8)], "kind 77");
    }

    /// Executions keep all that findings are made of.
    #[test]
    fn executions_are_read_as_they_were_written() {
        let lock = |thread, object| done(thread, OpKind::Lock, object, 0);
        let written = execution(2, vec![lock(0, 0x10), lock(1, 0x20)]);
        let bytes = postcard::to_stdvec(&written).unwrap();
        let read: Execution = postcard::from_bytes(&bytes).unwrap();
        assert!(read.is_sound());
        assert_eq!((&read.events, &read.pending, &read.threads), (&written.events, &written.pending, &written.threads));
        assert_eq!((read.status, read.exit, read.recorded), (written.status, written.exit, written.recorded));
        for end in 0..bytes.len() {
            assert!(postcard::from_bytes::<Execution>(&bytes[..end]).is_err());
        }
    }
}
