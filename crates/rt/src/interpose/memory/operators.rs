//! `operator new` and `operator delete`, by their mangled names.
//!
//! A program may bring operators of its own for some of them. The others then go through these, as
//! the standard says of the library's: those for arrays through those for single objects, those
//! with a size or without exceptions through the plain ones.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use raddle_vocab::HeapWay;

use crate::arch::entry::hook;
use crate::interpose::memory::heap;
use crate::sched::startup;

crate::syscall::libc_real::real! { hidden:
    fn _ZSt17__throw_bad_allocv();
}

/// An operator that others go through; the address of the program's own, or 0.
struct Base {
    name: &'static CStr,
    own: AtomicUsize,
}

impl Base {
    const fn new(name: &'static CStr) -> Self {
        Base { name, own: AtomicUsize::new(0) }
    }

    fn own(&self) -> Option<usize> {
        let own = self.own.load(Relaxed);
        (own != 0).then_some(own)
    }
}

static NEW: Base = Base::new(c"_Znwm");
static NEW_ARRAY: Base = Base::new(c"_Znam");
static NEW_ALIGNED: Base = Base::new(c"_ZnwmSt11align_val_t");
static NEW_ARRAY_ALIGNED: Base = Base::new(c"_ZnamSt11align_val_t");
static DELETE: Base = Base::new(c"_ZdlPv");
static DELETE_ARRAY: Base = Base::new(c"_ZdaPv");
static DELETE_ALIGNED: Base = Base::new(c"_ZdlPvSt11align_val_t");
static DELETE_ARRAY_ALIGNED: Base = Base::new(c"_ZdaPvSt11align_val_t");

fn bases() -> [&'static Base; 8] {
    [&NEW, &NEW_ARRAY, &NEW_ALIGNED, &NEW_ARRAY_ALIGNED, &DELETE, &DELETE_ARRAY, &DELETE_ALIGNED, &DELETE_ARRAY_ALIGNED]
}

/// Looks up which operators the program brings.
pub fn find() {
    for base in bases() {
        // SAFETY: a plain look-up with a valid string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, base.name.as_ptr()) } as usize;
        let is_own = found != 0 && !startup::is_runtime_code(found as u64);
        base.own.store(if is_own { found } else { 0 }, Relaxed);
    }
}

/// Whether the program brings any.
pub fn are_replaced() -> bool {
    bases().iter().any(|base| base.own().is_some())
}

/// The ways to allocate and free through the first of these operators that the program brings.
fn first_of(bases: &[&Base]) -> Option<usize> {
    bases.iter().find_map(|base| base.own())
}

/// Memory for the operator; throws, through libstdc++, when it is used up.
extern "C-unwind" fn allocate(size: usize, align: usize, way: HeapWay, pc: u64) -> usize {
    let block = heap::new(size, align, way, pc);
    if block == 0 {
        // SAFETY: throws std::bad_alloc, which unwinds to the program.
        unsafe { hidden::_ZSt17__throw_bad_allocv() };
    }
    block
}

type New = extern "C-unwind" fn(usize) -> usize;
type NewAligned = extern "C-unwind" fn(usize, usize) -> usize;
type Delete = extern "C" fn(usize);
type DeleteAligned = extern "C" fn(usize, usize);

/// Calls the program's operator at an address.
macro_rules! call {
    ($own:expr, $type:ty, $($argument:expr),*) => {{
        // SAFETY: the program's definition of the operator of this type.
        let operator: $type = unsafe { core::mem::transmute::<usize, $type>($own) };
        operator($($argument),*)
    }};
}

const DEFAULT_ALIGN: usize = 16;

extern "C-unwind" fn new_at(size: usize, pc: u64) -> usize {
    allocate(size, DEFAULT_ALIGN, HeapWay::Single, pc)
}

extern "C-unwind" fn new_array_at(size: usize, pc: u64) -> usize {
    match NEW.own() {
        Some(own) => call!(own, New, size),
        None => allocate(size, DEFAULT_ALIGN, HeapWay::Array, pc),
    }
}

extern "C-unwind" fn new_aligned_at(size: usize, align: usize, pc: u64) -> usize {
    allocate(size, align, HeapWay::AlignedSingle, pc)
}

extern "C-unwind" fn new_array_aligned_at(size: usize, align: usize, pc: u64) -> usize {
    match NEW_ALIGNED.own() {
        Some(own) => call!(own, NewAligned, size, align),
        None => allocate(size, align, HeapWay::AlignedArray, pc),
    }
}

// An exception of the program's operator goes on to the caller, where the library would return
// null.
extern "C-unwind" fn new_nothrow_at(size: usize, _tag: usize, pc: u64) -> usize {
    match NEW.own() {
        Some(own) => call!(own, New, size),
        None => heap::new(size, DEFAULT_ALIGN, HeapWay::Single, pc),
    }
}

extern "C-unwind" fn new_array_nothrow_at(size: usize, _tag: usize, pc: u64) -> usize {
    match first_of(&[&NEW_ARRAY, &NEW]) {
        Some(own) => call!(own, New, size),
        None => heap::new(size, DEFAULT_ALIGN, HeapWay::Array, pc),
    }
}

extern "C-unwind" fn new_aligned_nothrow_at(size: usize, align: usize, _tag: usize, pc: u64) -> usize {
    match NEW_ALIGNED.own() {
        Some(own) => call!(own, NewAligned, size, align),
        None => heap::new(size, align, HeapWay::AlignedSingle, pc),
    }
}

extern "C-unwind" fn new_array_aligned_nothrow_at(size: usize, align: usize, _tag: usize, pc: u64) -> usize {
    match first_of(&[&NEW_ARRAY_ALIGNED, &NEW_ALIGNED]) {
        Some(own) => call!(own, NewAligned, size, align),
        None => heap::new(size, align, HeapWay::AlignedArray, pc),
    }
}

extern "C" fn delete_at(block: usize, pc: u64) {
    heap::delete(block, HeapWay::Single, 0, pc);
}

extern "C" fn delete_sized_at(block: usize, size: usize, pc: u64) {
    match DELETE.own() {
        Some(own) => call!(own, Delete, block),
        None => heap::delete(block, HeapWay::Single, size, pc),
    }
}

extern "C" fn delete_nothrow_at(block: usize, _tag: usize, pc: u64) {
    delete_sized_at(block, 0, pc);
}

extern "C" fn delete_array_at(block: usize, pc: u64) {
    match DELETE.own() {
        Some(own) => call!(own, Delete, block),
        None => heap::delete(block, HeapWay::Array, 0, pc),
    }
}

extern "C" fn delete_array_sized_at(block: usize, size: usize, pc: u64) {
    match first_of(&[&DELETE_ARRAY, &DELETE]) {
        Some(own) => call!(own, Delete, block),
        None => heap::delete(block, HeapWay::Array, size, pc),
    }
}

extern "C" fn delete_array_nothrow_at(block: usize, _tag: usize, pc: u64) {
    delete_array_sized_at(block, 0, pc);
}

extern "C" fn delete_aligned_at(block: usize, _align: usize, pc: u64) {
    heap::delete(block, HeapWay::AlignedSingle, 0, pc);
}

extern "C" fn delete_sized_aligned_at(block: usize, size: usize, align: usize, pc: u64) {
    match DELETE_ALIGNED.own() {
        Some(own) => call!(own, DeleteAligned, block, align),
        None => heap::delete(block, HeapWay::AlignedSingle, size, pc),
    }
}

extern "C" fn delete_aligned_nothrow_at(block: usize, align: usize, _tag: usize, pc: u64) {
    delete_sized_aligned_at(block, 0, align, pc);
}

extern "C" fn delete_array_aligned_at(block: usize, align: usize, pc: u64) {
    match DELETE_ALIGNED.own() {
        Some(own) => call!(own, DeleteAligned, block, align),
        None => heap::delete(block, HeapWay::AlignedArray, 0, pc),
    }
}

extern "C" fn delete_array_sized_aligned_at(block: usize, size: usize, align: usize, pc: u64) {
    match first_of(&[&DELETE_ARRAY_ALIGNED, &DELETE_ALIGNED]) {
        Some(own) => call!(own, DeleteAligned, block, align),
        None => heap::delete(block, HeapWay::AlignedArray, size, pc),
    }
}

extern "C" fn delete_array_aligned_nothrow_at(block: usize, align: usize, _tag: usize, pc: u64) {
    delete_array_sized_aligned_at(block, 0, align, pc);
}

hook!(_Znwm, 1 => new_at);
hook!(_Znam, 1 => new_array_at);
hook!(_ZnwmSt11align_val_t, 2 => new_aligned_at);
hook!(_ZnamSt11align_val_t, 2 => new_array_aligned_at);
hook!(_ZnwmRKSt9nothrow_t, 2 => new_nothrow_at);
hook!(_ZnamRKSt9nothrow_t, 2 => new_array_nothrow_at);
hook!(_ZnwmSt11align_val_tRKSt9nothrow_t, 3 => new_aligned_nothrow_at);
hook!(_ZnamSt11align_val_tRKSt9nothrow_t, 3 => new_array_aligned_nothrow_at);
hook!(_ZdlPv, 1 => delete_at);
hook!(_ZdaPv, 1 => delete_array_at);
hook!(_ZdlPvm, 2 => delete_sized_at);
hook!(_ZdaPvm, 2 => delete_array_sized_at);
hook!(_ZdlPvSt11align_val_t, 2 => delete_aligned_at);
hook!(_ZdaPvSt11align_val_t, 2 => delete_array_aligned_at);
hook!(_ZdlPvmSt11align_val_t, 3 => delete_sized_aligned_at);
hook!(_ZdaPvmSt11align_val_t, 3 => delete_array_sized_aligned_at);
hook!(_ZdlPvRKSt9nothrow_t, 2 => delete_nothrow_at);
hook!(_ZdaPvRKSt9nothrow_t, 2 => delete_array_nothrow_at);
hook!(_ZdlPvSt11align_val_tRKSt9nothrow_t, 3 => delete_aligned_nothrow_at);
hook!(_ZdaPvSt11align_val_tRKSt9nothrow_t, 3 => delete_array_aligned_nothrow_at);
