//! Functions that change the process's state in the kernel: directories, child processes, limits.

use core::ffi::{c_char, c_void};

use crate::arch::entry::{export, hook};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::process::{children, counter};
use crate::restore::undo::{self, kind};
use crate::state::{controlled, run};
use crate::syscall::callers;
use crate::syscall::libc_real::real;

real! { hidden:
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
        counter::watch();
        crate::observed::code_has_changed();
        callers::note_loaded();
        crate::library::imports::redirect();
    }
    library
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

/// Takes the runtime out of the list of libraries to load first, if the host has put it there:
/// children of the program are ordinary programs.
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
        // SAFETY: the kernel has put the strings on the stack of the main thread, which is
        // writable, and no other thread exists.
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
