//! Uses and ends of file descriptors, as accesses of the calling thread: a use reads the
//! descriptor, its end writes it. A use that is not ordered with the end is a race: the number may
//! belong to another file by then.
//!
//! Each descriptor that a call makes gets a word of its own, however often its number is used
//! again. The address depends only on what the users of the pool entry have done before. Nothing
//! is stored in these words.

use raddle_vocab::DESCRIPTORS;
use raddle_vocab::policy::MAX_THREADS;
use raddle_wire::record::{READ, WRITE};

use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::restore::undo;
use crate::state::{controlled, run};
use crate::syscall::{callers, syscall};
use crate::trace::hooks::range;

const WORD: u64 = 8;
/// Words of one entry of the pool.
const SHARE: u64 = (DESCRIPTORS.end - DESCRIPTORS.start) / MAX_THREADS as u64 / WORD;

/// The words of the descriptors.
pub struct DescriptorWords {
    /// By number; 0 if no call is known that made it. It stays after the end, for late users.
    of: [u64; MAX_CHANNELS],
    /// Words that the users of each pool entry have taken.
    taken: [u32; MAX_THREADS],
}

impl DescriptorWords {
    /// None.
    pub const NEW: DescriptorWords = DescriptorWords { of: [0; MAX_CHANNELS], taken: [0; MAX_THREADS] };
}

/// Maps the words: detectors of waiting look at what was read.
///
/// # Errors
/// A sentence if the address range is taken.
pub fn map_words() -> Result<(), &'static str> {
    // SAFETY: a fresh mapping that replaces nothing.
    let at = unsafe {
        syscall!(
            libc::SYS_mmap,
            DESCRIPTORS.start,
            DESCRIPTORS.end - DESCRIPTORS.start,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
            usize::MAX,
            0usize
        )
    };
    if at as u64 == DESCRIPTORS.start { Ok(()) } else { Err("the address range for descriptors is taken") }
}

fn word(descriptor: i32) -> Option<&'static mut u64> {
    usize::try_from(descriptor).ok().and_then(|index| run().descriptor_words.of.get_mut(index))
}

/// The word of the descriptor; 0 if it has none.
pub fn word_of(descriptor: i32) -> u64 {
    word(descriptor).map_or(0, |word| *word)
}

/// A call has made the descriptor.
pub fn made(descriptor: i32) {
    if !controlled() {
        return;
    }
    undo::opened();
    let slot = run().me().slot as usize;
    let taken = u64::from(run().descriptor_words.taken[slot]);
    if let Some(word) = word(descriptor)
        && taken < SHARE
    {
        *word = DESCRIPTORS.start + (slot as u64 * SHARE + taken) * WORD;
        run().descriptor_words.taken[slot] += 1;
    }
}

fn access(kind: u8, descriptor: i32, pc: u64) {
    if controlled()
        && run().threads > 1
        && let Some(&mut word) = word(descriptor)
        && word != 0
        && callers::is_program(pc)
    {
        range(kind, word, WORD, pc);
    }
}

/// The call uses the descriptor.
pub fn uses(descriptor: i32, pc: u64) {
    access(READ, descriptor, pc);
}

/// The call closes the descriptor.
pub fn ends(descriptor: i32, pc: u64) {
    access(WRITE, descriptor, pc);
}

/// The call puts another file in the place of the descriptor, which is a use: who uses the number
/// meanwhile gets one file or the other, and programs rely on that.
pub fn replaces(descriptor: i32, pc: u64) {
    if word(descriptor).is_some_and(|word| *word == 0) {
        made(descriptor);
    }
    uses(descriptor, pc);
}
