//! Handlers of `exit` and `quick_exit`. The C library keeps its lists of them; here is what makes
//! the order visible in which threads add to the lists and take from them.
//!
//! Each registration is a transition, and so is each moment at which a thread that ends the process
//! looks for the next handler: when it begins to, and behind every handler. Between that moment and
//! the first access of the handler no other thread can come. So two threads that end the process at
//! the same time share the handlers in every possible way, as the C library lets them. All of that
//! is one object, which orders memory: the C library guards its lists by a lock.
//!
//! In programs that import no function that registers a handler there are no such transitions; nor
//! where a thread is alone, because all others were joined.
//!
//! From 2.41 on, the C library lets one thread at a time end the process: others wait for ever in
//! `exit`, `quick_exit` or the return of `main`. There each of these takes a lock first, which is a
//! mutex to the search, so that no thread comes to wait in the kernel.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use raddle_vocab::policy::mix;
use raddle_wire::limit;

use crate::arch::entry::{self, export};
use crate::interpose::process::shared_state;
use crate::interpose::sync::mutex;
use crate::interpose::thread::unwind;
use crate::observed;
use crate::sched::controller::note_limit;
use crate::state::{controlled, run};
use crate::syscall::callers;
use crate::syscall::libc_real::real;

/// Functions that register handlers.
const REGISTERING: [&[u8]; 3] = [b"__cxa_atexit", b"__cxa_at_quick_exit", b"on_exit"];

/// Whether a module of the program imports one of them. Set before the first run, or by a run that
/// loads a library, which has a process of its own.
static REGISTERS: AtomicBool = AtomicBool::new(false);

/// A module of the program imports a function of this name.
pub fn imported(name: &[u8]) {
    if REGISTERING.contains(&name) {
        REGISTERS.store(true, Relaxed);
    }
}

/// Handlers in one run.
const MOST: usize = 2048;

/// A handler as the program registered it, and what it is called with.
type Handler = (usize, usize);

/// Words of a mutex of the C library. All-zero is a free one; its kind is the low half of the third
/// word.
type Lock = [u64; 5];
const RECURSIVE: u64 = 1;

/// The handlers that the program has registered.
pub struct ExitHandlers {
    /// What a thread takes that ends the process, if the C library lets one do so at a time.
    lock: Lock,
    all: [Handler; MOST],
    len: usize,
    /// Those of `quick_exit`, as numbers: the C library calls the last one first, and gives it no
    /// argument.
    quick: [u16; MOST],
    quick_len: usize,
}

impl ExitHandlers {
    /// None is registered.
    pub const NONE: ExitHandlers =
        ExitHandlers { lock: [0, 0, RECURSIVE, 0, 0], all: [(0, 0); MOST], len: 0, quick: [0; MOST], quick_len: 0 };

    /// Keeps a handler; `None` if there is no room.
    fn keep(&mut self, handler: Handler) -> Option<&'static mut Handler> {
        if self.len == MOST {
            note_limit(limit::EXIT_HANDLERS);
            return None;
        }
        self.all[self.len] = handler;
        self.len += 1;
        let kept = &raw mut self.all[self.len - 1];
        // SAFETY: rule 4 of the crate; the state of the run lives for ever.
        Some(unsafe { &mut *kept })
    }

    /// Calls the function for what each handler is called with.
    pub fn each_argument(&self, call: impl FnMut(usize)) {
        self.all[..self.len].iter().map(|handler| handler.1).for_each(call);
    }

    /// A number for the handlers, in the order in which they were registered.
    pub fn digest(&self) -> u64 {
        let handlers = self.all[..self.len].iter().flat_map(|&(function, argument)| [function, argument]);
        let quick = self.quick[..self.quick_len].iter().map(|&number| usize::from(number));
        let lock = self.lock[0] ^ self.lock[1].rotate_left(32);
        let start = (self.len as u64) << 32 ^ self.quick_len as u64 ^ lock;
        handlers.chain(quick).fold(start, |hash, word| mix(hash ^ word as u64))
    }
}

real! { hidden:
    fn __cxa_atexit(function: usize, argument: usize, module: usize) -> i32;
    fn __cxa_at_quick_exit(function: usize, module: usize) -> i32;
    fn on_exit(function: usize, argument: usize) -> i32;
    fn __cxa_thread_atexit_impl(function: extern "C" fn(usize), argument: usize, module: usize) -> i32;
    fn __libc_start_main(
        main: usize,
        count: i32,
        arguments: *const *const c_char,
        begin: usize,
        end: usize,
        end_of_linker: usize,
        stack: usize,
    ) -> i32;
}

/// Registers a function of the runtime with `on_exit`.
pub fn register_own(function: extern "C" fn(i32, *mut c_void)) {
    // SAFETY: the function has the signature that on_exit wants.
    unsafe { hidden::on_exit(function as usize, 0) };
}

/// The same with `at_quick_exit`.
pub fn register_own_quick(function: extern "C" fn()) {
    // SAFETY: the function has the signature that is wanted: what it is given, it ignores.
    unsafe { hidden::__cxa_at_quick_exit(function as usize, 0) };
}

/// Whether a call from there registers a handler of the program.
fn is_programs(pc: u64) -> bool {
    controlled() && !callers::is_compiler_library(pc)
}

/// Whether every other thread is known to have ended: what it did to the lists comes before in
/// every order.
fn is_alone() -> bool {
    let run = run();
    let is_gone = |tid: usize| run.fibers[tid].joined || run.fibers[tid].private.main_saw_end;
    let me = usize::from(run.hot.tid);
    (0..run.threads).all(|tid| tid == me || is_gone(tid))
}

/// A list changes, or is looked at, in the middle of a call that was given these arguments.
fn touch(arguments: &[usize], pc: u64) {
    if REGISTERS.load(Relaxed) && !is_alone() {
        shared_state::touch_exit_handlers(arguments, pc);
    }
}

/// The running thread, which ends the process or has just come back from a handler, takes the next
/// handler from its list.
pub fn take_next(pc: u64) {
    // What the thread goes on with is not what its last call was given.
    entry::forget_call();
    touch(&[], pc);
}

/// The first version of the C library, as a number behind the point, that lets one thread at a time
/// end the process.
const TAKES_TURNS: u32 = 41;

/// Whether the C library is one that does.
fn takes_turns() -> bool {
    static VERSION: AtomicUsize = AtomicUsize::new(0);
    if VERSION.load(Relaxed) == 0 {
        // SAFETY: the C library's own function gives a C string that stays.
        let text = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_bytes();
        let digits = text.iter().skip_while(|&&byte| byte != b'.').skip(1).take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
        VERSION.store(number, Relaxed);
    }
    VERSION.load(Relaxed) >= TAKES_TURNS as usize
}

/// The running thread is about to end the process, if no other thread does.
pub fn take_turn(pc: u64) {
    if takes_turns() {
        // What the thread goes on with is not what its last call was given.
        entry::forget_call();
        mutex::lock(&raw const run().exit_handlers.lock as u64, pc);
    }
}

/// Whether `main` is called by the runtime: where a thread has to take its turn before the C
/// library goes on, and under an emulator, where the C library would be seen to free what it keeps
/// for [`watch_return`].
fn is_main_called_here() -> bool {
    takes_turns() || observed::is_on()
}

/// `main` of the program, if it is called here.
static MAIN: AtomicUsize = AtomicUsize::new(0);

type Main = extern "C-unwind" fn(i32, *const *const c_char, *const *const c_char) -> i32;

extern "C-unwind" fn call_main(count: i32, arguments: *const *const c_char, environment: *const *const c_char) -> i32 {
    // SAFETY: the program has given this function to the C library as its main.
    let main: Main = unsafe { core::mem::transmute(MAIN.load(Relaxed)) };
    let status = main(count, arguments, environment);
    if controlled() {
        take_turn(0);
        unwind::run_local_destructors();
        take_next(0);
    }
    status
}

/// The C library's function that calls `main` and ends the process with what it returns.
///
/// # Safety
/// As the C library wants it: called by the program's first code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __libc_start_main(
    main: usize,
    count: i32,
    arguments: *const *const c_char,
    begin: usize,
    end: usize,
    end_of_linker: usize,
    stack: usize,
) -> i32 {
    MAIN.store(main, Relaxed);
    let main = if is_main_called_here() { call_main as *const () as usize } else { main };
    // SAFETY: the caller's promise.
    unsafe { hidden::__libc_start_main(main, count, arguments, begin, end, end_of_linker, stack) }
}

/// The running thread begins to end the process by a call: its thread-local objects go first, then
/// it takes its first handler.
pub fn begin(pc: u64) {
    run().me().private.exit_pc = pc;
    take_turn(pc);
    unwind::run_local_destructors();
    take_next(pc);
}

/// Where the C library calls main, its return is not seen: the destructor of a thread-local object
/// of the runtime, which is the first that is registered, runs last.
pub fn watch_return() {
    static MODULE: u8 = 0;
    if is_main_called_here() {
        return;
    }
    // SAFETY: the function may be called with any argument, at the end of this thread.
    unsafe { hidden::__cxa_thread_atexit_impl(main_returned, 0, &raw const MODULE as usize) };
}

extern "C" fn main_returned(_argument: usize) {
    let private = &run().me().private;
    if controlled() && private.exit_pc == 0 && !private.ends {
        take_next(0);
    }
}

/// What stands in the list of the C library for a handler of the program.
extern "C" fn call(handler: &Handler, status: i32) {
    let (function, argument) = *handler;
    // SAFETY: the program registered this function, to be called with this argument and the status.
    unsafe {
        let function: extern "C" fn(usize, i32) = core::mem::transmute(function);
        function(argument, status);
    }
    take_next(run().me().private.exit_pc);
}

extern "C" fn call_on_exit(status: i32, handler: &Handler) {
    let (function, argument) = *handler;
    // SAFETY: as above.
    unsafe {
        let function: extern "C" fn(i32, usize) = core::mem::transmute(function);
        function(status, argument);
    }
    take_next(run().me().private.exit_pc);
}

extern "C" fn call_quick() {
    let handlers = &mut run().exit_handlers;
    handlers.quick_len -= 1;
    let (function, argument) = handlers.all[usize::from(handlers.quick[handlers.quick_len])];
    // SAFETY: as above.
    unsafe {
        let function: extern "C" fn(usize) = core::mem::transmute(function);
        function(argument);
    }
    take_next(run().me().private.exit_pc);
}

extern "C" fn register(function: usize, argument: usize, module: usize, pc: u64) -> i32 {
    if is_programs(pc) {
        touch(&[function, argument, module], pc);
        if let Some(handler) = run().exit_handlers.keep((function, argument)) {
            // SAFETY: `call` fits what the C library calls it with.
            return unsafe { hidden::__cxa_atexit(call as *const () as usize, &raw mut *handler as usize, module) };
        }
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__cxa_atexit(function, argument, module) }
}

extern "C" fn register_on_exit(function: usize, argument: usize, pc: u64) -> i32 {
    if is_programs(pc) {
        touch(&[function, argument], pc);
        if let Some(handler) = run().exit_handlers.keep((function, argument)) {
            // SAFETY: as above.
            return unsafe { hidden::on_exit(call_on_exit as *const () as usize, &raw mut *handler as usize) };
        }
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::on_exit(function, argument) }
}

extern "C" fn register_quick(function: usize, module: usize, pc: u64) -> i32 {
    if is_programs(pc) {
        touch(&[function, module], pc);
        let handlers = &mut run().exit_handlers;
        let number = handlers.len as u16;
        if handlers.keep((function, 0)).is_some() {
            handlers.quick[handlers.quick_len] = number;
            handlers.quick_len += 1;
            // SAFETY: as above.
            return unsafe { hidden::__cxa_at_quick_exit(call_quick as *const () as usize, module) };
        }
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__cxa_at_quick_exit(function, module) }
}

export!(__cxa_atexit, 3 => register);
export!(__cxa_at_quick_exit, 2 => register_quick);
export!(on_exit, 2 => register_on_exit);
