//! Functions that change the process's state in the kernel: mappings, directories, child processes.

use core::ffi::{c_char, c_void};

use raddle_wire::limit;

use crate::arch::entry::{export, hook};
use crate::arch::{LOW_MAPPINGS, LOW_MAPPINGS_OF_SLOT, MAP_LOW, MAPPINGS_BASE, MAPPINGS_SLOT_BITS, PAGE};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::process::children;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::restore::snapshot::touch;
use crate::restore::undo::{self, kind};
use crate::sched::controller::note_limit;
use crate::state::{controlled, run};
use crate::syscall::callers;
use crate::syscall::libc_real::real;

real! { hidden:
    fn mmap(at: usize, bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: i64) -> usize;
    fn munmap(at: usize, bytes: usize) -> i32;
    fn mremap(at: usize, old: usize, new: usize, flags: i32, to: usize) -> usize;
    fn mprotect(at: usize, bytes: usize, protection: i32) -> i32;
    fn madvise(at: usize, bytes: usize, advice: i32) -> i32;
    fn sbrk(bytes: isize) -> usize;
    fn brk(end: usize) -> i32;
    fn umask(mask: u32) -> u32;
    fn fork() -> i32;
    fn posix_spawn(
        pid: *mut i32,
        path: *const c_char,
        actions: *const c_void,
        attr: *const c_void,
        argv: *const *const c_char,
        envp: *const *const c_char,
    ) -> i32;
    fn posix_spawnp(
        pid: *mut i32,
        path: *const c_char,
        actions: *const c_void,
        attr: *const c_void,
        argv: *const *const c_char,
        envp: *const *const c_char,
    ) -> i32;
    fn system(command: *const c_char) -> i32;
    fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> i32;
    fn execv(path: *const c_char, argv: *const *const c_char) -> i32;
    fn execvp(path: *const c_char, argv: *const *const c_char) -> i32;
    fn execvpe(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> i32;
    fn dlopen(path: *const c_char, flags: i32) -> *mut c_void;
    fn setrlimit(resource: i32, limit: *const c_void) -> i32;
}

extern "C" fn map(at: usize, bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: i64) -> usize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mmap(at, bytes, protection, flags, descriptor, offset) };
    }
    if flags & libc::MAP_SHARED != 0
        && descriptor >= 0
        && protection & libc::PROT_WRITE != 0
        && regular_files::node(descriptor) == 0
    {
        note_limit(limit::SHARED_MEMORY);
    }
    if protection & libc::PROT_EXEC != 0 {
        crate::observed::makes_code();
    }
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if fixed && !undo::made_by_run(at, bytes) {
        undo::needs_own_process();
    }
    let wanted = if fixed { Some(at) } else { next_address(bytes, flags) };
    let got = wanted.map_or(usize::MAX, |at| {
        let flags = if fixed { flags } else { flags | libc::MAP_FIXED_NOREPLACE };
        // SAFETY: passes on what the caller gave, at a free address.
        unsafe { hidden::mmap(at, bytes, protection, flags, descriptor, offset) }
    });
    let got = if got == usize::MAX && !fixed && flags & MAP_LOW != 0 {
        // SAFETY: passes on what the caller gave: the kernel finds a low address.
        unsafe { hidden::mmap(0, bytes, protection, flags, descriptor, offset) }
    } else {
        got
    };
    if got != usize::MAX && !undo::mapped(got, bytes.next_multiple_of(PAGE)) {
        undo::needs_own_process();
    }
    got
}

/// The next free address for the running thread's mappings; `None` if there is no low one left.
fn next_address(bytes: usize, flags: i32) -> Option<usize> {
    let me = run().me();
    if flags & MAP_LOW != 0 {
        let at = LOW_MAPPINGS + me.slot as usize * LOW_MAPPINGS_OF_SLOT + me.private.low_mapped_bytes;
        me.private.low_mapped_bytes += bytes.next_multiple_of(PAGE);
        return (me.private.low_mapped_bytes <= LOW_MAPPINGS_OF_SLOT).then_some(at);
    }
    let at = MAPPINGS_BASE + ((me.slot as usize) << MAPPINGS_SLOT_BITS) + me.mapped_bytes;
    me.mapped_bytes += bytes.next_multiple_of(PAGE) + PAGE;
    Some(at)
}

/// The end of the data segment moves back after the run, so that memory that it gains is zero.
extern "C" fn move_break(bytes: isize) -> usize {
    undo::changed(kind::BREAK);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::sbrk(bytes) }
}

extern "C" fn set_break(end: usize) -> i32 {
    undo::changed(kind::BREAK);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::brk(end) }
}

extern "C" fn unmap(at: usize, bytes: usize) -> i32 {
    if controlled() && !undo::made_by_run(at, bytes) {
        undo::needs_own_process();
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::munmap(at, bytes) }
}

extern "C" fn remap(at: usize, old: usize, new: usize, flags: i32, to: usize) -> usize {
    if controlled() {
        if !undo::made_by_run(at, old) {
            undo::needs_own_process();
        }
        // SAFETY: passes on what the caller gave; the result is remembered.
        let got = unsafe { hidden::mremap(at, old, new, flags, to) };
        if got != usize::MAX {
            undo::mapped(got, new.next_multiple_of(PAGE));
        }
        return got;
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::mremap(at, old, new, flags, to) }
}

extern "C" fn protect(at: usize, bytes: usize, protection: i32) -> i32 {
    if controlled() && !undo::made_by_run(at, bytes) {
        undo::needs_own_process();
    }
    if controlled() && protection & libc::PROT_EXEC != 0 {
        crate::observed::makes_code();
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::mprotect(at, bytes, protection) }
}

/// Advice may drop what pages hold: they count as written.
extern "C" fn advise(at: usize, bytes: usize, advice: i32) -> i32 {
    if controlled() && matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE) {
        touch(at as *const u8, bytes);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::madvise(at, bytes, advice) }
}

extern "C" fn set_mask(mask: u32, pc: u64) -> u32 {
    shared_state::touch(SharedPart::Mask, FileAccess::Change, pc);
    undo::changed(kind::MASK);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::umask(mask) }
}

extern "C" fn fork_process() -> i32 {
    children::starts();
    // SAFETY: the C library's own fork.
    unsafe { hidden::fork() }
}

/// The child of a fork is an ordinary process with one thread: the runtime is passive in it.
pub extern "C" fn step_aside() {
    run().hot.controlled = false;
}

unsafe extern "C" {
    fn __register_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        library: *mut c_void,
    ) -> i32;
}

/// Registers the handler that makes the runtime passive in a forked child: called before the
/// program can register any.
pub fn watch_forks() {
    // SAFETY: the function has the signature that is wanted, and the runtime is never unloaded.
    unsafe { __register_atfork(None, None, Some(step_aside), core::ptr::null_mut()) };
}

extern "C" fn run_command(command: *const c_char) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::system(command) }
}

extern "C" fn open_command(command: *const c_char, mode: *const c_char) -> *mut c_void {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::popen(command, mode) }
}

/// Six arguments leave no register for a return address: exported directly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    pid: *mut i32,
    path: *const c_char,
    actions: *const c_void,
    attr: *const c_void,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::posix_spawn(pid, path, actions, attr, argv, envp) }
}

/// As [`posix_spawn`], with a search of the path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    pid: *mut i32,
    path: *const c_char,
    actions: *const c_void,
    attr: *const c_void,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::posix_spawnp(pid, path, actions, attr, argv, envp) }
}

// On success another program replaces this process, and is not modelled.
extern "C" fn exec_with_environment(
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::execve(path, argv, envp) }
}

extern "C" fn exec(path: *const c_char, argv: *const *const c_char) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::execv(path, argv) }
}

extern "C" fn exec_searched(path: *const c_char, argv: *const *const c_char) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::execvp(path, argv) }
}

extern "C" fn exec_searched_with_environment(
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> i32 {
    children::starts();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::execvpe(path, argv, envp) }
}

extern "C" fn load_library(path: *const c_char, flags: i32) -> *mut c_void {
    if controlled() && !path.is_null() {
        undo::needs_own_process();
    }
    // SAFETY: passes on what the caller gave.
    let library = unsafe { hidden::dlopen(path, flags) };
    if controlled() {
        callers::find_program();
        crate::observed::code_has_changed();
        callers::note_loaded();
        crate::library::imports::redirect();
    }
    library
}

extern "C" fn set_limit(resource: i32, limit: *const c_void) -> i32 {
    if controlled() {
        undo::needs_own_process();
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::setrlimit(resource, limit) }
}

/// Removes a variable that is for the runtime alone, so that children of the program are ordinary
/// programs.
pub fn forget_variable(environment: *mut *const u8, index: usize) {
    let mut at = index;
    loop {
        // SAFETY: the environment ends with a null pointer, which is moved last.
        unsafe {
            *environment.add(at) = *environment.add(at + 1);
            if (*environment.add(at)).is_null() {
                return;
            }
        }
        at += 1;
    }
}

/// Takes the runtime out of the list of libraries to load first, if the host has put it there: children
/// of the program are ordinary programs.
pub fn forget_preload(environment: *mut *const u8) {
    const NAME: &[u8] = b"LD_PRELOAD=";
    const RUNTIME: &[u8] = b"libraddle_rt.so";
    let mut index = 0;
    loop {
        // SAFETY: the environment is an array of C strings that ends with a null pointer.
        let text = unsafe { *environment.add(index) }.cast_mut();
        if text.is_null() {
            return;
        }
        // SAFETY: the kernel has put the strings on the stack of the main thread, which is writable, and
        // no other thread exists.
        let bytes = unsafe { core::slice::from_raw_parts_mut(text, libc::strlen(text.cast())) };
        if let Some(libraries) = bytes.strip_prefix(NAME) {
            let first = libraries.iter().position(|byte| b": ".contains(byte)).unwrap_or(libraries.len());
            if !libraries[..first].ends_with(RUNTIME) {
                return;
            }
            if first == libraries.len() {
                return forget_variable(environment, index);
            }
            let rest = NAME.len() + first + 1;
            bytes.copy_within(rest.., NAME.len());
            let end = bytes.len() - first - 1;
            bytes[end] = 0;
            return;
        }
        index += 1;
    }
}

/// `mmap` has six arguments, so its stub cannot pass a return address: exported directly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: usize,
    bytes: usize,
    protection: i32,
    flags: i32,
    descriptor: i32,
    offset: i64,
) -> usize {
    map(at, bytes, protection, flags, descriptor, offset)
}

/// See [`mmap`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: usize,
    bytes: usize,
    protection: i32,
    flags: i32,
    descriptor: i32,
    offset: i64,
) -> usize {
    map(at, bytes, protection, flags, descriptor, offset)
}

/// `mremap` may have five arguments, the last only with a flag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(at: usize, old: usize, new: usize, flags: i32, to: usize) -> usize {
    remap(at, old, new, flags, to)
}

hook!(munmap, 2 => unmap);
hook!(mprotect, 3 => protect);
hook!(madvise, 3 => advise);
hook!(sbrk, 1 => move_break);
hook!(brk, 1 => set_break);
export!(umask, 1 => set_mask);
hook!(fork, 0 => fork_process);
hook!(__fork, 0 => fork_process);
hook!(vfork, 0 => fork_process);
hook!(__vfork, 0 => fork_process);
hook!(system, 1 => run_command);
hook!(popen, 2 => open_command);
hook!(execve, 3 => exec_with_environment);
hook!(execv, 2 => exec);
hook!(execvp, 2 => exec_searched);
hook!(execvpe, 3 => exec_searched_with_environment);
hook!(dlopen, 2 => load_library);
hook!(setrlimit, 2 => set_limit);
