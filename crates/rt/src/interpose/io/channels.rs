//! Pipes, pairs of sockets and event counters as numbers, for the key of a state. The kernel keeps
//! them, so their content is looked at there, without taking it.
//!
//! A channel is named by its identity, and known by its descriptors: what waits at each, the flags
//! of each, and the word by which its uses and its end are told ([`descriptor_ends`]). Content is
//! bytes, whatever pieces it was written in: for these kinds pieces matter only to when a channel
//! is full. So a run in which one gets anywhere near that says nothing about states, nor does one
//! with channels whose pieces count (packets, messages).

use raddle_vocab::io::{self, ChannelKind};
use raddle_vocab::policy::mix;

use crate::interpose::io::descriptors::{MAX_CHANNELS, channel};
use crate::interpose::io::readiness::revents;
use crate::interpose::io::{descriptor_ends, queues};
use crate::restore::undo;
use crate::state::{Global, run};
use crate::syscall::syscall;

/// Bytes that may wait in one direction.
const MOST: usize = 1 << 14;
/// A pipe of this size has 16 pages; each two of them that follow one another hold more than one
/// page's bytes.
const LEAST_ROOM: usize = 1 << 16;

static BYTES: Global<[u8; MOST]> = Global::new([0; MOST]);

/// Whether the channel with this identity is one of those.
pub fn is_kept(identity: u64) -> bool {
    use ChannelKind::{EventCounter, Pipe, SocketPair};
    !io::is_named_pipe(identity) && matches!(ChannelKind::of(identity), Some(Pipe | SocketPair | EventCounter))
}

/// Asks the kernel for a number; `None` if it has none.
fn asked(number: core::ffi::c_long, descriptor: i32, command: usize, argument: usize) -> Option<usize> {
    // SAFETY: the callers ask for numbers, which are answered or stored into their own variables.
    let answer = unsafe { syscall!(number, descriptor, command, argument) };
    usize::try_from(answer).ok()
}

/// What `fcntl` answers.
fn control(descriptor: i32, command: i32) -> Option<usize> {
    asked(libc::SYS_fcntl, descriptor, command as usize, 0)
}

/// The number that `ioctl` stores.
fn amount(descriptor: i32, request: u64) -> Option<usize> {
    let mut answer = 0i32;
    asked(libc::SYS_ioctl, descriptor, request as usize, &raw mut answer as usize)?;
    usize::try_from(answer).ok()
}

/// An option of the socket itself.
fn option(descriptor: i32, name: i32) -> Option<usize> {
    let (mut value, mut len) = (0i32, size_of::<i32>() as u32);
    // SAFETY: answers into the locals.
    let answer =
        unsafe { syscall!(libc::SYS_getsockopt, descriptor, libc::SOL_SOCKET, name, &raw mut value, &raw mut len) };
    if answer == 0 { usize::try_from(value).ok() } else { None }
}

/// How much waits at the descriptor, and how much may without one having to know in which pieces.
fn filling(descriptor: i32, kind: ChannelKind) -> Option<(usize, usize)> {
    match kind {
        ChannelKind::Pipe => {
            let room = control(descriptor, libc::F_GETPIPE_SZ).filter(|&room| room >= LEAST_ROOM)?;
            Some((amount(descriptor, libc::FIONREAD)?, (room / 4).min(MOST)))
        }
        // What was sent and not received, with what the kernel needs to keep it.
        ChannelKind::SocketPair => {
            let room = option(descriptor, libc::SO_SNDBUF)?;
            Some((amount(descriptor, libc::TIOCOUTQ)?, (room / 16).min(MOST)))
        }
        ChannelKind::EventCounter | ChannelKind::Timer => Some((0, 0)),
    }
}

/// Whether the descriptor's channel holds so much that states cannot be told by its bytes.
pub fn is_crowded(descriptor: i32) -> bool {
    let kind = ChannelKind::of(channel(descriptor));
    kind.is_some_and(|kind| filling(descriptor, kind).is_none_or(|(waiting, most)| waiting > most))
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let word = |part: &[u8]| part.iter().fold(part.len() as u64, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(7).fold(bytes.len() as u64, |hash, part| mix(hash ^ word(part)))
}

/// Room for what waits at a descriptor.
fn room(len: usize) -> Option<&'static mut [u8]> {
    // SAFETY: rule 4 of the crate; the slice is used up before the next one is asked for.
    unsafe { &mut *BYTES.get() }.get_mut(..len)
}

/// The bytes that wait at the end of a pipe: they are copied to another one, and read from there.
fn in_pipe(descriptor: i32) -> Option<u64> {
    let waiting = amount(descriptor, libc::FIONREAD)?;
    if waiting == 0 {
        return Some(0);
    }
    let into = room(waiting)?;
    let mut copy = [0i32; 2];
    // SAFETY: makes a pair of descriptors in the local, copies from one pipe to the other, reads
    // into a buffer of that length, and closes the pair.
    let (copied, read) = unsafe {
        if syscall!(libc::SYS_pipe2, &raw mut copy, libc::O_CLOEXEC | libc::O_NONBLOCK) < 0 {
            return None;
        }
        let copied = syscall!(libc::SYS_tee, descriptor, copy[1], waiting, libc::SPLICE_F_NONBLOCK) as usize;
        let read = syscall!(libc::SYS_read, copy[0], into.as_mut_ptr(), waiting) as usize;
        copy.iter().for_each(|&end| _ = syscall!(libc::SYS_close, end));
        (copied, read)
    };
    ((copied, read) == (waiting, waiting)).then(|| of_bytes(into))
}

/// The bytes that wait at a socket.
fn in_socket(descriptor: i32) -> Option<u64> {
    if option(descriptor, libc::SO_TYPE)? != libc::SOCK_STREAM as usize {
        return None;
    }
    let waiting = amount(descriptor, libc::FIONREAD)?;
    let into = room(waiting)?;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: looks at bytes, into a buffer of that length.
    let seen = unsafe { syscall!(libc::SYS_recvfrom, descriptor, into.as_mut_ptr(), waiting, flags, 0, 0) };
    (waiting == 0 || seen as usize == waiting).then(|| of_bytes(into))
}

/// The value of a counter, from what the kernel says of the descriptor.
fn in_counter(descriptor: i32) -> Option<u64> {
    const PATH: &[u8] = b"/proc/self/fdinfo/";
    const LABEL: &[u8] = b"eventfd-count:";
    if revents(descriptor, libc::POLLIN, 0) & libc::POLLIN == 0 {
        return Some(0);
    }
    let mut path = [0u8; PATH.len() + 4];
    path[..PATH.len()].copy_from_slice(PATH);
    let number = [descriptor / 100, descriptor / 10 % 10, descriptor % 10].map(|digit| b'0' + digit as u8);
    let digits = &number[number.iter().position(|&digit| digit != b'0').unwrap_or(2)..];
    path[PATH.len()..PATH.len() + digits.len()].copy_from_slice(digits);
    let mut text = [0u8; 512];
    // SAFETY: the path ends with a zero; reads into the local, and closes what was opened.
    let len = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
        if file < 0 {
            return None;
        }
        let len = syscall!(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        syscall!(libc::SYS_close, file);
        len
    };
    let text = text.get(..usize::try_from(len).ok()?)?;
    let at = text.windows(LABEL.len()).position(|part| part == LABEL)? + LABEL.len();
    let digits = text[at..].iter().skip_while(|byte| byte.is_ascii_whitespace());
    let digits = digits.map_while(|&byte| char::from(byte).to_digit(16));
    Some(digits.fold(0, |value, digit| value << 4 | u64::from(digit)))
}

/// What the descriptor of a channel leads to, as numbers.
fn state(descriptor: i32, identity: u64) -> Option<[u64; 5]> {
    let flags = control(descriptor, libc::F_GETFL)?;
    let access = flags as i32 & libc::O_ACCMODE;
    let content = match ChannelKind::of(identity)? {
        ChannelKind::Pipe if flags as i32 & libc::O_DIRECT != 0 => return None,
        ChannelKind::Pipe if access == libc::O_WRONLY => 0,
        ChannelKind::Pipe => in_pipe(descriptor)?,
        ChannelKind::SocketPair => {
            let ready = revents(descriptor, !0, 0).cast_unsigned();
            mix(in_socket(descriptor)? ^ mix(amount(descriptor, libc::TIOCOUTQ)? as u64 | u64::from(ready) << 32))
        }
        ChannelKind::EventCounter => in_counter(descriptor)? ^ u64::from(is_semaphore(descriptor)) << 63,
        ChannelKind::Timer => return None,
    };
    let room =
        if ChannelKind::of(identity) == Some(ChannelKind::Pipe) { control(descriptor, libc::F_GETPIPE_SZ)? } else { 0 };
    Some([identity, u64::from(queues::side(descriptor)), flags as u64, room as u64, content])
}

/// Passes names and numbers of all descriptors of channels; false if one is not known.
pub fn digest(mut add: impl FnMut(u64, u64)) -> bool {
    if !undo::has_opened() {
        return true;
    }
    for descriptor in 0..MAX_CHANNELS as i32 {
        let name = mix(0x6368_616e ^ (descriptor as u64) << 32);
        let word = descriptor_ends::word_of(descriptor);
        let identity = channel(descriptor);
        if is_kept(identity) {
            // A child process may use it at any moment.
            if run().has_children {
                return false;
            }
            let Some(state) = state(descriptor, identity) else { return false };
            add(name, state.iter().fold(word, |hash, &part| mix(hash ^ part)));
        } else if word != 0 {
            add(name, word);
        }
    }
    true
}

/// Which event counters are semaphores, by descriptor.
#[derive(Clone, Copy)]
pub struct Semaphores([u64; MAX_CHANNELS / 64]);

impl Semaphores {
    /// None.
    pub const NONE: Semaphores = Semaphores([0; MAX_CHANNELS / 64]);
}

/// Whether the descriptor is that of a counter which is read one by one.
pub fn is_semaphore(descriptor: i32) -> bool {
    let at = descriptor as usize;
    run().semaphores.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
}

/// Notes whether it is.
pub fn set_semaphore(descriptor: i32, is_one: bool) {
    let at = descriptor as usize;
    if let Some(word) = run().semaphores.0.get_mut(at / 64) {
        *word = *word & !(1 << (at % 64)) | u64::from(is_one) << (at % 64);
    }
}
