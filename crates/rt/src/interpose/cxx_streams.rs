//! Streams of the C++ library, which moves them on in code without hooks. Output writes the place
//! where the buffer is filled, input the place where it is read, and a look at the text of a string
//! stream reads both. Opening and closing a file replaces all places. The state of a stream is read
//! and set by calls of its own; what input and output do with it, or a manipulator changes, is not
//! reported.
//!
//! The standard streams are guarded by the C library, unless the program has called
//! `std::ios::sync_with_stdio(false)`: their buffers are of a class of their own then. Streams of
//! wide characters are not known. The layouts are those of libstdc++.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::interpose::before::before;
use crate::interpose::buffers::{reads, writes};
use crate::state::{controlled, run};
use crate::syscall::callers;

/// Where the table of virtual functions says how far the part lies that all streams share.
const SHARED_PART: usize = 24;
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

/// The buffer of a stream, unless the C library guards it.
fn buffer(stream: usize) -> Option<usize> {
    let shared = stream.wrapping_add(word(word(stream).wrapping_sub(SHARED_PART)));
    let buffer = word(shared + BUFFER);
    (buffer != 0 && word(buffer) != guarded() + FIRST_FUNCTION).then_some(buffer)
}

fn output(stream: usize, pc: u64) {
    if let Some(buffer) = counts(pc).then(|| buffer(stream)).flatten() {
        writes(buffer + NEXT_OUTPUT, size_of::<usize>(), pc);
    }
}

fn input(stream: usize, pc: u64) {
    if let Some(buffer) = counts(pc).then(|| buffer(stream)).flatten() {
        writes(buffer + NEXT_INPUT, size_of::<usize>(), pc);
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

before! {
    _ZNSolsEi _ZNSolsEj _ZNSolsEl _ZNSolsEm _ZNSolsEx _ZNSolsEy _ZNSolsEs _ZNSolsEt
    _ZNSolsEb _ZNSolsEf _ZNSolsEd _ZNSolsEe _ZNSolsEPKv
    _ZNSo9_M_insertIPKvEERSoT_ _ZNSo9_M_insertIbEERSoT_ _ZNSo9_M_insertIdEERSoT_ _ZNSo9_M_insertIeEERSoT_
    _ZNSo9_M_insertIlEERSoT_ _ZNSo9_M_insertImEERSoT_ _ZNSo9_M_insertIxEERSoT_ _ZNSo9_M_insertIyEERSoT_
    _ZNSo3putEc _ZNSo5writeEPKcl _ZNSo5flushEv
    _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c
    _ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE
    _ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_
        => |a, pc| output(a[0], pc);
    _ZNSirsERi _ZNSirsERj _ZNSirsERl _ZNSirsERm _ZNSirsERx _ZNSirsERy _ZNSirsERs _ZNSirsERt
    _ZNSirsERb _ZNSirsERf _ZNSirsERd _ZNSirsERe _ZNSirsERPv
    _ZNSi10_M_extractIPvEERSiRT_ _ZNSi10_M_extractIbEERSiRT_ _ZNSi10_M_extractIdEERSiRT_
    _ZNSi10_M_extractIeEERSiRT_ _ZNSi10_M_extractIfEERSiRT_ _ZNSi10_M_extractIjEERSiRT_
    _ZNSi10_M_extractIlEERSiRT_ _ZNSi10_M_extractImEERSiRT_ _ZNSi10_M_extractItEERSiRT_
    _ZNSi10_M_extractIxEERSiRT_ _ZNSi10_M_extractIyEERSiRT_
    _ZNSi3getEv _ZNSi3getERc _ZNSi3getEPcl _ZNSi3getEPclc _ZNSi4readEPcl _ZNSi7getlineEPcl
    _ZNSi7getlineEPclc _ZNSi6ignoreEv _ZNSi6ignoreEl _ZNSi6ignoreEli
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_
    _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
    _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_
        => |a, pc| input(a[0], pc);
    _ZNSi4peekEv _ZNSi4syncEv _ZNSi5ungetEv _ZNSi7putbackEc _ZNSi8readsomeEPcl
    _ZNSi5seekgESt4fposI11__mbstate_tE _ZNSi5seekgElSt12_Ios_Seekdir
        => |a, pc| input(a[0], pc);
    _ZNSo5seekpESt4fposI11__mbstate_tE _ZNSo5seekpElSt12_Ios_Seekdir
        => |a, pc| output(a[0], pc);
    _ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate
    _ZNSt9basic_iosIcSt11char_traitsIcEE8setstateESt12_Ios_Iostate
        => |a, pc| sets_state(a[0], pc);
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
