//! The ends of C++ exceptions and of their texts, and of functions that an exception or a jump
//! ends.
//!
//! Handlers and `std::exception_ptr`s own an exception object together. libstdc++ counts the owners
//! in code without hooks, and the last one to go destroys the object. So each owner that goes is a
//! read-modify-write of that count: what any owner did with the object happens before its end.
//!
//! Copies of a `std::logic_error` or `std::runtime_error` own their text together in the same way,
//! and those of a `std::filesystem::filesystem_error` its paths.
//!
//! The layout is that of libstdc++. In exceptions of libc++abi, the class is not found where it is
//! looked for.

use crate::interpose::annotations::exchange;
use crate::interpose::before::before;
use crate::interpose::process::handlers;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;

/// The head of an exception. The object lies behind it, unless the exception was thrown by
/// `std::rethrow_exception`: then the head begins with a pointer to the object.
#[repr(C)]
struct Head {
    object_elsewhere: u64,
    functions: [u64; 3],
    next: u64,
    /// How many handlers run; negative while it is thrown again.
    handlers: i32,
    switch: i32,
    places: [u64; 4],
    class: u64,
    unwinder: [u64; 3],
}

const _: () = assert!(core::mem::offset_of!(Head, class) == 80 && size_of::<Head>() == 112);

/// `GNUCC++` and a zero.
const CLASS: u64 = 0x474e_5543_432b_2b00;
/// The class of an exception whose object lies elsewhere.
const DEPENDENT: u64 = CLASS | 1;

/// Where an object keeps what its copies own, too.
mod shared {
    /// `std::logic_error`, `std::runtime_error`: the text.
    pub const TEXT: usize = 8;
    /// How far in front of the text its length is.
    pub const LENGTH: usize = 24;
    /// `std::filesystem::filesystem_error`: the counts of the owners of its paths.
    pub const PATHS: usize = 40;
}

real! { hidden:
    fn __cxa_get_globals() -> *const *const Head;
}

/// An owner of the exception object is about to go.
fn owner_goes(object: u64, pc: u64) {
    if controlled() && object != 0 && run().threads > 1 {
        exchange(object, pc);
    }
}

/// The object of the exception whose last handler is about to end.
fn object_of_handler() -> Option<u64> {
    // SAFETY: the Itanium C++ ABI: the thread's exceptions, of which the first is the innermost
    // one that is handled, or null.
    let head = unsafe { (*hidden::__cxa_get_globals()).as_ref() }?;
    match head.class {
        CLASS if head.handlers == 1 => Some(&raw const *head as u64 + size_of::<Head>() as u64),
        DEPENDENT if head.handlers == 1 => Some(head.object_elsewhere),
        _ => None,
    }
}

fn handler_ends(pc: u64) {
    if controlled()
        && let Some(object) = object_of_handler()
    {
        owner_goes(object, pc);
    }
}

/// An `exception_ptr` is about to give up the object that it points to.
fn pointer_goes(pointer: usize, pc: u64) {
    // SAFETY: called by the C++ library for a pointer, which is one word.
    owner_goes(unsafe { *(pointer as *const u64) }, pc);
}

/// An object is about to give up its text. All that are empty have the same one, which is never
/// freed.
fn text_goes(object: usize, pc: u64) {
    // SAFETY: called for an object of such a class, which points to its text.
    let (text, length) = unsafe {
        let text = *((object + shared::TEXT) as *const usize);
        (text, *((text - shared::LENGTH) as *const usize))
    };
    if length > 0 {
        owner_goes(text as u64, pc);
    }
}

/// The same, for its paths.
fn paths_go(object: usize, pc: u64) {
    // SAFETY: called for an object of that class, which points to the counts.
    owner_goes(unsafe { *((object + shared::PATHS) as *const u64) }, pc);
}

/// A function goes on elsewhere than where the function that it called returns to.
pub fn landed() {
    if controlled() {
        run().has_landed = true;
    }
}

before! {
    // Every handler begins and every cleanup ends with one of these.
    __cxa_begin_catch _Unwind_Resume setcontext swapcontext => |_, _| landed();
    longjmp _longjmp siglongjmp __longjmp_chk => |a, _| {
        handlers::jumps(a[0]);
        landed();
    };
    __cxa_end_catch => |_, pc| handler_ends(pc);
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv => |a, pc| pointer_goes(a[0], pc);
    // Destructors of these and of derived classes, and assignments.
    _ZNSt11logic_errorD0Ev _ZNSt11logic_errorD1Ev _ZNSt11logic_errorD2Ev _ZNSt11logic_erroraSERKS_
    _ZNSt13runtime_errorD0Ev _ZNSt13runtime_errorD1Ev _ZNSt13runtime_errorD2Ev _ZNSt13runtime_erroraSERKS_ =>
        |a, pc| text_goes(a[0], pc);
    _ZNSt10filesystem7__cxx1116filesystem_errorD0Ev _ZNSt10filesystem7__cxx1116filesystem_errorD1Ev
    _ZNSt10filesystem7__cxx1116filesystem_errorD2Ev => |a, pc| paths_go(a[0], pc);
}
