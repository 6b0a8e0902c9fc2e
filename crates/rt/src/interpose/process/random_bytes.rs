//! Random bytes, as the kernel gives them. Every run gets the same ones: they follow from the
//! thread that asks and how often it has asked before, so they do not depend on the order of
//! threads. In the place of `/dev/urandom` and `/dev/random` a memory file with such bytes is
//! opened.

use core::ffi::c_void;

use raddle_vocab::policy::mix;

use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::interpose::io::overlay::{self, Errno};
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

/// Most bytes that `getentropy` gives at once.
const MOST_ENTROPY: usize = 256;
/// Most bytes that `getrandom` gives at once.
const MOST_RANDOM: usize = i32::MAX as usize;
/// Flags that `getrandom` knows.
const FLAGS: u32 = libc::GRND_NONBLOCK | libc::GRND_RANDOM | libc::GRND_INSECURE;

/// Bytes that can be read from the devices each time that they are opened.
const DEVICE_BYTES: usize = 64 * 1024;
/// The devices `/dev/random` and `/dev/urandom`: all are of this kind …
const MEMORY_DEVICES: u32 = 1;
/// … and have these numbers.
const RANDOM_DEVICES: [u32; 2] = [8, 9];

real! { hidden:
    fn getrandom(into: *mut c_void, bytes: usize, flags: u32) -> isize;
    fn getentropy(into: *mut c_void, bytes: usize) -> i32;
    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> u32;
}

/// The running thread's next random word.
fn next_word() -> u64 {
    // A thread that draws another word makes progress, even if all other state is as before.
    run().hot.wrote = true;
    let me = run().me();
    me.private.random_words = me.private.random_words.wrapping_add(1);
    mix(me.key ^ mix(u64::from(me.private.random_words)))
}

/// Fills a buffer of the program.
///
/// # Safety
/// There must be room for that many bytes.
unsafe fn fill(into: *mut u8, bytes: usize) {
    const WORD: usize = size_of::<u64>();
    for at in (0..bytes).step_by(WORD) {
        let word = next_word().to_le_bytes();
        // SAFETY: the caller's promise; the last piece is as long as what is left.
        unsafe { into.add(at).copy_from_nonoverlapping(word.as_ptr(), WORD.min(bytes - at)) };
    }
}

/// As the kernel's call: the number of bytes written, or a negative error.
pub fn random(into: *mut u8, bytes: usize, flags: u32) -> i64 {
    if flags & !FLAGS != 0 || flags & FLAGS == libc::GRND_RANDOM | libc::GRND_INSECURE {
        return -i64::from(libc::EINVAL);
    }
    let bytes = bytes.min(MOST_RANDOM);
    if into.is_null() && bytes != 0 {
        return -i64::from(libc::EFAULT);
    }
    // SAFETY: the program asks for so many bytes there.
    unsafe { fill(into, bytes) };
    bytes as i64
}

/// Whether a descriptor is of a device that gives random bytes.
pub fn is_device(about: &libc::stat) -> bool {
    let device = about.st_rdev;
    overlay::file_type(about) == libc::S_IFCHR
        && libc::major(device) == MEMORY_DEVICES
        && RANDOM_DEVICES.contains(&libc::minor(device))
}

/// Opens a memory file of random bytes, in the place of such a device.
pub fn open_device(flags: i32) -> Result<i32, Errno> {
    const PIECE: usize = 1024;
    let held = overlay::memory_file()?;
    let mut piece = [0u8; PIECE];
    for at in (0..DEVICE_BYTES).step_by(PIECE) {
        // SAFETY: fills a local, and writes it to a file that only this function knows.
        unsafe {
            fill(piece.as_mut_ptr(), PIECE);
            syscall!(libc::SYS_pwrite64, held, piece.as_ptr(), PIECE, at);
        }
    }
    let descriptor = overlay::reopen(held, flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC));
    overlay::close(held);
    if descriptor < 0 { Err(-descriptor as Errno) } else { Ok(descriptor as i32) }
}

/// The next number of a `std::random_device`, which may come from an instruction of the processor.
extern "C" fn next_number(device: *mut c_void, _pc: u64) -> u32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::_ZNSt13random_device9_M_getvalEv(device) };
    }
    next_word() as u32
}

export!(_ZNSt13random_device9_M_getvalEv, 1 => next_number);

extern "C" fn get_random(into: *mut c_void, bytes: usize, flags: u32, pc: u64) -> isize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getrandom(into, bytes, flags) };
    }
    writes(into as usize, bytes.min(MOST_RANDOM), pc);
    let result = random(into.cast(), bytes, flags);
    if result < 0 {
        set_errno(-result as i32);
        return -1;
    }
    result as isize
}

extern "C" fn get_entropy(into: *mut c_void, bytes: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getentropy(into, bytes) };
    }
    if bytes <= MOST_ENTROPY {
        writes(into as usize, bytes, pc);
    }
    let result = if bytes > MOST_ENTROPY { -i64::from(libc::EIO) } else { random(into.cast(), bytes, 0) };
    if result < 0 {
        set_errno(-result as i32);
        return -1;
    }
    0
}

export!(getrandom, 3 => get_random);
export!(getentropy, 2 => get_entropy);
