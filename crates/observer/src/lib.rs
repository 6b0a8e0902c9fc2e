//! A plug-in for the user-mode emulator of QEMU: it records the memory accesses of a program that
//! was not built with raddle into the trace of the runtime, which is loaded into that program.
//!
//! The program's memory is that of the emulator's process, at the same addresses. So the plug-in
//! does for each access what the runtime's hook would do (`rt::trace::hooks`), on the runtime's own
//! state: [`raddle_wire::observed`]. The program runs in one thread of the system, which runs the
//! runtime's code, the program's and the callbacks by turns. The other threads of the process sleep
//! for ever.
//!
//! What is observed is the program's code only, by its segments. Accesses of the runtime, of the
//! dynamic linker and of installed libraries have no callbacks, and cost nothing.
//!
//! The emulator reports an access when it was made, so no thread can be stopped before one. An
//! instruction that is to be a scheduling point is only named, before it is executed for the first
//! time: the runtime abandons the run and puts a trap in its place. Such are atomic instructions,
//! fences, and plain ones that access bytes of atomic variables. An instruction that the runtime
//! cannot make is noted when it is executed: the host looks for no races then, because what orders
//! them is not known.

mod emulator;
mod filter;
mod instruction;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use raddle_vocab::policy::mix;
use raddle_wire::observed::{
    ATTACH, AtomicCode, Hot, NOT_MODELLED, Port, REQUEST, RecentAccesses, Segments, TRAP, VERSION,
};
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
    atomics: *const AtomicCode,
    recent: *const RecentAccesses,
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
    // SAFETY: only the runtime makes this call, with the address of its port, in the emulator's own
    // address space.
    let port = unsafe { &*(port as *const Port) };
    port.attached.store(VERSION, Ordering::Relaxed);
    if port.version != VERSION {
        return;
    }
    let filter = Box::into_raw(Box::new(Filter::EMPTY));
    let Port { hot, code, limits, owners, atomics, recent, .. } = *port;
    let known = Runtime { hot, code, limits, owners, atomics, recent, filter };
    RUNTIME.store(Box::into_raw(Box::new(known)), Ordering::Relaxed);
}

/// Blocks of other code than the program's that were executed, and how many they were when the last
/// block of the program was. The emulator (7.2) may report accesses of other code by the callback
/// of an instruction that jumped there: it forgets to switch the callback off. So only what comes
/// behind the beginning of a block of the program, with nothing else in between, is an access of
/// the program.
static OTHER_BLOCKS: AtomicU64 = AtomicU64::new(0);
static OTHERS_BEFORE: AtomicU64 = AtomicU64::new(u64::MAX);

/// The program's code begins or goes on.
extern "C" fn on_program(_processor: c_uint, _datum: *mut c_void) {
    OTHERS_BEFORE.store(OTHER_BLOCKS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Has the accesses of the program's code reported. A block is the program's as a whole, or not at
/// all.
extern "C" fn on_block(_id: Id, block: *mut TranslatedBlock) {
    // SAFETY: the block is the emulator's, valid during the call; so are its instructions. The
    // counter lives for ever.
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
            let is_named = !instruction::uses_stack(bytes) && runtime().is_some_and(|it| it.names(address));
            let place = Place { address, size: size as u8, is_named };
            if instruction::orders_memory(bytes) {
                let datum = place.to_datum();
                emulator::qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_atomic, flags, datum);
            }
            if bytes != [TRAP] {
                let which = emulator::READS_AND_WRITES;
                emulator::qemu_plugin_register_vcpu_mem_cb(instruction, on_access, flags, which, place.to_datum());
            }
        }
    }
}

/// An instruction, as the datum of a callback.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    size: u8,
    /// Whether the source says that its accesses are atomic.
    is_named: bool,
}

impl Place {
    const SIZE: u32 = 56;
    const NAMED: u32 = 63;

    fn to_datum(self) -> *mut c_void {
        (self.address | u64::from(self.size) << Place::SIZE | u64::from(self.is_named) << Place::NAMED) as *mut c_void
    }

    fn of(datum: *mut c_void) -> Self {
        let word = datum as u64;
        Place {
            address: word & ((1 << Place::SIZE) - 1),
            size: (word >> Place::SIZE) as u8 & 15,
            is_named: word >> Place::NAMED != 0,
        }
    }

    /// The pc of a record is the address of the next instruction.
    fn next(self) -> u64 {
        self.address + u64::from(self.size)
    }
}

/// An instruction that orders memory, which has no trap in its place.
extern "C" fn on_atomic(_processor: c_uint, datum: *mut c_void) {
    let Some(runtime) = runtime() else { return };
    // SAFETY: the runtime's state, which lives as long as the process; nothing else runs.
    unsafe { runtime.wants_trap(Place::of(datum)) };
}

/// An access that the program's code has made.
extern "C" fn on_access(_processor: c_uint, access: u32, address: u64, datum: *mut c_void) {
    let Some(runtime) = runtime() else { return };
    if OTHERS_BEFORE.load(Ordering::Relaxed) != OTHER_BLOCKS.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: questions about the datum that the emulator has passed.
    let (size, is_write) =
        unsafe { (1 << emulator::qemu_plugin_mem_size_shift(access), emulator::qemu_plugin_mem_is_store(access)) };
    // SAFETY: the runtime's state, which lives as long as the process; nothing else uses it
    // meanwhile.
    unsafe { runtime.access(is_write, address, size, Place::of(datum)) };
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

    /// Whether the source says that accesses by the instruction are atomic.
    fn names(&self, address: u64) -> bool {
        // SAFETY: what is known lies in the shared file, which stays mapped.
        unsafe { (*self.atomics).is_in_range(address) }
    }

    /// An instruction is executed that is to be a scheduling point. The runtime puts a trap in its
    /// place, unless it has found that it cannot make it.
    ///
    /// # Safety
    /// Nothing else may use the runtime's state.
    unsafe fn wants_trap(&self, place: Place) {
        // SAFETY: the caller's promise.
        let (atomics, hot) = unsafe { (&*self.atomics, &*self.hot) };
        let known = atomics.site(place.address);
        let is_met = known.is_none() && atomics.add_site(place.address);
        if !hot.controlled {
            return;
        }
        if is_met || known.is_some_and(|site| site & NOT_MODELLED == 0) {
            request_runtime();
        } else {
            // SAFETY: as above.
            unsafe { (*self.limits).fetch_or(limit::ATOMIC_CODE, Ordering::Relaxed) };
        }
    }

    /// Adds what was read to the hash of what the thread has read, and keeps the access for the
    /// runtime.
    ///
    /// # Safety
    /// Nothing else may use the runtime's state; the bytes can be read.
    unsafe fn hash(&self, is_write: bool, address: u64, size: u64) {
        // SAFETY: the caller's promise.
        let (hot, recent) = unsafe { (&mut *self.hot, &*self.recent) };
        if !is_write {
            for at in address..address + size {
                // SAFETY: as above.
                hot.values = mix(hot.values ^ u64::from(unsafe { *(at as *const u8) }));
            }
        }
        recent.add(is_write, address, size, hot.tid);
    }

    /// What the hook of an access does, but for stopping. Only what is recorded is numbered: an
    /// instruction that reads and writes is executed once more if its write faults, as the first
    /// one to a page of the snapshot does, and its read is reported twice.
    ///
    /// # Safety
    /// Nothing else may use the runtime's state.
    unsafe fn access(&self, is_write: bool, address: u64, size: u64, place: Place) {
        // SAFETY: the caller's promise.
        let hot = unsafe { &mut *self.hot };
        if !hot.controlled {
            return;
        }
        // SAFETY: what is known lies in the shared file, which stays mapped.
        let atomics = unsafe { &*self.atomics };
        if place.is_named || atomics.is_place(address, size.min(8)) {
            // SAFETY: the caller's promise.
            unsafe { self.wants_trap(place) };
        }
        if hot.hashing {
            // SAFETY: the caller's promise; the program has just accessed these bytes.
            unsafe { self.hash(is_write, address, size) };
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
        atomics.touch(address, size);
        let header = record::header(kind, 0, hot.tid, hot.count);
        hot.count = hot.count.wrapping_add(1);
        push(hot, [header, address, record::pack_pc(place.next(), size as u16)]);
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
