//! Other values and records that a call reads or stores where the caller says.

use core::ffi::c_char;

use super::called::called;
use super::{changes, counts, reads, reads_text, writes, writes_text};
use crate::interpose::before::{Arguments, before};
use crate::library;
use crate::restore::snapshot::touch;
use crate::syscall::libc_real::real;

/// Bytes of what the calls fill in.
const SET: usize = 8;
const PASSWORD: usize = size_of::<libc::passwd>();
const GROUP: usize = size_of::<libc::group>();
const PATTERN: usize = size_of::<libc::regex_t>();
const MATCH: usize = size_of::<libc::regmatch_t>();
/// Texts that a record of a database leads to.
const TEXTS: usize = 5;
/// What a page of memory has, by `mincore`.
const PAGE: usize = 4096;
/// The two pointers with which an element of a list begins.
const LINKS: usize = 2 * size_of::<usize>();

before! {
    sigemptyset sigfillset => |a, pc| writes(a[0], SET, pc);
    sigaddset sigdelset => |a, pc| changes(a[0], SET, pc);
    sigismember sigisemptyset => |a, pc| reads(a[0], SET, pc);
    sigandset sigorset => |a, pc| { reads(a[1], SET, pc); reads(a[2], SET, pc); writes(a[0], SET, pc); };
    frexpl remquo remquof remquol lgamma_r lgammaf_r lgammal_r => |a, pc| writes(a[0], 4, pc);
    modfl => |a, pc| writes(a[0], 16, pc);
    sincos => |a, pc| { writes(a[0], 8, pc); writes(a[1], 8, pc); };
    sincosf => |a, pc| { writes(a[0], 4, pc); writes(a[1], 4, pc); };
    sincosl => |a, pc| { writes(a[0], 16, pc); writes(a[1], 16, pc); };
    tsearch tdelete => |a, pc| changes(a[1], size_of::<usize>(), pc);
    tfind => |a, pc| reads(a[1], size_of::<usize>(), pc);
    lfind => |a, pc| reads(a[2], size_of::<usize>(), pc);
    random_r => |a, pc| { changes(a[0], 48, pc); writes(a[1], 4, pc); };
    srandom_r => |a, pc| changes(a[1], 48, pc);
    drand48_r lrand48_r mrand48_r => |a, pc| { changes(a[0], 24, pc); writes(a[1], 8, pc); };
    srand48_r => |a, pc| writes(a[1], 24, pc);
    regcomp => |a, pc| { reads_text(a[1], pc); writes(a[0], PATTERN, pc); };
    regfree => |a, pc| changes(a[0], PATTERN, pc);
    strptime => |a, pc| { reads_text(a[0], pc); reads_text(a[1], pc); writes(a[2], size_of::<libc::tm>(), pc); };
    swab => |a, pc| { reads(a[0], a[2] & !1, pc); writes(a[1], a[2] & !1, pc); };
    memfrob => |a, pc| changes(a[0], a[1], pc);
    explicit_bzero => |a, pc| writes(a[0], a[1], pc);
    bcopy => |a, pc| { reads(a[0], a[2], pc); writes(a[1], a[2], pc); };
    rawmemchr => |a, pc| reads(a[0], 1, pc);
    getsubopt => |a, pc| { changes(a[0], size_of::<usize>(), pc); writes(a[2], size_of::<usize>(), pc); };
    pthread_getcpuclockid clock_getcpuclockid => |a, pc| writes(a[1], 4, pc);
    initstate_r => |a, pc| { writes(a[1], a[2], pc); writes(a[3], 48, pc); };
    dladdr => |a, pc| writes(a[1], size_of::<libc::Dl_info>(), pc);
    mincore => |a, pc| kernel_writes(a[2], a[1].div_ceil(PAGE), pc);
    sched_rr_get_interval => |a, pc| kernel_writes(a[1], size_of::<libc::timespec>(), pc);
    gcvt qgcvt => |a, pc| writes(a[1], 1, pc);
    ecvt_r fcvt_r qecvt_r qfcvt_r => |a, pc| {
        writes(a[1], 4, pc);
        writes(a[2], 4, pc);
        writes(a[3], 1, pc);
    };
    argz_append => |a, pc| { reads(a[2], a[3], pc); changes_argz(a, pc); };
    argz_add argz_add_sep => |a, pc| { reads_text(a[2], pc); changes_argz(a, pc); };
    fnmatch => |a, pc| { reads_text(a[0], pc); reads_text(a[1], pc); };
    insque => |a, pc| { writes(a[0], LINKS, pc); changes(a[1], size_of::<usize>(), pc); };
    posix_spawnattr_init => |a, pc| writes(a[0], size_of::<libc::posix_spawnattr_t>(), pc);
    posix_spawn_file_actions_init => |a, pc| writes(a[0], size_of::<libc::posix_spawn_file_actions_t>(), pc);
    getopt getopt_long getopt_long_only => |_, pc| takes_option(pc);
}

/// The kernel itself writes these bytes.
fn kernel_writes(at: usize, bytes: usize, pc: u64) {
    writes(at, bytes, pc);
    if counts(at, pc) {
        touch(at as *mut u8, bytes);
    }
}

/// The call replaces a vector of texts and its length.
fn changes_argz(a: Arguments, pc: u64) {
    changes(a[0], size_of::<usize>(), pc);
    changes(a[1], size_of::<usize>(), pc);
}

unsafe extern "C" {
    static optarg: *const c_char;
    static optind: i32;
}

/// The call goes on in the arguments of the program, where the variables say.
fn takes_option(pc: u64) {
    changes(&raw const optind as usize, size_of::<i32>(), pc);
    writes(&raw const optarg as usize, size_of::<usize>(), pc);
}

/// Bytes of an address of the family; 0 if it is none that the call knows.
fn address_bytes(family: i32) -> usize {
    match family {
        libc::AF_INET => 4,
        libc::AF_INET6 => 16,
        _ => 0,
    }
}

/// The call has filled a record, room for its strings, and a pointer to it.
fn found(record: usize, bytes: usize, answer: usize, pc: u64) {
    if counts(answer, pc) {
        writes(answer, size_of::<usize>(), pc);
        // SAFETY: the call has stored a pointer there.
        if unsafe { *(answer as *const usize) } != 0 {
            writes(record, bytes, pc);
        }
    }
}

/// The call has filled a record that all threads share, and the texts that it leads to. It may have
/// put them elsewhere than the last one: `state` stands for all of them.
fn filled<R>(state: &str, record: usize, texts: impl FnOnce(&R) -> [*mut c_char; TEXTS], pc: u64) {
    writes(library::hidden_state(state), size_of::<usize>(), pc);
    if counts(record, pc) {
        writes(record, size_of::<R>(), pc);
        // SAFETY: the C library has returned a pointer to such a record.
        texts(unsafe { &*(record as *const R) }).into_iter().for_each(|text| writes_text(text as usize, pc));
    }
}

fn of_password(record: &libc::passwd) -> [*mut c_char; TEXTS] {
    [record.pw_name, record.pw_passwd, record.pw_gecos, record.pw_dir, record.pw_shell]
}

fn of_group(record: &libc::group) -> [*mut c_char; TEXTS] {
    let none = core::ptr::null_mut();
    [record.gr_name, record.gr_passwd, none, none, none]
}

/// The call has written a text that all threads share.
fn filled_text(state: &str, text: usize, pc: u64) {
    writes(library::hidden_state(state), size_of::<usize>(), pc);
    writes_text(text, pc);
}

called! {
    fn getpwnam, 1(name: usize) -> usize |result, pc| {
        reads_text(name, pc);
        filled("getpwnam", result, of_password, pc);
    };
    fn getpwuid, 1(user: u32) -> usize |result, pc| filled("getpwnam", result, of_password, pc);
    fn getpwent, 0() -> usize |result, pc| filled("pwent", result, of_password, pc);
    fn getgrnam, 1(name: usize) -> usize |result, pc| {
        reads_text(name, pc);
        filled("getgrnam", result, of_group, pc);
    };
    fn getgrgid, 1(group: u32) -> usize |result, pc| filled("getgrnam", result, of_group, pc);
    fn getgrent, 0() -> usize |result, pc| filled("grent", result, of_group, pc);
    fn getlogin, 0() -> usize |result, pc| filled_text("getlogin", result, pc);
    fn ttyname, 1(descriptor: i32) -> usize |result, pc| filled_text("ttyname", result, pc);
    fn ptsname, 1(descriptor: i32) -> usize |result, pc| filled_text("ptsname", result, pc);
    fn l64a, 1(number: i64) -> usize |result, pc| filled_text("l64a", result, pc);
    fn memccpy, 4(into: usize, from: usize, end: i32, most: usize) -> usize |result, pc| {
        let copied = if result == 0 { most } else { result - into };
        reads(from, copied, pc);
        writes(into, copied, pc);
    };
    fn ether_ntoa, 1(address: usize) -> usize |result, pc| filled_text("ether_ntoa", result, pc);
    fn gethostname, 2(into: usize, bytes: usize) -> i32 |result, pc| if result == 0 { writes_text(into, pc) };
    fn getdomainname, 2(into: usize, bytes: usize) -> i32 |result, pc| if result == 0 { writes_text(into, pc) };
    fn ttyname_r, 3(descriptor: i32, into: usize, bytes: usize) -> i32
        |result, pc| if result == 0 { writes_text(into, pc) };
    fn ptsname_r, 3(descriptor: i32, into: usize, bytes: usize) -> i32
        |result, pc| if result == 0 { writes_text(into, pc) };
    fn getlogin_r, 2(into: usize, bytes: usize) -> i32 |result, pc| if result == 0 { writes_text(into, pc) };
    fn confstr, 3(name: i32, into: usize, room: usize) -> usize |result, pc| writes(into, result.min(room), pc);
    fn inet_ntop, 4(family: i32, from: usize, into: usize, bytes: u32) -> usize |result, pc| {
        reads(from, address_bytes(family), pc);
        writes_text(result, pc);
    };
    fn inet_pton, 3(family: i32, from: usize, into: usize) -> i32 |result, pc| {
        reads_text(from, pc);
        if result == 1 {
            writes(into, address_bytes(family), pc);
        }
    };
    fn inet_aton, 2(from: usize, into: usize) -> i32 |result, pc| {
        reads_text(from, pc);
        if result != 0 {
            writes(into, 4, pc);
        }
    };
    fn getpwnam_r, 5(name: usize, into: usize, room: usize, bytes: usize, answer: usize) -> i32 |result, pc| {
        reads_text(name, pc);
        found(into, PASSWORD, answer, pc);
    };
    fn getpwuid_r, 5(user: u32, into: usize, room: usize, bytes: usize, answer: usize) -> i32 |result, pc|
        found(into, PASSWORD, answer, pc);
    fn getgrnam_r, 5(name: usize, into: usize, room: usize, bytes: usize, answer: usize) -> i32 |result, pc| {
        reads_text(name, pc);
        found(into, GROUP, answer, pc);
    };
    fn getgrgid_r, 5(group: u32, into: usize, room: usize, bytes: usize, answer: usize) -> i32 |result, pc|
        found(into, GROUP, answer, pc);
    fn regexec, 5(pattern: usize, text: usize, most: usize, matches: usize, flags: i32) -> i32 |result, pc| {
        reads(pattern, PATTERN, pc);
        reads_text(text, pc);
        if result == 0 {
            writes(matches, most.saturating_mul(MATCH), pc);
        }
    };
    fn regerror, 4(code: i32, pattern: usize, into: usize, bytes: usize) -> usize
        |result, pc| writes(into, result.min(bytes), pc);
    fn backtrace, 2(into: usize, most: i32) -> i32
        |result, pc| writes(into, result.max(0) as usize * size_of::<usize>(), pc);
}

real! { hidden:
    fn iconv(descriptor: usize, from: *mut usize, bytes: *mut usize, into: *mut usize, room: *mut usize) -> usize;
    fn lsearch(key: usize, base: usize, count: *mut usize, size: usize, compare: usize) -> usize;
}

/// `iconv` moves both buffers. Its descriptor has a shift state, which is not guarded.
extern "C" fn convert(
    descriptor: usize,
    from: *mut usize,
    bytes: *mut usize,
    into: *mut usize,
    room: *mut usize,
    pc: u64,
) -> usize {
    changes(descriptor, size_of::<usize>(), pc);
    // SAFETY: each is null or a pointer that the caller passes.
    let present = |at: *mut usize| if at.is_null() { 0 } else { unsafe { *at } };
    let before = (present(from), present(into));
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::iconv(descriptor, from, bytes, into, room) };
    for moved in [from, bytes, into, room] {
        changes(moved as usize, size_of::<usize>(), pc);
    }
    reads(before.0, present(from).saturating_sub(before.0), pc);
    writes(before.1, present(into).saturating_sub(before.1), pc);
    result
}

/// `lsearch` appends what it does not find. The elements are read by the program's own comparison.
extern "C" fn search(key: usize, base: usize, count: *mut usize, size: usize, compare: usize, pc: u64) -> usize {
    // SAFETY: the caller passes the number of elements.
    let before = unsafe { *count };
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::lsearch(key, base, count, size, compare) };
    reads(count as usize, size_of::<usize>(), pc);
    // SAFETY: as above.
    if unsafe { *count } != before {
        reads(key, size, pc);
        writes(result, size, pc);
        writes(count as usize, size_of::<usize>(), pc);
    }
    result
}

crate::arch::entry::export!(iconv, 5 => convert);
crate::arch::entry::export!(lsearch, 5 => search);
