//! What a target has learnt and needs, so that another one can go on in its place.
//!
//! The runtime keeps what it knows of spin loops in the shared file. A new process of the same
//! program has the same addresses, so the words mean the same there. Only the runtime interprets
//! them.

use std::ffi::OsString;
use std::mem::offset_of;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use raddle_model::HeldRead;
use raddle_wire::observed::AtomicCode;
use raddle_wire::{SPIN_OFFSET, SpinKnowledge};
use serde::{Deserialize, Serialize};

use super::NativeTarget;
use crate::error::StartError;
use crate::options::{NoticedFacts, Options, RestoreMode};
use crate::shared::{SharedFile, WORD};

/// Words of what the runtime knows of spin loops.
const WORDS: usize = size_of::<SpinKnowledge>() / WORD;

/// What a target needs, and what its runs have shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTarget {
    pool: u32,
    forks: bool,
    trace_bytes: u64,
    /// Numbers of reads in spin loops, by the state of the reading thread.
    held_reads: Vec<(u64, u16)>,
    noticed: NoticedFacts,
    /// Files that were mapped, as bytes of their paths.
    loaded: Vec<Vec<u8>>,
}

/// What the runtime knows of spin loops: words that are not 0, with their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinFacts(Vec<(u32, u64)>);

impl SpinFacts {
    /// Reads what [`raddle_model::Target::knowledge`] gave; `None` if it makes no sense.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(SpinFacts::default());
        }
        let words: Vec<(u32, u64)> = postcard::from_bytes(bytes).ok()?;
        words.iter().all(|&(at, _)| (at as usize) < WORDS).then_some(SpinFacts(words))
    }
}

impl SpinFacts {
    /// What the host knows of atomic operations before the first run.
    pub(super) fn of_atomics(atomics: &AtomicCode) -> Self {
        let first = (offset_of!(SpinKnowledge, atomics) / WORD) as u32;
        SpinFacts((first..).zip(atomics.words()).filter(|&(_, word)| word != 0).collect())
    }

    /// Writes them where the runtime looks for them.
    pub(super) fn put_into(&self, shared: &SharedFile) {
        for &(at, word) in &self.0 {
            shared.put_words(SPIN_OFFSET + at as usize * WORD, &[word]);
        }
    }

    /// For [`SpinFacts::from_bytes`].
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        if self.0.is_empty() { Vec::new() } else { postcard::to_stdvec(&self.0).unwrap_or_default() }
    }
}

/// What the file says of spin loops; empty: nothing.
pub(super) fn knowledge(shared: &SharedFile) -> Vec<u8> {
    let mut words = Vec::with_capacity(WORDS);
    shared.copy_words(SPIN_OFFSET, WORDS, &mut words);
    SpinFacts((0u32..).zip(words).filter(|&(_, word)| word != 0).collect()).to_bytes()
}

impl NativeTarget {
    /// What another target needs to go on in its place.
    #[must_use]
    pub fn save(&self) -> SavedTarget {
        let mut held_reads: Vec<(u64, u16)> = self.decoder.held_reads().map(|(state, read)| (state, read.0)).collect();
        held_reads.sort_unstable();
        SavedTarget {
            pool: self.options.pool,
            forks: self.options.mode == RestoreMode::Fork,
            trace_bytes: self.options.trace_bytes,
            held_reads,
            noticed: self.options.noticed.facts(),
            loaded: self.options.loaded.paths().into_iter().map(|path| path.into_os_string().into_vec()).collect(),
        }
    }

    /// Starts a target that goes on in the place of another one.
    ///
    /// # Errors
    /// As [`NativeTarget::start`].
    pub fn start_again(options: Options, saved: SavedTarget, knowledge: &SpinFacts) -> Result<Self, StartError> {
        let SavedTarget { pool, forks, trace_bytes, held_reads, noticed, loaded } = saved;
        let mode = if forks { RestoreMode::Fork } else { options.mode };
        let mut target = NativeTarget::start(Options { pool, mode, trace_bytes, ..options })?;
        target.options.noticed.add(noticed);
        let loaded = loaded.into_iter().map(|path| PathBuf::from(OsString::from_vec(path)));
        target.options.loaded.add(loaded.collect());
        target.decoder.set_held_reads(held_reads.into_iter().map(|(state, read)| (state, HeldRead(read))));
        if let Some(session) = &mut target.session {
            session.teach(knowledge);
        }
        Ok(target)
    }
}
