//! The memory file that host and target share.
//!
//! The target may write anything there at any time. So nothing in it is borrowed as a Rust value:
//! every access goes through an atomic word, and callers copy before they check. The file is sealed
//! against shrinking, because access to a mapping whose file was cut short would kill the host with
//! SIGBUS.

use std::ffi::{CString, OsStr};
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::MmapRaw;
use raddle_wire::{
    CALL_NAME_BYTES, Config, Control, DETAIL_BYTES, DETAIL_OFFSET, Job, LOADED_BYTES, MAX_CALLS, Segment,
    UnmodelledCall, config_flag, file_bytes_with_histories,
};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};

/// Bytes of a page of memory.
const PAGE: usize = 4096;
/// Bytes of a word of the trace.
pub const WORD: usize = 8;

/// The mapped file.
#[derive(Debug)]
pub struct SharedFile {
    map: MmapRaw,
    file: OwnedFd,
    arena: usize,
}

impl SharedFile {
    /// Makes a new, zeroed file for trace arenas of `config.trace_bytes` bytes and writes the
    /// host's part of the control block into it.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn create(config: &Config) -> io::Result<Self> {
        let arena = usize::try_from(config.trace_bytes).map_err(io::Error::other)?;
        if !arena.is_multiple_of(WORD) {
            return Err(io::Error::other("the size of a trace arena is not a multiple of a word"));
        }
        let name = CString::new("raddle").map_err(io::Error::other)?;
        let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let keeps_stores = config.flags & config_flag::KEEP_STORES != 0;
        let bytes = if keeps_stores { file_bytes_with_histories(arena) } else { raddle_wire::file_bytes(arena) };
        rustix::fs::ftruncate(&file, bytes as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = MmapRaw::map_raw(&file)?;
        let shared = SharedFile { map, file, arena };
        shared.write_config(config);
        Ok(shared)
    }

    /// As [`SharedFile::create`], for a target with these options.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn for_options(options: &crate::Options) -> io::Result<Self> {
        let shared = Self::create(&options.config())?;
        let at = offset_of!(Control, benign);
        let benign = &options.benign[..options.benign.len().min(raddle_wire::MAX_BENIGN)];
        for (number, &place) in benign.iter().enumerate() {
            shared.word64(at + number * WORD).store(place, Ordering::Relaxed);
        }
        shared.word64(offset_of!(Control, benign_count)).store(benign.len() as u64, Ordering::Relaxed);
        shared.write_open_values(options);
        shared.write_functions(options);
        let log = options.peer_log.as_deref();
        for (at, words) in crate::scripts::encode(&options.parties, log).map_err(io::Error::other)? {
            shared.put_words(raddle_wire::script::OFFSET + at, &words);
        }
        Ok(shared)
    }

    fn write_open_values(&self, options: &crate::options::Options) {
        let (spans, values) = options.open_values.table();
        let at = offset_of!(Control, open_spans);
        for (number, (first, count)) in spans.into_iter().enumerate() {
            self.word32(at + number * WORD).store(first, Ordering::Relaxed);
            self.word32(at + number * WORD + WORD / 2).store(count, Ordering::Relaxed);
        }
        let at = offset_of!(Control, open_values);
        for (number, value) in values.into_iter().enumerate().take(raddle_wire::MAX_OPEN_VALUES) {
            self.word64(at + number * WORD).store(value as u64, Ordering::Relaxed);
        }
    }

    fn write_functions(&self, options: &crate::options::Options) {
        let functions = options.functions.all.iter().take(raddle_wire::MAX_FUNCTIONS);
        self.word64(offset_of!(Control, function_count)).store(functions.len() as u64, Ordering::Relaxed);
        let at = offset_of!(Control, functions);
        for (number, word) in functions.flatten().enumerate() {
            self.word64(at + number * WORD).store(*word, Ordering::Relaxed);
        }
    }

    fn write_config(&self, config: &Config) {
        let at = offset_of!(Control, config);
        self.word32(at + offset_of!(Config, mode)).store(config.mode, Ordering::Relaxed);
        self.word32(at + offset_of!(Config, flags)).store(config.flags, Ordering::Relaxed);
        self.word32(at + offset_of!(Config, pool)).store(config.pool, Ordering::Relaxed);
        self.word32(at + offset_of!(Config, spurious)).store(config.spurious, Ordering::Relaxed);
        self.word64(at + offset_of!(Config, stack_bytes)).store(config.stack_bytes, Ordering::Relaxed);
        self.word64(at + offset_of!(Config, trace_bytes)).store(config.trace_bytes, Ordering::Relaxed);
        self.word64(at + offset_of!(Config, exit_events)).store(config.exit_events, Ordering::Relaxed);
        self.word32(offset_of!(Control, version)).store(raddle_wire::PROTOCOL_VERSION, Ordering::Relaxed);
        self.word64(offset_of!(Control, magic)).store(raddle_wire::MAGIC, Ordering::Release);
    }

    /// Descriptor of the file, to be inherited by the target.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Bytes of one trace arena.
    #[must_use]
    pub fn arena(&self) -> usize {
        self.arena
    }

    /// The 32-bit word at a byte offset.
    ///
    /// # Panics
    /// If the offset is unaligned or outside the file. Offsets that the target wrote are
    /// checked before.
    #[must_use]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.map.len() && self.map.len() - offset >= 4);
        // SAFETY: the four bytes lie inside the mapping and are aligned (checked above; it starts
        // at a page). The mapping lives as long as `self`, is writable, and cannot shrink (sealed).
        // Any bit pattern is a valid u32; atomics allow writes by another process.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) }
    }

    /// The 64-bit word at a byte offset.
    ///
    /// # Panics
    /// As [`SharedFile::word32`].
    #[must_use]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        &self.words(offset, 1)[0]
    }

    /// `count` 64-bit words from a byte offset on.
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(WORD) && offset <= self.map.len());
        assert!(count <= (self.map.len() - offset) / WORD);
        // SAFETY: as in `word32`: inside the mapping, aligned, alive, never shrinking, shared only
        // through atomics. `AtomicU64` has the layout of u64.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().add(offset).cast::<AtomicU64>(), count) }
    }

    /// Control words, by name.
    #[must_use]
    pub fn control(&self) -> ControlWords<'_> {
        ControlWords { file: self }
    }

    /// Appends a copy of the words to `into`.
    pub fn copy_words(&self, offset: usize, count: usize, into: &mut Vec<u64>) {
        into.extend(self.words(offset, count).iter().map(|word| word.load(Ordering::Relaxed)));
    }

    /// Appends the words to `into` and zeroes them in the file, so that the next trace written
    /// there ends in zeroes even if its writer dies.
    pub fn take_words(&self, offset: usize, count: usize, into: &mut Vec<u64>) {
        // Pieces that stay in the cache of the processor between reading and zeroing.
        const PIECE: usize = 128;
        // What lies behind so many words is given back to the system piece by piece, which zeroes
        // it as well. Most batches use what lies before: if that were given back, each would cause
        // a fault for each page, in both processes.
        const KEPT: usize = 1 << 19;
        const LONG_PIECE: usize = 1 << 17;
        into.reserve(count);
        let mut taken = 0;
        let kept = if offset.is_multiple_of(PAGE) { KEPT } else { usize::MAX };
        while taken < count {
            let left = count - taken;
            if taken >= kept && left >= LONG_PIECE {
                self.copy_piece(offset + taken * WORD, LONG_PIECE, into, |_| {});
                if self.give_back(offset + taken * WORD, LONG_PIECE * WORD).is_err() {
                    let words = self.words(offset + taken * WORD, LONG_PIECE);
                    words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
                }
                taken += LONG_PIECE;
                continue;
            }
            let piece = PIECE.min(left);
            self.copy_piece(offset + taken * WORD, piece, into, |source| {
                // SAFETY: so many words of the mapping, as in `copy_piece`.
                unsafe { source.write_bytes(0, piece) };
            });
            taken += piece;
        }
    }

    /// Appends a copy of the words to `into`; `then` gets where they are.
    fn copy_piece(&self, offset: usize, count: usize, into: &mut Vec<u64>, then: impl FnOnce(*mut u64)) {
        let (words, known) = (self.words(offset, count), into.len());
        into.reserve(count);
        // As a whole, because traces are most of what is read; word by word takes several times as
        // long.
        // SAFETY: `into` has room, and the words are behind an `UnsafeCell`. The target has ended
        // its batch. If it writes there all the same, it does so in another process: then the copy
        // holds some values, which are checked as all others are.
        unsafe {
            let source = words.as_ptr().cast::<u64>().cast_mut();
            std::ptr::copy_nonoverlapping(source, into.as_mut_ptr().add(known), count);
            into.set_len(known + count);
            then(source);
        }
    }

    /// Gives memory of the file back to the system: it is zero when it is used again.
    fn give_back(&self, offset: usize, bytes: usize) -> rustix::io::Result<()> {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, how, offset as u64, bytes as u64)
    }

    /// Writes words into the file.
    pub fn put_words(&self, offset: usize, values: &[u64]) {
        for (word, &value) in self.words(offset, values.len()).iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Writes the schedule segments of a batch.
    pub fn put_segments(&self, batch: u32, first: usize, segments: &[Segment]) {
        let at = raddle_wire::segments_offset(batch) + first * size_of::<Segment>();
        let words = self.words(at, size_of_val(segments) / WORD);
        for (pair, segment) in words.chunks_exact(2).zip(segments) {
            let [low, high] = segment_words(segment);
            pair[0].store(low, Ordering::Relaxed);
            pair[1].store(high, Ordering::Relaxed);
        }
    }

    /// Writes job number `index` of a batch.
    pub fn put_job(&self, batch: u32, index: usize, job: &Job) {
        self.put_words(job_offset(batch, index), &job_words(job));
    }

    /// Reads job number `index` of a batch.
    #[must_use]
    pub fn job(&self, batch: u32, index: usize) -> Job {
        let mut words = [0; JOB_WORDS];
        for (word, shared) in words.iter_mut().zip(self.words(job_offset(batch, index), JOB_WORDS)) {
            *word = shared.load(Ordering::Relaxed);
        }
        job_from_words(&words)
    }

    /// Copies the detail area.
    pub fn copy_detail(&self, into: &mut Vec<u64>) {
        self.copy_words(DETAIL_OFFSET, DETAIL_BYTES / WORD, into);
    }
}

fn job_offset(batch: u32, index: usize) -> usize {
    assert!(index < raddle_wire::MAX_JOBS);
    raddle_wire::jobs_offset(batch) + index * size_of::<Job>()
}

/// The control block, seen through atomics.
#[derive(Clone, Copy, Debug)]
pub struct ControlWords<'a> {
    file: &'a SharedFile,
}

macro_rules! control_words {
    ($($(#[$meta:meta])* $name:ident: $kind:ident -> $atomic:ty;)*) => {
        impl<'a> ControlWords<'a> {
            $(
                $(#[$meta])*
                #[must_use]
                pub fn $name(self) -> &'a $atomic {
                    self.file.$kind(offset_of!(Control, $name))
                }
            )*
        }
    };
}

control_words! {
    /// Protocol of the runtime, 0 until it has written it.
    runtime_version: word32 -> AtomicU32;
    /// Batches handed over.
    submitted: word32 -> AtomicU32;
    /// Batches finished.
    completed: word32 -> AtomicU32;
    /// Whether the target is asked to end.
    stop: word32 -> AtomicU32;
    /// State of the target.
    state: word32 -> AtomicU32;
    /// Jobs finished in the batch under way.
    jobs_done: word32 -> AtomicU32;
    /// Process that makes the present run.
    worker: word32 -> AtomicU32;
    /// Transitions made so far.
    heartbeat: word64 -> AtomicU64;
    /// Limits met.
    limits: word64 -> AtomicU64;
    /// Types of which values were left open.
    open_types: word64 -> AtomicU64;
    /// Bytes of memory that checkpoints take.
    checkpoint_bytes: word64 -> AtomicU64;
}

impl ControlWords<'_> {
    /// The calls that were not modelled: name and return address. Names that are none end the list.
    #[must_use]
    pub fn calls(self) -> Vec<(String, u64)> {
        const WORDS: usize = size_of::<UnmodelledCall>() / WORD;
        const NAME_WORDS: usize = CALL_NAME_BYTES / WORD;
        let mut words = Vec::new();
        self.file.copy_words(offset_of!(Control, calls), MAX_CALLS * WORDS, &mut words);
        words
            .chunks_exact(WORDS)
            .map_while(|call| {
                let bytes: Vec<u8> = call[..NAME_WORDS].iter().flat_map(|word| word.to_le_bytes()).collect();
                let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
                is_name.then(|| (String::from_utf8_lossy(name).into_owned(), call[NAME_WORDS]))
            })
            .collect()
    }

    /// The target's message, up to its first zero byte.
    #[must_use]
    pub fn message(self) -> String {
        let bytes = self.bytes(offset_of!(Control, message), 512);
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Paths of libraries that runs loaded.
    #[must_use]
    pub fn loaded(self) -> Vec<PathBuf> {
        let bytes = self.bytes(offset_of!(Control, loaded), LOADED_BYTES);
        let names = bytes.split(|&byte| byte == 0).take_while(|name| !name.is_empty());
        names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
    }

    /// A copy of bytes of the control block.
    fn bytes(self, offset: usize, length: usize) -> Vec<u8> {
        // The field may not be aligned to words: copy the whole words that contain it and cut.
        let start = offset / WORD * WORD;
        let end = (offset + length).next_multiple_of(WORD);
        let mut words = Vec::new();
        self.file.copy_words(start, (end - start) / WORD, &mut words);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[offset - start..offset - start + length].to_vec()
    }
}

const JOB_WORDS: usize = size_of::<Job>() / WORD;
const _: () = assert!(size_of::<Job>().is_multiple_of(WORD) && size_of::<Segment>() == 2 * WORD);
const _: () = assert!(align_of::<Job>() <= WORD && DETAIL_OFFSET.is_multiple_of(WORD));

/// A segment as the two words it takes in the file (little-endian, fields in the order of the
/// struct).
#[must_use]
pub fn segment_words(segment: &Segment) -> [u64; 2] {
    [
        u64::from(segment.tid) | u64::from(segment.choice) << 16 | u64::from(segment.steps) << 32,
        u64::from(segment.accesses) | u64::from(segment.reserved) << 32,
    ]
}

/// Inverse of [`segment_words`].
#[must_use]
pub fn segment_from_words(words: [u64; 2]) -> Segment {
    Segment {
        tid: words[0] as u16,
        choice: (words[0] >> 16) as u16,
        steps: (words[0] >> 32) as u32,
        accesses: words[1] as u32,
        reserved: (words[1] >> 32) as u32,
    }
}

/// Lists the fields of `Job` once, for both directions.
macro_rules! job_fields {
    (narrow: $($narrow:ident as $type:ty),*; wide: $($wide:ident),*) => {
        /// A job as the words it takes in the file.
        #[must_use]
        pub fn job_words(job: &Job) -> [u64; JOB_WORDS] {
            let mut words = [0; JOB_WORDS];
            $({
                let at = offset_of!(Job, $narrow);
                words[at / WORD] |= u64::from(job.$narrow as u32) << (at % WORD * 8);
            })*
            $(words[offset_of!(Job, $wide) / WORD] = job.$wide;)*
            words
        }

        /// Inverse of [`job_words`]; missing words count as zero.
        #[must_use]
        pub fn job_from_words(words: &[u64]) -> Job {
            let word = |at: usize| words.get(at / WORD).copied().unwrap_or(0);
            Job {
                $($narrow: {
                    let at = offset_of!(Job, $narrow);
                    (word(at) >> (at % WORD * 8)) as u32 as $type
                },)*
                $($wide: word(offset_of!(Job, $wide)),)*
            }
        }
    };
}

job_fields! {
    narrow: base as u32, flags as u32, first_segment as u32, segments as u32, checkpoints as u32, started_at as u32,
        policy as u32, policy_depth as u32, policy_horizon as u32, status as u32, code as i32, exited as u32,
        diverged_at as u32, steps as u32, awaits as u32, reserved as u32;
    wide: policy_seed, max_events, trace_start, trace_bytes, nanoseconds, skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config { pool: 3, trace_bytes: 1 << 16, stack_bytes: 7, exit_events: 9, ..Config::default() }
    }

    #[test]
    fn jobs_and_segments_survive_the_file() {
        let file = SharedFile::create(&config()).unwrap();
        let job = Job {
            base: 1,
            flags: 2,
            first_segment: 3,
            segments: 4,
            checkpoints: 5,
            started_at: 6,
            policy: 7,
            policy_depth: 8,
            policy_seed: 9 << 40,
            policy_horizon: 10,
            status: 11,
            max_events: 12 << 33,
            code: -13,
            exited: 14,
            diverged_at: 15,
            steps: 16,
            awaits: 19,
            reserved: 20,
            trace_start: 17 << 35,
            trace_bytes: 18,
            nanoseconds: u64::MAX,
            skipped: 21,
        };
        file.put_job(1, 63, &job);
        assert_eq!(format!("{:?}", file.job(1, 63)), format!("{job:?}"));
        let segment = Segment { tid: 65535, choice: 2, steps: 3 << 20, accesses: 4, reserved: 5 };
        assert_eq!(segment_from_words(segment_words(&segment)), segment);
        file.put_segments(1, raddle_wire::MAX_SEGMENTS - 1, &[segment]);
        let mut words = Vec::new();
        file.copy_words(DETAIL_OFFSET - 16, 2, &mut words);
        assert_eq!(words, segment_words(&segment));
    }

    #[test]
    fn the_file_cannot_be_shrunk_and_holds_the_configuration() {
        let file = SharedFile::create(&config()).unwrap();
        assert!(rustix::fs::ftruncate(file.descriptor(), 4096).is_err());
        assert_eq!(file.word32(offset_of!(Control, config) + offset_of!(Config, pool)).load(Ordering::Relaxed), 3);
        assert_eq!(file.word64(offset_of!(Control, magic)).load(Ordering::Relaxed), raddle_wire::MAGIC);
    }

    #[test]
    fn taken_words_leave_zeroes_behind() {
        let file = SharedFile::create(&config()).unwrap();
        let at = raddle_wire::trace_offset(1, file.arena());
        file.put_words(at, &[1, 2, 3]);
        let mut taken = Vec::new();
        file.take_words(at, 2, &mut taken);
        file.copy_words(at, 3, &mut taken);
        assert_eq!(taken, [1, 2, 0, 0, 3]);
    }

    #[test]
    fn a_message_without_end_is_cut_at_its_field() {
        let file = SharedFile::create(&config()).unwrap();
        let at = offset_of!(Control, message);
        for offset in (at.next_multiple_of(4)..at + 508).step_by(4) {
            file.word32(offset).store(u32::from_le_bytes(*b"abcd"), Ordering::Relaxed);
        }
        assert!(file.control().message().len() <= 512);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn an_offset_outside_is_refused() {
        let file = SharedFile::create(&config()).unwrap();
        let _ = file.word64(raddle_wire::file_bytes(1 << 16));
    }
}
