//! Taking over the process, if there is a host: before any constructor of a module that raddle
//! linked runs.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{OpKind, Outcome};
use raddle_wire::{Control, MAGIC, PROTOCOL_VERSION, config_flag};

use crate::arch::{PAGE, context, tls};
use crate::interpose::process::kernel_state::{forget_preload, forget_variable};
use crate::library::program_hooks;
use crate::sched::{self, controller, fork_server};
use crate::state::{AnnouncedOp, Fiber, PoolEntry, ReadySet, ThreadStatus, WaitStage, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{self, syscall};

const CONTROLLER_STACK: usize = 1 << 18;
const SIGNAL_STACK: usize = 1 << 16;
/// Room for the parked thread's own frames at the top of a stack.
pub const PARKED_FRAME: usize = 4096;

real! { hidden:
    fn pthread_attr_init(attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_destroy(attr: *mut libc::pthread_attr_t) -> i32;
    fn pthread_attr_setstacksize(attr: *mut libc::pthread_attr_t, bytes: usize) -> i32;
}

/// Runs after the constructors of libraries and before those of the program. A program that raddle
/// linked calls the runtime itself, and so do its libraries.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(i32, *const *const u8, *mut *const u8) = start_without_hooks;

extern "C" fn start_without_hooks(count: i32, arguments: *const *const u8, environment: *mut *const u8) {
    crate::interpose::process::end::watch_last_end();
    if !program_hooks::are_there() {
        __raddle_start(count, arguments, environment);
    }
}

/// Called by the first constructor of each module that raddle linked: at the first one the runtime
/// takes over, later ones were loaded by a run.
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_start(_count: i32, _arguments: *const *const u8, environment: *mut *const u8) {
    if !process().control.is_null() {
        program_hooks::fill();
        return;
    }
    let Some(descriptor) = descriptor(environment) else { return };
    forget_preload(environment);
    program_hooks::fill();
    attach(descriptor);
    create_pool();
    let mapped = crate::interpose::memory::heap::map_arenas(process().pool_len)
        .and_then(|()| crate::interpose::io::descriptor_ends::map_words());
    if let Err(reason) = mapped {
        controller::refuse(reason);
    }
    crate::syscall::callers::prepare();
    crate::observed::attach();
    crate::frame_objects::prepare();
    crate::library::imports::redirect();
    crate::library::noreturn::find();
    crate::interpose::io::kernel_buffers::prepare();
    crate::interpose::thread::cancel::prepare();
    crate::interpose::process::couriers::prepare();
    crate::syscall::libc_real::find_all();
    crate::interpose::memory::operators::find();
    crate::interpose::cxx_objects::install();
    crate::interpose::cxx_objects::fill_tables();
    forget_failed_lookups();
    crate::interpose::process::crash::install_handlers();
    crate::interpose::process::counter::watch();
    sched::preemption::prepare();
    crate::restore::undo::at_root();
    crate::interpose::process::signal_masks::at_root();
    crate::interpose::process::end::watch_ends();
    crate::interpose::process::kernel_state::watch_forks();
    begin();
}

/// Symbols that were looked up and are not there have left an error behind. The program would be
/// told of it, and its text would be freed at the end of every run.
fn forget_failed_lookups() {
    // SAFETY: the first call takes the error, the second one frees it.
    unsafe {
        libc::dlerror();
        libc::dlerror();
    }
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// The descriptor of the file that is shared with the host: named in the environment, or part of a
/// request to be forked.
fn descriptor(environment: *mut *const u8) -> Option<i32> {
    let [named, served] = [raddle_wire::ENV_DESCRIPTOR, raddle_wire::ENV_SERVER].map(|name| {
        let (index, text) = variable(environment, name.as_bytes())?;
        forget_variable(environment, index);
        number(text)
    });
    named.or_else(|| served.map(fork_server::serve))
}

/// The place of a variable in the environment, and its value.
fn variable(environment: *mut *const u8, name: &[u8]) -> Option<(usize, *const u8)> {
    let mut index = 0;
    loop {
        // SAFETY: the environment is an array of C strings that ends with a null pointer.
        let text = unsafe { *environment.add(index) };
        if text.is_null() {
            return None;
        }
        // SAFETY: C string; the comparison stops at its end, as `name` contains no zero.
        let matches = (0..name.len()).all(|i| unsafe { *text.add(i) } == name[i]);
        // SAFETY: only reached if all characters of the name were there.
        if matches && unsafe { *text.add(name.len()) } == b'=' {
            // SAFETY: still within the C string.
            return Some((index, unsafe { text.add(name.len() + 1) }));
        }
        index += 1;
    }
}

fn number(mut text: *const u8) -> Option<i32> {
    let mut value = 0i32;
    loop {
        // SAFETY: a C string, read up to its end.
        let byte = unsafe { *text };
        match byte {
            0 => return Some(value),
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(i32::from(byte - b'0'))?,
            _ => return None,
        }
        // SAFETY: not yet at the end.
        text = unsafe { text.add(1) };
    }
}

/// Maps the shared file and checks that host and runtime have the same protocol version.
fn attach(descriptor: i32) {
    let process = process();
    // SAFETY: an all-zero stat is a valid value to be overwritten.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: writes to the local.
    let failed = unsafe { syscall!(libc::SYS_fstat, descriptor, &raw mut stat) } < 0;
    let bytes = stat.st_size as usize;
    if failed || bytes < raddle_wire::file_bytes(0) {
        crate::interpose::process::failure::exit_with_error(raddle_wire::ENV_DESCRIPTOR, "names no file of raddle's");
    }
    // SAFETY: a shared mapping of the host's file at an address of the kernel's choice.
    let file = unsafe {
        syscall!(
            libc::SYS_mmap,
            0usize,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            descriptor,
            0usize
        )
    };
    if file < 0 {
        crate::interpose::process::failure::exit_with_error("the shared file", "cannot be mapped");
    }
    // SAFETY: closes the descriptor so that the program never sees it.
    unsafe { syscall!(libc::SYS_close, descriptor) };
    let control = file as *mut Control;
    process.control = control;
    process.file = file as *mut u8;
    // SAFETY: the file has at least one page, mapped just now.
    let control = unsafe { &*control };
    control.runtime_version.store(PROTOCOL_VERSION, Ordering::Release);
    if control.magic != MAGIC || control.version != PROTOCOL_VERSION {
        controller::refuse("the program was built with another version of raddle: build it again with this one");
    }
    let config = control.config;
    if raddle_wire::file_bytes(config.trace_bytes as usize) > bytes {
        controller::refuse("the shared file is too small");
    }
    if config.flags & config_flag::KEEP_STORES != 0 {
        if raddle_wire::file_bytes_with_histories(config.trace_bytes as usize) > bytes {
            controller::refuse("the shared file is too small");
        }
        crate::interpose::sync::histories::attach(process.file, config.trace_bytes as usize);
    }
    if !crate::interpose::io::net::party::is_sound() {
        controller::refuse("the scripts in the shared file contradict themselves");
    }
    process.arena_bytes = config.trace_bytes as usize;
    process.access_granularity = config.flags & config_flag::ACCESS_GRANULARITY != 0;
    crate::arch::entry::READS_ARE_OPERATIONS.store(process.access_granularity, core::sync::atomic::Ordering::Relaxed);
    process.hooks_all_accesses = process.access_granularity || control.benign_count > 0;
    process.fold_spins = config.flags & config_flag::FOLD_SPINS != 0;
    process.bounds_rounds = config.flags & config_flag::BOUND_ROUNDS != 0;
    process.config_flags = config.flags;
    process.has_sections = config.flags & config_flag::SECTIONS != 0;
    crate::interpose::annotations::section::prepare();
    process.spurious = config.spurious;
    process.exit_events = config.exit_events;
    process.pool_len = (config.pool as usize).clamp(1, MAX_THREADS);
    // SAFETY: getauxval only reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_PAGESZ) } != PAGE as u64 {
        controller::refuse("this kernel has pages of another size than 4096 bytes");
    }
    context::prepare_processor();
    // SAFETY: getpid has no preconditions.
    process.pid = unsafe { syscall!(libc::SYS_getpid) } as i32;
    process.processors.ask();
}

/// Creates the real threads whose stacks and storage fibers use.
fn create_pool() {
    let process = process();
    process.main_thread_pointer = tls::thread_pointer();
    process.pool[0] =
        PoolEntry { thread_pointer: process.main_thread_pointer, stack: main_stack(), handle: tls::handle() };
    // SAFETY: see above.
    let stack_bytes = unsafe { (*process.control).config.stack_bytes } as usize;
    for slot in 1..process.pool_len {
        // SAFETY: the attribute object is initialised before use and destroyed after; `park` never
        // returns.
        let created = unsafe {
            let mut attr: libc::pthread_attr_t = core::mem::zeroed();
            hidden::pthread_attr_init(&raw mut attr);
            hidden::pthread_attr_setstacksize(&raw mut attr, stack_bytes.max(1 << 16));
            let mut handle = 0u64;
            let entry = (&raw mut process.pool[slot]).cast();
            let result = crate::interpose::thread::lifecycle::create_real(
                &raw mut handle,
                (&raw const attr).cast(),
                park as *const c_void,
                entry,
            );
            hidden::pthread_attr_destroy(&raw mut attr);
            result
        };
        if created != 0 {
            controller::refuse(
                "cannot create threads for the program: lower the number of threads or raise the limits",
            );
        }
    }
    let all = process.pool_len as u32 - 1;
    loop {
        let parked = PARKED.load(Ordering::Acquire);
        if parked == all {
            break;
        }
        syscall::futex_wait(&PARKED, parked);
    }
    process.lowest_stack = process.pool[..process.pool_len].iter().map(|entry| entry.stack.0).min().unwrap_or(0);
}

/// Threads of the pool that have reported. Futex word.
static PARKED: AtomicU32 = AtomicU32::new(0);

/// The mapping that the address lies in.
pub fn mapping_around(address: usize) -> (usize, usize) {
    let Some(mut maps) = crate::syscall::maps::Maps::open() else { return (0, 0) };
    while let Some(mapping) = maps.next() {
        if mapping.start <= address && address < mapping.end {
            return (mapping.start, mapping.end);
        }
    }
    (0, 0)
}

/// Bytes that the main thread's stack may grow by. Other mappings may lie there, too.
pub const ROOM_TO_GROW: usize = 64 << 20;

/// The main thread's stack, with room to grow.
fn main_stack() -> (usize, usize) {
    let here = 0u8;
    let (start, end) = mapping_around(&raw const here as usize);
    (start.saturating_sub(ROOM_TO_GROW), end)
}

/// Lowest address of a pool thread's stack, which has the size that was asked for.
fn lowest_stack_address(here: usize) -> usize {
    // SAFETY: the control page stays mapped.
    let bytes = unsafe { (*process().control).config.stack_bytes } as usize;
    here.saturating_sub(bytes.max(1 << 16))
}

/// Body of a pool thread: reports its stack and storage, then sleeps for ever.
extern "C" fn park(entry: *mut PoolEntry) -> *mut c_void {
    let here = (&raw const entry) as usize;
    let base = tls::thread_pointer();
    let all_signals = u64::MAX;
    // SAFETY: the entry outlives the thread and is not read until all have reported; the mask is a
    // local.
    unsafe {
        let stack = (lowest_stack_address(here), here - PARKED_FRAME);
        *entry = PoolEntry { thread_pointer: base, stack, handle: tls::handle() };
        syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all_signals, 0usize, 8usize);
    }
    PARKED.fetch_add(1, Ordering::Release);
    syscall::futex_wake(&PARKED);
    static NEVER: AtomicU32 = AtomicU32::new(0);
    loop {
        syscall::futex_wait(&NEVER, 0);
    }
}

/// Makes the present thread fiber 0, before its first transition, and switches to the controller.
/// Returns once per run, as the main thread of that run.
fn begin() {
    let (process, run) = (process(), run());
    let (Some(stack), Some(signal_stack)) = (syscall::map(CONTROLLER_STACK), syscall::map(SIGNAL_STACK)) else {
        controller::refuse("no memory for the runtime's stacks");
    };
    process.snapshot.exclude(stack as usize, CONTROLLER_STACK);
    process.snapshot.exclude(signal_stack as usize, SIGNAL_STACK);
    crate::interpose::process::crash::use_signal_stack(signal_stack, SIGNAL_STACK);
    run.threads = 1;
    run.slots.insert(0);
    run.by_rank[0] = 0;
    run.fibers[0] = Fiber {
        thread_pointer: process.main_thread_pointer,
        blocked: run.fibers[0].blocked,
        status: ThreadStatus::Pending,
        wait: WaitStage::None,
        stack: process.pool[0].stack,
        spurious_left: process.spurious,
        key: 1,
        ..Fiber::UNUSED
    };
    run.move_to(0, ReadySet::Runnable);
    run.hot.stack = process.pool[0].stack;
    // SAFETY: the controller's stack is fresh.
    process.controller_sp = unsafe { context::prepare(stack as usize + CONTROLLER_STACK, controller::body) };
    let op = AnnouncedOp::new(OpKind::ThreadStart, 0, 0, 0);
    sched::to_controller();
    sched::wait_for_turn();
    sched::commit(&op, Outcome::Done, 0, 0);
    crate::interpose::io::net::party::create_all();
}

/// First code of every other thread.
pub extern "C" fn fiber_body() -> ! {
    crate::interpose::process::signal_masks::apply();
    let op = run().me().pending;
    sched::commit(&op, Outcome::Done, 0, 0);
    let (entry, argument) = run().me().entry;
    context::clear_below();
    // SAFETY: the pair was given to pthread_create, whose contract says so.
    let result = unsafe {
        let function: unsafe extern "C-unwind" fn(usize) -> usize = core::mem::transmute(entry);
        function(argument)
    };
    crate::interpose::thread::lifecycle::end(result)
}

/// Where this library's code and data lie.
pub fn module_range() -> (usize, usize) {
    let mut range = (0usize, 0usize);
    // SAFETY: the callback writes to `range` only.
    unsafe { dl_iterate_phdr(find_module, (&raw mut range).cast()) };
    range
}

extern "C" fn find_module(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the pair of `module_range`.
    unsafe {
        let info = &*info;
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let mut range = (usize::MAX, 0usize);
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            range = (
                range.0.min(start & !(PAGE - 1)),
                range.1.max((start + header.p_memsz as usize).next_multiple_of(PAGE)),
            );
        }
        let here = find_module as *const () as usize;
        if range.0 <= here && here < range.1 {
            *data.cast::<(usize, usize)>() = range;
            return 1;
        }
    }
    0
}

/// Whether the address lies in the runtime's own code.
pub fn is_runtime_code(address: u64) -> bool {
    static RANGE: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));
    if RANGE.1.load(Ordering::Relaxed) == 0 {
        let (start, end) = module_range();
        RANGE.0.store(start as u64, Ordering::Relaxed);
        RANGE.1.store(end as u64, Ordering::Relaxed);
    }
    RANGE.0.load(Ordering::Relaxed) <= address && address < RANGE.1.load(Ordering::Relaxed)
}
