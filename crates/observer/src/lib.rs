//! A plug-in for the user-mode emulator of QEMU: it records the memory accesses of a program that was not
//! built with raddle into the trace of the runtime, which is loaded into that program.
//!
//! The program's memory is that of the emulator's process, at the same addresses. So the plug-in does for
//! each access what the runtime's hook would do (`rt::trace::hooks`), on the runtime's own state:
//! [`raddle_wire::observed`]. The program runs in one thread of the system, which runs the runtime's code,
//! the program's and the callbacks by turns. The other threads of the process sleep for ever.
//!
//! What is observed is the program's code only, by its segments. Accesses of the runtime, of the dynamic
//! linker and of installed libraries have no callbacks, and cost nothing.
//!
//! What it misses: the emulator reports an access when it was made, so no thread can be stopped before
//! one. An instruction that orders memory for other threads is only noted: the host looks for no races
//! then, because what orders them is not known.

mod emulator;
mod filter;
mod instruction;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use raddle_wire::observed::{ATTACH, Hot, Port, REQUEST, Segments, VERSION};
use raddle_wire::{limit, record};

use emulator::{Id, Info, TranslatedBlock};
use filter::{Epoch, Filter};

/// The version of the interface that this plug-in was written for. The emulator looks it up.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = emulator::VERSION;

/// The runtime's side.
#[derive(Clone, Copy)]
struct Runtime {
    hot: *mut Hot,
    code: *const Segments,
    limits: *const AtomicU64,
    owners: *const AtomicU64,
    filter: *mut Filter,
}

/// Set once, before the program's code runs.
static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

fn runtime() -> Option<&'static Runtime> {
    // SAFETY: null, or a block that is never freed.
    unsafe { RUNTIME.load(Ordering::Relaxed).as_ref() }
}

/// Called by the emulator when it loads the plug-in.
///
/// # Safety
/// The emulator passes what its interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    _count: c_int,
    _arguments: *mut *mut c_char,
) -> c_int {
    const REFUSED: c_int = 1;
    // SAFETY: the caller's promise.
    let info = unsafe { &*info };
    let fits = info.least_version <= emulator::VERSION && emulator::VERSION <= info.version;
    // SAFETY: a C string of the emulator.
    let is_known = unsafe { CStr::from_ptr(info.target_name) } == c"x86_64";
    if !fits || !is_known || info.emulates_machine {
        eprintln!("raddle: this emulator cannot observe programs for raddle");
        return REFUSED;
    }
    // SAFETY: the callbacks have the types that the interface wants.
    unsafe {
        emulator::qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
        emulator::qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    }
    0
}

/// The runtime tells where it is.
extern "C" fn on_system_call(
    _id: Id,
    _processor: c_uint,
    number: i64,
    port: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    if number != ATTACH || runtime().is_some() {
        return;
    }
    // SAFETY: only the runtime makes this call, with the address of its port, in the emulator's own address space.
    let port = unsafe { &*(port as *const Port) };
    port.attached.store(VERSION, Ordering::Relaxed);
    if port.version != VERSION {
        return;
    }
    let filter = Box::into_raw(Box::new(Filter::EMPTY));
    let known = Runtime { hot: port.hot, code: port.code, limits: port.limits, owners: port.owners, filter };
    RUNTIME.store(Box::into_raw(Box::new(known)), Ordering::Relaxed);
}

/// Blocks of other code than the program's that were executed, and how many they were when the last block of
/// the program was. The emulator (7.2) may report accesses of other code by the callback of an instruction
/// that jumped there: it forgets to switch the callback off. So only what comes behind the beginning of a
/// block of the program, with nothing else in between, is an access of the program.
static OTHER_BLOCKS: AtomicU64 = AtomicU64::new(0);
static OTHERS_BEFORE: AtomicU64 = AtomicU64::new(u64::MAX);

/// The program's code begins or goes on.
extern "C" fn on_program(_processor: c_uint, _datum: *mut c_void) {
    OTHERS_BEFORE.store(OTHER_BLOCKS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Has the accesses of the program's code reported. A block is the program's as a whole, or not at all.
extern "C" fn on_block(_id: Id, block: *mut TranslatedBlock) {
    // SAFETY: the block is the emulator's, valid during the call; so are its instructions. The counter lives for ever.
    unsafe {
        let first = emulator::qemu_plugin_insn_vaddr(emulator::qemu_plugin_tb_get_insn(block, 0));
        if !runtime().is_some_and(|runtime| runtime.is_program(first)) {
            let counter = OTHER_BLOCKS.as_ptr().cast();
            emulator::qemu_plugin_register_vcpu_tb_exec_inline(block, emulator::ADD, counter, 1);
            return;
        }
        let flags = emulator::NO_REGISTERS;
        emulator::qemu_plugin_register_vcpu_tb_exec_cb(block, on_program, flags, null_mut());
        for index in 0..emulator::qemu_plugin_tb_n_insns(block) {
            let instruction = emulator::qemu_plugin_tb_get_insn(block, index);
            let address = emulator::qemu_plugin_insn_vaddr(instruction);
            let size = emulator::qemu_plugin_insn_size(instruction);
            let bytes = std::slice::from_raw_parts(emulator::qemu_plugin_insn_data(instruction), size);
            if instruction::orders_memory(bytes) {
                emulator::qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_atomic, flags, null_mut());
            }
            // The pc of a record is the address of the next instruction.
            let next = (address + size as u64) as *mut c_void;
            let which = emulator::READS_AND_WRITES;
            emulator::qemu_plugin_register_vcpu_mem_cb(instruction, on_access, flags, which, next);
        }
    }
}

/// An instruction that orders memory.
extern "C" fn on_atomic(_processor: c_uint, _datum: *mut c_void) {
    let Some(runtime) = runtime() else { return };
    // SAFETY: the runtime's state, which lives as long as the process; nothing else runs.
    unsafe {
        if (*runtime.hot).controlled {
            (*runtime.limits).fetch_or(limit::ATOMIC_CODE, Ordering::Relaxed);
        }
    }
}

/// An access that the program's code has made.
extern "C" fn on_access(_processor: c_uint, access: u32, address: u64, next: *mut c_void) {
    let Some(runtime) = runtime() else { return };
    if OTHERS_BEFORE.load(Ordering::Relaxed) != OTHER_BLOCKS.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: questions about the datum that the emulator has passed.
    let (size, is_write) =
        unsafe { (1 << emulator::qemu_plugin_mem_size_shift(access), emulator::qemu_plugin_mem_is_store(access)) };
    // SAFETY: the runtime's state, which lives as long as the process; nothing else uses it meanwhile.
    unsafe { runtime.access(is_write, address, size, next as u64) };
}

/// Accesses after which the runtime is asked to look whether the thread waits for another one.
const LONG_STRETCH: u32 = 1 << 20;

/// Accesses since it was asked.
static STRETCH: AtomicU32 = AtomicU32::new(0);

impl Runtime {
    fn is_program(&self, address: u64) -> bool {
        // SAFETY: the table lives as long as the process.
        let code = unsafe { &*self.code };
        let ranges = code.iter().map(|range| range.each_ref().map(|place| place.load(Ordering::Relaxed)));
        ranges.take_while(|&[_, end]| end != 0).any(|[start, end]| (start..end).contains(&(address as usize)))
    }

    /// What the hook of an access does, but for stopping. Only what is recorded is numbered: an instruction that
    /// reads and writes is executed once more if its write faults, as the first one to a page of the snapshot
    /// does, and its read is reported twice.
    ///
    /// # Safety
    /// Nothing else may use the runtime's state.
    unsafe fn access(&self, is_write: bool, address: u64, size: u64, pc: u64) {
        // SAFETY: the caller's promise.
        let hot = unsafe { &mut *self.hot };
        if !hot.controlled {
            return;
        }
        let (low, high) = hot.stack;
        if is_write && !(low..high).contains(&(address as usize)) {
            hot.wrote = true;
        }
        // SAFETY: a counter of the runtime's, and the filter, which is the plug-in's own.
        let (owners, filter) = unsafe { ((*self.owners).load(Ordering::Relaxed), &mut *self.filter) };
        let epoch = Epoch { thread: hot.epoch, owners };
        let stretch = STRETCH.load(Ordering::Relaxed);
        STRETCH.store(if stretch >= LONG_STRETCH { 0 } else { stretch + 1 }, Ordering::Relaxed);
        if stretch >= LONG_STRETCH {
            request_runtime();
        }
        if hot.ignoring || filter.adds_nothing(is_write, address, size, epoch) {
            return;
        }
        let kind = if is_write { record::WRITE } else { record::READ };
        let header = record::header(kind, 0, hot.tid, hot.count);
        hot.count = hot.count.wrapping_add(1);
        push(hot, [header, address, record::pack_pc(pc, size as u16)]);
    }
}

/// Appends a record. Without room for it the runtime finds none for the next one, and ends the run
/// there.
fn push(hot: &mut Hot, words: [u64; 3]) {
    let after = hot.next.wrapping_add(words.len());
    if hot.events_left <= 0 {
        return;
    }
    if after > hot.end {
        hot.end = hot.next;
        return;
    }
    hot.events_left -= 1;
    for (index, word) in words.into_iter().enumerate() {
        // SAFETY: within the room of the trace, as was checked just above.
        unsafe { hot.next.wrapping_add(index).write(word) };
    }
    hot.next = after;
}

/// Sends the running thread the signal by which the runtime takes over.
fn request_runtime() {
    #[repr(C)]
    struct Description {
        signal: c_int,
        error: c_int,
        code: c_int,
        padding: c_int,
        pid: c_int,
        uid: u32,
        value: u64,
        rest: [u64; 12],
    }
    const QUEUED: c_int = -1;
    // SAFETY: getpid and gettid have no preconditions; the description is a local.
    unsafe {
        let pid = libc::getpid();
        let description = Description {
            signal: libc::SIGTRAP,
            error: 0,
            code: QUEUED,
            padding: 0,
            pid,
            uid: libc::getuid(),
            value: REQUEST,
            rest: [0; 12],
        };
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            pid,
            libc::gettid(),
            libc::SIGTRAP,
            std::ptr::from_ref(&description),
        );
    }
}
