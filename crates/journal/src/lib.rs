//! A file of records that survives whatever ends its writer: a kill, a full disk, a power cut.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | version of the format |
//! | | records |
//!
//! A record:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | kind |
//! | 8 | length of its contents |
//! | 4 | CRC-32 of kind, length and contents |
//! | | contents |
//!
//! Records are appended and synced. A record that was not written to its end does not fit its
//! checksum: the file ends before it. What records mean is the caller's business.
#![forbid(unsafe_code)]

mod writer;

use std::path::{Path, PathBuf};

pub use writer::{Journal, WriteError};

/// Version of the format; files of another one are refused.
pub const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"raddle\x00j";
const FILE_HEADER: usize = MAGIC.len() + 4;
const RECORD_HEADER: usize = 16;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: u32,
    /// Its contents.
    pub contents: Vec<u8>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The records that were written to their ends, in order.
    pub records: Vec<Record>,
    /// Bytes behind the last of them.
    pub torn: usize,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The system refused to read it.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, String),
    /// It is not a journal.
    #[error("it is not a journal of raddle")]
    NotAJournal,
    /// It has another format.
    #[error("it has format version {0}, this raddle reads {VERSION}")]
    Version(u32),
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read, or is no journal. A tail that was not written to its end is no error.
pub fn read(path: &Path) -> Result<Contents, ReadError> {
    let bytes = std::fs::read(path).map_err(|error| ReadError::Io(path.into(), error.to_string()))?;
    parse(&bytes)
}

/// Reads the bytes of a file.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8]) -> Result<Contents, ReadError> {
    let (magic, rest) = bytes.split_first_chunk().ok_or(ReadError::NotAJournal)?;
    let (version, mut rest) = rest.split_first_chunk().ok_or(ReadError::NotAJournal)?;
    if *magic != MAGIC {
        return Err(ReadError::NotAJournal);
    }
    match u32::from_le_bytes(*version) {
        VERSION => {}
        other => return Err(ReadError::Version(other)),
    }
    let mut records = Vec::new();
    while let Some((record, behind)) = next_record(rest) {
        records.push(record);
        rest = behind;
    }
    Ok(Contents { records, torn: rest.len() })
}

/// The first record, and what is behind it.
fn next_record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (kind, rest) = bytes.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (contents, rest) = rest.split_at_checked(length)?;
    let record = Record { kind: u32::from_le_bytes(*kind), contents: contents.to_vec() };
    (u32::from_le_bytes(*checksum) == record.checksum()).then_some((record, rest))
}

impl Record {
    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.kind.to_le_bytes());
        hasher.update(&(self.contents.len() as u64).to_le_bytes());
        hasher.update(&self.contents);
        hasher.finalize()
    }

    /// Bytes that it takes in a file.
    fn size(&self) -> u64 {
        (RECORD_HEADER + self.contents.len()) as u64
    }

    fn header(&self) -> [u8; RECORD_HEADER] {
        let mut header = [0; RECORD_HEADER];
        header[..4].copy_from_slice(&self.kind.to_le_bytes());
        header[4..12].copy_from_slice(&(self.contents.len() as u64).to_le_bytes());
        header[12..].copy_from_slice(&self.checksum().to_le_bytes());
        header
    }
}

/// The first bytes of a file.
fn file_header() -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// The bytes of a file with these records.
#[must_use]
pub fn to_bytes(records: &[Record]) -> Vec<u8> {
    let mut bytes = file_header().to_vec();
    for record in records {
        bytes.extend(record.header());
        bytes.extend(&record.contents);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        (0..4u32).map(|kind| Record { kind, contents: vec![kind as u8; 10 * kind as usize] }).collect()
    }

    #[test]
    fn a_file_ends_before_a_record_that_is_not_whole() {
        let (records, bytes) = (records(), to_bytes(&records()));
        assert_eq!(parse(&bytes), Ok(Contents { records: records.clone(), torn: 0 }));
        for end in FILE_HEADER..bytes.len() {
            let contents = parse(&bytes[..end]).unwrap();
            assert_eq!(contents.records[..], records[..contents.records.len()]);
            let whole: u64 = contents.records.iter().map(Record::size).sum();
            assert_eq!(FILE_HEADER + whole as usize + contents.torn, end);
            assert!(contents.records.len() < records.len());
        }
    }

    #[test]
    fn a_changed_byte_ends_the_file() {
        let bytes = to_bytes(&records());
        for at in FILE_HEADER..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(parse(&changed).unwrap().records.len() < records().len());
        }
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        assert_eq!(parse(b""), Err(ReadError::NotAJournal));
        assert_eq!(parse(&[0; 40]), Err(ReadError::NotAJournal));
        let mut later = to_bytes(&[]);
        later[MAGIC.len()] = 9;
        assert_eq!(parse(&later), Err(ReadError::Version(9)));
    }
}
