//! What the program asks of the machine: random bytes of the C library, its own rights, names of
//! hosts, and `poll` as fortified programs call it.

use core::ffi::{CStr, c_char, c_void};

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers::{reads, writes};
use crate::interpose::process::{random_bytes, time};
use crate::library::calls;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::state::controlled;
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn arc4random_buf(into: *mut c_void, bytes: usize);
    fn setuid(id: u32) -> i32;
    fn setgid(id: u32) -> i32;
    fn setgroups(count: usize, list: *const u32) -> i32;
    fn __poll_chk(descriptors: *mut libc::pollfd, count: u64, milliseconds: i32, bytes: usize) -> i32;
    fn getnameinfo(
        address: *const c_void,
        bytes: u32,
        host: *mut c_char,
        host_bytes: u32,
        service: *mut c_char,
        service_bytes: u32,
        flags: i32
    ) -> i32;
}

/// Fills a buffer with random bytes: those of the thread, the same in every run.
fn random(into: *mut u8, bytes: usize) {
    if controlled() {
        random_bytes::random(into, bytes, 0);
    } else {
        // SAFETY: the caller passes room for so many bytes.
        unsafe { hidden::arc4random_buf(into.cast(), bytes) };
    }
}

fn random_number() -> u32 {
    let mut bytes = [0; 4];
    random(bytes.as_mut_ptr(), bytes.len());
    u32::from_ne_bytes(bytes)
}

extern "C" fn any_number(_pc: u64) -> u32 {
    random_number()
}

/// A number below the bound, each as probable as the others.
extern "C" fn number_below(bound: u32, _pc: u64) -> u32 {
    if bound < 2 {
        return 0;
    }
    // Numbers below this one would make small results more probable.
    let least = bound.wrapping_neg() % bound;
    loop {
        let number = random_number();
        if number >= least {
            return number % bound;
        }
    }
}

extern "C" fn random_buffer(into: *mut c_void, bytes: usize, pc: u64) {
    touch(into.cast(), bytes);
    random(into.cast(), bytes);
    writes(into as usize, bytes, pc);
}

/// A call that changes rights of the process, which the kernel keeps, unless it asks for those that
/// the process has. All threads of the program are one to the kernel: the C library would wait for
/// others.
fn change_rights(name: &[u8], is_same: bool, pc: u64, change: impl FnOnce() -> isize) -> i32 {
    if is_same {
        return 0;
    }
    calls::note(name, pc);
    undo::needs_own_process();
    match change() {
        0 => 0,
        code => {
            set_errno(-code as i32);
            -1
        }
    }
}

/// Whether real, effective and saved identity are this one, by a system call that tells them.
fn has_all(call: libc::c_long, id: u32) -> bool {
    let mut ids = [0u32; 3];
    let [real, effective, saved] = &mut ids;
    // SAFETY: asks for three numbers, into locals.
    let result = unsafe { syscall!(call, &raw mut *real, &raw mut *effective, &raw mut *saved) };
    result == 0 && ids == [id; 3]
}

extern "C" fn set_user(id: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::setuid(id) };
    }
    // SAFETY: a call without pointers.
    change_rights(b"setuid", has_all(libc::SYS_getresuid, id), pc, || unsafe { syscall!(libc::SYS_setuid, id) })
}

extern "C" fn set_group(id: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::setgid(id) };
    }
    // SAFETY: a call without pointers.
    change_rights(b"setgid", has_all(libc::SYS_getresgid, id), pc, || unsafe { syscall!(libc::SYS_setgid, id) })
}

extern "C" fn set_groups(count: usize, list: *const u32, pc: u64) -> i32 {
    const MOST: usize = 256;
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::setgroups(count, list) };
    }
    let mut own = [0u32; MOST];
    // SAFETY: asks for the groups, into a local with so many places.
    let found = unsafe { syscall!(libc::SYS_getgroups, MOST, own.as_mut_ptr()) };
    let wanted = if count == 0 || list.is_null() {
        &[][..]
    } else {
        // SAFETY: the caller passes so many numbers.
        unsafe { core::slice::from_raw_parts(list, count) }
    };
    let is_same = wanted.len() == count && usize::try_from(found).is_ok_and(|found| own[..found] == *wanted);
    // SAFETY: passes on what the caller gave.
    change_rights(b"setgroups", is_same, pc, || unsafe { syscall!(libc::SYS_setgroups, count, list) })
}

extern "C-unwind" fn checked_poll(
    descriptors: *mut libc::pollfd,
    count: u64,
    milliseconds: i32,
    bytes: usize,
    pc: u64,
) -> i32 {
    let fits = bytes / size_of::<libc::pollfd>() >= count as usize;
    if !controlled() || !fits {
        // SAFETY: passes on what the caller gave. Too many entries end the program.
        return unsafe { hidden::__poll_chk(descriptors, count, milliseconds, bytes) };
    }
    time::poll(descriptors.cast(), count, milliseconds, pc)
}

/// Names of hosts and services. Numbers are written out; for others the network is asked.
extern "C" fn name_of_address(
    address: *const c_void,
    bytes: u32,
    host: *mut c_char,
    host_bytes: u32,
    service: *mut c_char,
    service_bytes: u32,
    flags: i32,
) -> i32 {
    let pc = return_address();
    let is_written_out = |text: *const c_char, flag: i32| text.is_null() || flags & flag != 0;
    let is_known = is_written_out(host, libc::NI_NUMERICHOST) && is_written_out(service, libc::NI_NUMERICSERV);
    reads(address as usize, bytes as usize, pc);
    for (text, room) in [(host, host_bytes), (service, service_bytes)] {
        if controlled() && !text.is_null() {
            touch(text.cast(), room as usize);
        }
    }
    if controlled() && !is_known {
        calls::note(b"getnameinfo", pc);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::getnameinfo(address, bytes, host, host_bytes, service, service_bytes, flags) };
    for text in [host, service] {
        if result == 0 && !text.is_null() {
            // SAFETY: the call succeeded, so it has written a text with its end.
            writes(text as usize, unsafe { CStr::from_ptr(text) }.count_bytes() + 1, pc);
        }
    }
    result
}

export!(arc4random, 0 => any_number);
export!(arc4random_uniform, 1 => number_below);
export!(arc4random_buf, 2 => random_buffer);
export!(setuid, 1 => set_user);
export!(setgid, 1 => set_group);
export!(setgroups, 2 => set_groups);
export!(__poll_chk, 4 => checked_poll);
export!(getnameinfo, many => name_of_address);
