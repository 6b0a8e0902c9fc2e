//! Streams of the C++ library, which moves them on in code without hooks. Output writes the place
//! where the buffer is filled, input the place where it is read, and a look at the text of a string
//! stream reads both. Opening and closing a file replaces all places. Input and output read how the
//! program wants its numbers (flags, width, precision: the program writes these itself) and which
//! buffer there is, and may set the state. What is written out is read, what input is stored in is
//! written; of a text of unknown length, its first byte or the size of the string.
//!
//! The standard streams are guarded by the C library, unless the program has called
//! `std::ios::sync_with_stdio(false)`: their buffers are of a class of their own then. That holds
//! for input and output alone, not for flags and the choice of a buffer. Streams of wide characters
//! are not known. The layouts are those of libstdc++.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::interpose::before::before;
use crate::interpose::buffers::{reads, reads_text, writes};
use crate::state::{controlled, run};
use crate::syscall::callers;

/// Where the table of virtual functions says how far the part lies that all streams share.
const SHARED_PART: usize = 24;
/// Where that part has precision, width and flags.
const FORMAT: usize = 8;
const FORMAT_BYTES: usize = 20;
/// Where that part has the state.
const STATE: usize = 32;
/// Where that part points to the buffer.
const BUFFER: usize = 232;
/// Where a buffer keeps the places that are next, and how they lie: three of input, three of
/// output.
const PLACES: usize = 8;
const PLACES_BYTES: usize = 48;
const NEXT_INPUT: usize = 16;
const NEXT_OUTPUT: usize = 40;
/// What a string has beside its characters: where they are, and how many.
const STRING_BYTES: usize = 16;
/// Bytes of a `long double`.
const LONG_DOUBLE: usize = 16;
/// Where the virtual functions are in their table.
const FIRST_FUNCTION: usize = 16;

fn word(at: usize) -> usize {
    // SAFETY: callers pass places in streams that the program has given to the C++ library.
    unsafe { *(at as *const usize) }
}

/// The table of the buffers that are guarded by the C library; 0 if there are none.
fn guarded() -> usize {
    const NAME: &core::ffi::CStr = c"_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE";
    static TABLE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let known = TABLE.load(Ordering::Relaxed);
    if !known.is_null() {
        return known as usize;
    }
    // SAFETY: a plain look-up with a valid string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
    TABLE.store(found, Ordering::Relaxed);
    found as usize
}

/// Whether a call from there is one of several threads'.
fn counts(pc: u64) -> bool {
    controlled() && run().threads > 1 && callers::is_program(pc)
}

/// The part of a stream that all streams share.
fn shared_part(stream: usize) -> usize {
    stream.wrapping_add(word(word(stream).wrapping_sub(SHARED_PART)))
}

/// The buffer of a stream, unless the C library guards it.
fn buffer(stream: usize) -> Option<usize> {
    let buffer = word(shared_part(stream) + BUFFER);
    (buffer != 0 && word(buffer) != guarded() + FIRST_FUNCTION).then_some(buffer)
}

fn output(stream: usize, pc: u64) {
    transfer(stream, NEXT_OUTPUT, pc);
}

fn input(stream: usize, pc: u64) {
    transfer(stream, NEXT_INPUT, pc);
}

fn transfer(stream: usize, next: usize, pc: u64) {
    if !counts(pc) {
        return;
    }
    let shared = shared_part(stream);
    reads(shared + FORMAT, FORMAT_BYTES, pc);
    reads(shared + BUFFER, size_of::<usize>(), pc);
    if let Some(buffer) = buffer(stream) {
        sets_state(shared, pc);
        writes(buffer + next, size_of::<usize>(), pc);
    }
}

/// A stream gets another buffer, which ends its state.
fn replaces_buffer(shared: usize, pc: u64) {
    if counts(pc) {
        writes(shared + BUFFER, size_of::<usize>(), pc);
        sets_state(shared, pc);
    }
}

/// The state of a stream is set, given the part that all streams share.
fn sets_state(shared: usize, pc: u64) {
    if counts(pc) {
        writes(shared + STATE, size_of::<u32>(), pc);
    }
}

fn looks_at_state(shared: usize, pc: u64) {
    if counts(pc) {
        reads(shared + STATE, size_of::<u32>(), pc);
    }
}

/// The text of a string stream is looked at. It is returned in an object, so the stream is the
/// second argument.
fn looks(stream: usize, pc: u64) {
    if let Some(buffer) = counts(pc).then(|| buffer(stream)).flatten() {
        reads(buffer + PLACES, PLACES_BYTES, pc);
    }
}

/// As [`looks`], of a buffer.
fn looks_into(buffer: usize, pc: u64) {
    if counts(pc) {
        reads(buffer + PLACES, PLACES_BYTES, pc);
    }
}

/// A string stream gets another text.
fn replaces(stream: usize, pc: u64) {
    if let Some(buffer) = counts(pc).then(|| buffer(stream)).flatten() {
        writes(buffer + PLACES, PLACES_BYTES, pc);
    }
}

/// As [`replaces`], of a buffer.
fn replaces_in(buffer: usize, pc: u64) {
    if counts(pc) {
        writes(buffer + PLACES, PLACES_BYTES, pc);
    }
}

/// Lengths are signed. A negative one is of nothing.
fn length(given: usize) -> usize {
    given.cast_signed().max(0).cast_unsigned()
}

/// A string of the C++ library: where its characters are, and how many.
fn text_of(string: usize) -> (usize, usize) {
    (word(string), word(string + size_of::<usize>()))
}

/// The output of a string.
fn writes_out(stream: usize, string: usize, pc: u64) {
    output(stream, pc);
    reads(string, STRING_BYTES, pc);
    let (text, bytes) = text_of(string);
    reads(text, bytes, pc);
}

/// Input of an object of so many bytes.
fn extracts(stream: usize, into: usize, bytes: usize, pc: u64) {
    input(stream, pc);
    writes(into, bytes, pc);
}

before! {
    _ZNSolsEi _ZNSolsEj _ZNSolsEl _ZNSolsEm _ZNSolsEx _ZNSolsEy _ZNSolsEs _ZNSolsEt
    _ZNSolsEb _ZNSolsEf _ZNSolsEd _ZNSolsEe _ZNSolsEPKv
    _ZNSo9_M_insertIPKvEERSoT_ _ZNSo9_M_insertIbEERSoT_ _ZNSo9_M_insertIdEERSoT_ _ZNSo9_M_insertIeEERSoT_
    _ZNSo9_M_insertIlEERSoT_ _ZNSo9_M_insertImEERSoT_ _ZNSo9_M_insertIxEERSoT_ _ZNSo9_M_insertIyEERSoT_
    _ZNSo3putEc _ZNSo5flushEv
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c
    _ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_
        => |a, pc| output(a[0], pc);
    _ZNSo5writeEPKcl _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l
        => |a, pc| { output(a[0], pc); reads(a[1], length(a[2]), pc); };
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
        => |a, pc| { output(a[0], pc); reads_text(a[1], pc); };
    _ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE
        => |a, pc| writes_out(a[0], a[1], pc);
    _ZNSirsERb _ZNSi10_M_extractIbEERSiRT_ _ZNSi3getERc _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_
        => |a, pc| extracts(a[0], a[1], 1, pc);
    _ZNSirsERs _ZNSirsERt _ZNSi10_M_extractItEERSiRT_ => |a, pc| extracts(a[0], a[1], 2, pc);
    _ZNSirsERi _ZNSirsERj _ZNSirsERf _ZNSi10_M_extractIjEERSiRT_ _ZNSi10_M_extractIfEERSiRT_
        => |a, pc| extracts(a[0], a[1], 4, pc);
    _ZNSirsERl _ZNSirsERm _ZNSirsERx _ZNSirsERy _ZNSirsERd _ZNSirsERPv
    _ZNSi10_M_extractIPvEERSiRT_ _ZNSi10_M_extractIdEERSiRT_ _ZNSi10_M_extractIlEERSiRT_
    _ZNSi10_M_extractImEERSiRT_ _ZNSi10_M_extractIxEERSiRT_ _ZNSi10_M_extractIyEERSiRT_
        => |a, pc| extracts(a[0], a[1], 8, pc);
    _ZNSirsERe _ZNSi10_M_extractIeEERSiRT_ => |a, pc| extracts(a[0], a[1], LONG_DOUBLE, pc);
    _ZNSi4readEPcl => |a, pc| extracts(a[0], a[1], length(a[2]), pc);
    // As much as there is: at least the zero at the end.
    _ZNSi3getEPcl _ZNSi3getEPclc _ZNSi7getlineEPcl _ZNSi7getlineEPclc
        => |a, pc| extracts(a[0], a[1], length(a[2]).min(1), pc);
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_
    _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
        => |a, pc| extracts(a[0], a[1], STRING_BYTES, pc);
    _ZNSi3getEv _ZNSi6ignoreEv _ZNSi6ignoreEl _ZNSi6ignoreEli
        => |a, pc| input(a[0], pc);
    _ZNSi4peekEv _ZNSi4syncEv _ZNSi5ungetEv _ZNSi7putbackEc _ZNSi8readsomeEPcl
    _ZNSi5seekgESt4fposI11__mbstate_tE _ZNSi5seekgElSt12_Ios_Seekdir
        => |a, pc| input(a[0], pc);
    _ZNSo5seekpESt4fposI11__mbstate_tE _ZNSo5seekpElSt12_Ios_Seekdir
        => |a, pc| output(a[0], pc);
    _ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate
    _ZNSt9basic_iosIcSt11char_traitsIcEE8setstateESt12_Ios_Iostate
        => |a, pc| sets_state(a[0], pc);
    _ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E => |a, pc| replaces_buffer(a[0], pc);
    _ZNKSt9basic_iosIcSt11char_traitsIcEE4goodEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEE4failEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEE3badEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEE3eofEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEE7rdstateEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEEcvbEv
    _ZNKSt9basic_iosIcSt11char_traitsIcEEntEv
        => |a, pc| looks_at_state(a[0], pc);
    _ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
    _ZNSt13basic_filebufIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
    _ZNSt13basic_filebufIcSt11char_traitsIcEE5closeEv
        => |a, pc| replaces_in(a[0], pc);
    _ZNSt13basic_fstreamIcSt11char_traitsIcEE5closeEv
    _ZNSt14basic_ifstreamIcSt11char_traitsIcEE5closeEv
    _ZNSt14basic_ofstreamIcSt11char_traitsIcEE5closeEv
    _ZNSt13basic_fstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
    _ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
    _ZNSt14basic_ofstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
    _ZNSt13basic_fstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
    _ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
    _ZNSt14basic_ofstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
        => |a, pc| replaces(a[0], pc);
    _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKRSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKRSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKRSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv
        => |a, pc| looks(a[1], pc);
    _ZNKSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv
    _ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv
        => |a, pc| looks_into(a[1], pc);
    _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
        => |a, pc| replaces(a[0], pc);
    _ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
    _ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
        => |a, pc| replaces_in(a[0], pc);
}
