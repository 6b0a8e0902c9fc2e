//! Objects of the C++ library that its own code changes, which has no hooks: threads, paths, and
//! memory resources that are not synchronised. So these functions report what they access. The
//! layouts are those of libstdc++.
//!
//! The handlers and the default resource that a process has are atomic: setting one is a
//! read-modify-write of it, asking for it a load. What the library does with them by itself (a call
//! of `std::terminate`, an allocation that fails) is no operation.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::arch::PAGE;
use crate::arch::entry::intercept;
use crate::interpose::annotations::{acquire, exchange};
use crate::interpose::before::before;
use crate::interpose::buffers::{changes, reads, writes};
use crate::library::hidden_state;
use crate::state::{controlled, run};
use crate::syscall::maps::Maps;
use crate::syscall::{callers, syscall};

const WORD: usize = size_of::<usize>();

/// A path is its text and a pointer to its components.
mod path {
    pub const COMPONENTS: usize = 32;
    pub const BYTES: usize = 40;
}

/// Where a resource keeps what every allocation changes.
mod resource {
    /// `std::pmr::monotonic_buffer_resource`: what is left of the buffer, and how much that is.
    pub const LEFT: usize = 8;
    pub const LEFT_BYTES: usize = 16;
    /// `std::pmr::unsynchronized_pool_resource`: its pools.
    pub const POOLS: usize = 64;
}

/// Whether a call from there is one of several threads'.
fn counts(pc: u64) -> bool {
    controlled() && run().threads > 1 && callers::is_program(pc)
}

/// The object of a thread is asked which thread it stands for, to join it. That it stands for none
/// afterwards is reported behind the join.
fn joins(object: usize, pc: u64) {
    if counts(pc) {
        reads(object, WORD, pc);
        run().me().private.joins = (object, pc);
    }
}

/// The thread of an object was joined.
pub fn joined((object, pc): (usize, u64)) {
    if object != 0 {
        writes(object, WORD, pc);
    }
}

fn detaches(object: usize, pc: u64) {
    if counts(pc) {
        changes(object, WORD, pc);
    }
}

fn reads_path(path: usize, pc: u64) {
    if counts(pc) {
        reads(path, path::BYTES, pc);
    }
}

fn reads_paths(one: usize, other: usize, pc: u64) {
    reads_path(one, pc);
    reads_path(other, pc);
}

fn changes_path(path: usize, pc: u64) {
    if counts(pc) {
        changes(path, path::BYTES, pc);
    }
}

/// A path is changed by means of another one.
fn changes_path_by(path: usize, other: usize, pc: u64) {
    reads_path(other, pc);
    changes_path(path, pc);
}

fn uses_pools(resource: usize, pc: u64) {
    if counts(pc) {
        changes(resource + resource::POOLS, WORD, pc);
    }
}

fn sets(handler: &str, pc: u64) {
    if counts(pc) {
        exchange(hidden_state(handler) as u64, pc);
    }
}

fn gets(handler: &str, pc: u64) {
    if counts(pc) {
        acquire(hidden_state(handler) as u64, pc);
    }
}

before! {
    _ZNSt6thread4joinEv => |a, pc| joins(a[0], pc);
    _ZNSt6thread6detachEv => |a, pc| detaches(a[0], pc);

    _ZNSt10filesystem7__cxx114path14_M_split_cmptsEv => |a, pc| {
        if counts(pc) {
            writes(a[0] + path::COMPONENTS, WORD, pc);
        }
    };
    _ZNSt10filesystem7__cxx114path15remove_filenameEv
    _ZNSt10filesystem7__cxx114path9_M_appendESt17basic_string_viewIcSt11char_traitsIcEE
    _ZNSt10filesystem7__cxx114path9_M_concatESt17basic_string_viewIcSt11char_traitsIcEE
        => |a, pc| changes_path(a[0], pc);
    _ZNSt10filesystem7__cxx114path16replace_filenameERKS1_
    _ZNSt10filesystem7__cxx114path17replace_extensionERKS1_
    _ZNSt10filesystem7__cxx114pathaSERKS1_
    _ZNSt10filesystem7__cxx114pathdVERKS1_
    _ZNSt10filesystem7__cxx114pathpLERKS1_
        => |a, pc| changes_path_by(a[0], a[1], pc);
    _ZNKSt10filesystem7__cxx114path12has_filenameEv
    _ZNKSt10filesystem7__cxx114path13has_root_nameEv
    _ZNKSt10filesystem7__cxx114path13has_root_pathEv
    _ZNKSt10filesystem7__cxx114path15has_parent_pathEv
    _ZNKSt10filesystem7__cxx114path17has_relative_pathEv
    _ZNKSt10filesystem7__cxx114path18has_root_directoryEv
    _ZNKSt10filesystem7__cxx114path17_M_find_extensionEv
    _ZNKSt10filesystem7__cxx114path7compareESt17basic_string_viewIcSt11char_traitsIcEE
        => |a, pc| reads_path(a[0], pc);
    _ZNKSt10filesystem7__cxx114path11parent_pathEv
    _ZNKSt10filesystem7__cxx114path13relative_pathEv
    _ZNKSt10filesystem7__cxx114path14root_directoryEv
    _ZNKSt10filesystem7__cxx114path16lexically_normalEv
    _ZNKSt10filesystem7__cxx114path9root_nameEv
    _ZNKSt10filesystem7__cxx114path9root_pathEv => |a, pc| reads_path(a[1], pc);
    _ZNKSt10filesystem7__cxx114path18lexically_relativeERKS1_
    _ZNKSt10filesystem7__cxx114path19lexically_proximateERKS1_ => |a, pc| reads_paths(a[1], a[2], pc);
    _ZNKSt10filesystem7__cxx114path7compareERKS1_ => |a, pc| reads_paths(a[0], a[1], pc);
    _ZNKSt10filesystem7__cxx114path5_List5beginEv
    _ZNKSt10filesystem7__cxx114path5_List3endEv => |a, pc| {
        if counts(pc) {
            reads(a[0], WORD, pc);
        }
    };
    _ZNSt3pmr28unsynchronized_pool_resource11do_allocateEmm
    _ZNSt3pmr28unsynchronized_pool_resource13do_deallocateEPvmm
    _ZNSt3pmr28unsynchronized_pool_resource7releaseEv => |a, pc| uses_pools(a[0], pc);

    _ZSt13set_terminatePFvvE => |_, pc| sets("terminate_handler", pc);
    _ZSt13get_terminatev => |_, pc| gets("terminate_handler", pc);
    _ZSt14set_unexpectedPFvvE => |_, pc| sets("unexpected_handler", pc);
    _ZSt14get_unexpectedv => |_, pc| gets("unexpected_handler", pc);
    _ZSt15set_new_handlerPFvvE => |_, pc| sets("new_handler", pc);
    _ZSt15get_new_handlerv => |_, pc| gets("new_handler", pc);
    _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE => |_, pc| sets("default_resource", pc);
    _ZNSt3pmr20get_default_resourceEv => |_, pc| gets("default_resource", pc);
}

/// What libstdc++ allocates by from a `std::pmr::monotonic_buffer_resource`.
static ALLOCATE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Its allocation, which libstdc++ does not export.
extern "C" fn allocates(resource: usize, _bytes: usize, _alignment: usize, _: usize, pc: u64) -> *mut c_void {
    if counts(pc) {
        changes(resource + resource::LEFT, resource::LEFT_BYTES, pc);
    }
    ALLOCATE.load(Ordering::Relaxed)
}

intercept!(raddle_monotonic_allocate => allocates);

unsafe extern "C" {
    fn raddle_monotonic_allocate();
}

/// Puts the runtime's function before that of the library in the table of virtual functions. Called
/// once, before the program runs.
pub fn install() {
    const TABLE: &CStr = c"_ZTVNSt3pmr25monotonic_buffer_resourceE";
    /// Words before the function: where the table begins, its type, two destructors.
    const BEFORE: usize = 4;
    // SAFETY: a plain look-up with a valid string.
    let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, TABLE.as_ptr()) }.cast::<*mut c_void>();
    if table.is_null() {
        return;
    }
    let slot = table.wrapping_add(BEFORE);
    let page = slot as usize & !(PAGE - 1);
    let is_protected = !is_writable(page);
    // SAFETY: the page holds a table of virtual functions, and is made writable while it is
    // changed.
    unsafe {
        if is_protected {
            syscall!(libc::SYS_mprotect, page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
        }
        ALLOCATE.store(slot.replace(raddle_monotonic_allocate as *const () as *mut c_void), Ordering::Relaxed);
        if is_protected {
            syscall!(libc::SYS_mprotect, page, PAGE, libc::PROT_READ);
        }
    }
}

/// Fills the tables in which the facet for characters of the classic locale keeps what it has
/// converted before. libstdc++ fills them at any first conversion, without a lock (PR 77704 of
/// gcc), and regular expressions and streams convert. What is written is the same in every order.
pub fn fill_tables() {
    const NAMES: [&CStr; 4] = [
        c"_ZNSt6locale7classicEv",
        c"_ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale",
        c"_ZNKSt5ctypeIcE14_M_narrow_initEv",
        c"_ZNKSt5ctypeIcE13_M_widen_initEv",
    ];
    // SAFETY: plain look-ups with valid strings.
    let found = NAMES.map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    if found.iter().any(|function| function.is_null()) {
        return;
    }
    // SAFETY: libstdc++ has these functions: the classic locale, its facet, and two functions of a
    // facet.
    unsafe {
        let classic = core::mem::transmute::<*mut c_void, extern "C" fn() -> usize>(found[0]);
        let facet = core::mem::transmute::<*mut c_void, extern "C" fn(usize) -> usize>(found[1])(classic());
        for fill in &found[2..] {
            core::mem::transmute::<*mut c_void, extern "C" fn(usize)>(*fill)(facet);
        }
    }
}

/// Whether the page may be written to. A program that is linked at a fixed address has a copy of
/// the table among its variables.
fn is_writable(page: usize) -> bool {
    let mut maps = Maps::open();
    core::iter::from_fn(|| maps.as_mut()?.next())
        .find(|mapping| mapping.start <= page && page < mapping.end)
        .is_some_and(|mapping| mapping.writable)
}
