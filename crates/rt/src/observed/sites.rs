//! Atomic operations of observed programs. The plug-in names instructions that are to be scheduling
//! points ([`AtomicCode`]): those that the processor makes atomically, and plain ones that access
//! bytes of atomic variables. The runtime puts a trap in the place of each. At the trap the thread
//! calls [`perform`] on its own stack, waits for its turn, and the instruction is made by a
//! stand-in ([`atomic_code`]).
//!
//! # Which accesses are atomic
//! Machine code does not tell. By these rules:
//! * An instruction with LOCK and an exchange with memory are. They are sequentially consistent.
//! * A plain load or store is if its bytes were ever accessed by such an instruction, or belong to
//!   a variable that debug information calls atomic, or if the line of the instruction is one of
//!   the header that implements atomic types. The processor makes it an acquire or a release. The
//!   source may have asked for less, or for nothing, as where such a variable is initialised.
//! * All others are plain.
//!
//! # Invariants
//! * The trap is only put where the emulator has met the beginning of an instruction.
//! * A run in which an instruction was met for the first time is abandoned, and starts again with
//!   the trap. Each run has its traps, so that it does not depend on earlier ones.
//! * So is a run that finds bytes to be atomic which may have been accessed plainly before. Then
//!   the search starts again, as its earlier runs would take another course: what is known is
//!   counted as what is known of spin loops ([`knowledge`]). What debug information tells is known
//!   from the start.
//! * An instruction that cannot be made elsewhere keeps its place, and is a limit of the check.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU64, compiler_fence};

use raddle_vocab::{OpKind, Outcome};
use raddle_wire::observed::{AtomicCode, MAX_SITES, NOT_MODELLED, SITE_ADDRESS, TRAP};
use raddle_wire::{limit, record};

use crate::arch::atomic_code::{self, AtomicInstruction, STAND_IN};
use crate::arch::code::LONGEST;
use crate::arch::{PAGE, signal};
use crate::interpose::sync::histories;
use crate::sched::{self, controller, virtual_time};
use crate::spinloop::knowledge::{self, knowledge};
use crate::state::{AnnouncedOp, Global, controlled};
use crate::syscall::{self, callers, syscall};
use crate::trace::hooks;

/// What an instruction does to its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads, then writes.
    Update,
    /// It writes if it finds what it expects.
    CompareExchange,
    /// It has none, and is a fence.
    Fence,
}

/// Orders of C and C++: of a load and a store that debug information names, or only their bytes,
/// and of what is atomic by itself. So the host knows which is which; the former two of each are
/// the same in effect.
const LOAD: u8 = 2;
const LOAD_BY_BYTES: u8 = 1;
const STORE: u8 = 3;
const STORE_BY_BYTES: u8 = 4;
const SEQUENTIAL: u8 = 5;

/// Bytes of the widest operand.
const WIDEST: usize = 16;

/// An instruction that has a trap in its place.
#[derive(Clone, Copy)]
struct Site {
    address: u64,
    instruction: AtomicInstruction,
    stand_in: usize,
    /// The byte that the trap stands for.
    first: u8,
    /// Whether the source says that it is atomic.
    is_named: bool,
}

/// Entries of the index; a power of two.
const INDEX: usize = 4 * MAX_SITES;

/// What this process has put into the code. Never restored.
struct Sites {
    /// How many of the instructions that are known were looked at.
    looked_at: usize,
    /// A slot for operands, and behind its page the stand-ins.
    room: usize,
    sites: [Option<Site>; MAX_SITES],
    /// Positions in `sites`, and one more, by address.
    index: [u16; INDEX],
}

const _: () = assert!(MAX_SITES < u16::MAX as usize);

static SITES: Global<Sites> =
    Global::new(Sites { looked_at: 0, room: 0, sites: [const { None }; MAX_SITES], index: [0; INDEX] });

/// Where the program goes on whose operand is accessed just now; 0: none is.
static CURRENT: AtomicU64 = AtomicU64::new(0);

fn sites() -> &'static mut Sites {
    // SAFETY: rule 4 of the crate.
    unsafe { &mut *SITES.get() }
}

/// What is known of atomic operations. It lies in the shared file.
pub fn atomics() -> &'static AtomicCode {
    &knowledge().atomics
}

/// Whether instructions were met that have no trap yet.
pub fn has_news() -> bool {
    super::is_on() && atomics().used.load(Relaxed) as usize > sites().looked_at
}

/// Puts traps in the place of instructions that were met. No thread runs.
pub fn put_traps() {
    let sites = sites();
    if !has_news() {
        return;
    }
    if sites.room == 0 {
        let room = syscall::map(PAGE + MAX_SITES * STAND_IN);
        sites.room = room.unwrap_or_else(|| controller::refuse("there is no memory for atomic operations")) as usize;
    }
    let from = sites.looked_at;
    sites.protect(libc::PROT_READ | libc::PROT_WRITE);
    super::with_writable_code(|| {
        for (number, known) in atomics().sites().enumerate().skip(from) {
            if !sites.put_trap(number, known & SITE_ADDRESS) {
                atomics().sites[number].fetch_or(NOT_MODELLED, Relaxed);
            }
        }
    });
    sites.protect(libc::PROT_READ | libc::PROT_EXEC);
    sites.looked_at = atomics().sites().count();
}

impl Sites {
    /// Of the code of the stand-ins.
    fn protect(&self, protection: i32) {
        // SAFETY: the pages are the runtime's own, and nothing runs there.
        let failed =
            unsafe { syscall!(libc::SYS_mprotect, self.room + PAGE, MAX_SITES * STAND_IN, protection as usize) } < 0;
        if failed {
            controller::refuse("the protection of code cannot be changed");
        }
    }

    /// False if the instruction cannot be made elsewhere. The code can be written.
    fn put_trap(&mut self, number: usize, address: u64) -> bool {
        let Some(bytes) = code_at(address) else { return false };
        let Some(instruction) = AtomicInstruction::decode(&bytes) else { return false };
        let stand_in = self.room + PAGE + number * STAND_IN;
        let is_named = atomics().is_in_range(address) && !instruction.is_in_frame();
        self.sites[number] = Some(Site { address, instruction, stand_in, first: bytes[0], is_named });
        let mut at = start_of_search(address);
        while self.index[at] != 0 {
            at = (at + 1) % INDEX;
        }
        self.index[at] = number as u16 + 1;
        // SAFETY: the room of the stand-in, and code of the program, can be written.
        unsafe {
            instruction.write_stand_in(stand_in, self.room);
            *(address as *mut u8) = TRAP;
        }
        true
    }

    fn find(&self, address: u64) -> Option<&Site> {
        let mut at = start_of_search(address);
        while let Some(number) = self.index[at].checked_sub(1) {
            let site = self.sites[usize::from(number)].as_ref().filter(|site| site.address == address);
            if site.is_some() {
                return site;
            }
            at = (at + 1) % INDEX;
        }
        None
    }
}

fn start_of_search(address: u64) -> usize {
    (address ^ address >> 16).wrapping_mul(0x9e37_79b9) as usize % INDEX
}

/// The bytes from there, and zeros behind the end of the code.
fn code_at(address: u64) -> Option<[u8; LONGEST]> {
    let at = address as usize;
    let [_, end] = callers::code_ranges().find(|&[start, end]| (start..end).contains(&at))?;
    let len = LONGEST.min(end - at);
    let mut bytes = [0; LONGEST];
    // SAFETY: code of the program, which can be read.
    unsafe { core::ptr::copy_nonoverlapping(at as *const u8, bytes.as_mut_ptr(), len) };
    Some(bytes)
}

/// Puts the bytes for which traps stand into a copy of code at this address.
pub fn put_back(address: u64, code: &mut [u8]) {
    if sites().looked_at == 0 {
        return;
    }
    for (at, byte) in (address..).zip(code).filter(|(_, byte)| **byte == TRAP) {
        if let Some(site) = sites().find(at) {
            *byte = site.first;
        }
    }
}

/// Whether a thread has met a trap of the runtime. Then it goes on in [`perform`].
///
/// # Safety
/// The pointers must be those passed to the handler that runs.
pub unsafe fn on_trap(number: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: the caller's promise.
    let is_sent = unsafe { (*info).si_code } <= 0;
    if number != libc::SIGTRAP || is_sent || !super::is_on() {
        return false;
    }
    // SAFETY: the caller's promise; the processor is behind the trap.
    let address = unsafe { signal::program_counter(&*context) }.wrapping_sub(1);
    let is_site = sites().find(address).is_some();
    if is_site {
        // SAFETY: the caller's promise; the thread is in code of the program, on its stack.
        unsafe {
            atomic_code::set_program_counter(&mut *context, address);
            signal::call_site(info, context);
        }
    }
    is_site
}

/// Where the program goes on behind the instruction whose operand the runtime accesses in its
/// place, if it does.
pub fn current() -> Option<u64> {
    Some(CURRENT.load(Relaxed)).filter(|&next| next != 0)
}

/// Makes the instruction that the running thread is before.
///
/// # Safety
/// The context is that of a thread at a trap of the runtime.
pub unsafe extern "C" fn perform(context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise; the context lies on the stack of the thread.
    let context = unsafe { &mut *context };
    let Some(site) = sites().find(signal::program_counter(context)).copied() else { return };
    let next = site.address + site.instruction.length();
    atomic_code::enter(context);
    let address = site.instruction.address(context);
    let step = Step { site, address, size: 1 << site.instruction.log_size(), next };
    if controlled() {
        step.make_in_turn(context);
    } else if site.instruction.does() != Does::Fence {
        step.make(context);
    }
    atomic_code::set_program_counter(context, next);
}

/// A site that a thread makes now.
struct Step {
    site: Site,
    /// Of the operand.
    address: u64,
    size: u64,
    next: u64,
}

impl Step {
    fn make_in_turn(&self, context: &mut libc::ucontext_t) {
        let instruction = &self.site.instruction;
        if instruction.does() == Does::Fence {
            let op = AnnouncedOp { order: SEQUENTIAL, ..AnnouncedOp::new(OpKind::Fence, 0, 0, self.next) };
            return sched::perform(op, Outcome::Done, 0, 0);
        }
        if instruction.is_locked() {
            add_place(self.address, self.size);
        }
        let is_atomic = instruction.is_locked() || self.site.is_named || atomics().is_place(self.address, self.size);
        if !is_atomic {
            return self.make_plainly(context);
        }
        if histories::are_kept() {
            controller::name_limit(limit::ATOMIC_CODE);
        }
        match instruction.does() {
            Does::Load => self.load(context),
            Does::Store => self.change(OpKind::AtomicStore, self.store_order(), context),
            Does::CompareExchange => self.compare_exchange(context),
            Does::Update if instruction.is_locked() => self.change(OpKind::AtomicRmw, SEQUENTIAL, context),
            // Two accesses: other threads may come in between.
            Does::Update | Does::Fence => self.update_in_two(context),
        }
    }

    /// Whether debug information says that the access is atomic.
    fn is_named(&self) -> bool {
        self.site.is_named || atomics().is_named_place(self.address, self.size)
    }

    fn load_order(&self) -> u8 {
        if self.is_named() { LOAD } else { LOAD_BY_BYTES }
    }

    fn store_order(&self) -> u8 {
        if self.is_named() { STORE } else { STORE_BY_BYTES }
    }

    fn op(&self, kind: OpKind, order: u8, arg: u64) -> AnnouncedOp {
        let log_size = self.site.instruction.log_size();
        AnnouncedOp { kind, order, log_size, obj: self.address, arg, pc: self.next }
    }

    fn load(&self, context: &mut libc::ucontext_t) {
        let op = self.op(OpKind::AtomicLoad, self.load_order(), 0);
        sched::arrive(op);
        virtual_time::observe(self.address);
        self.make(context);
        sched::commit(&op, Outcome::Done, low(&self.read()), 0);
    }

    /// A store, or an update that is atomic by itself.
    fn change(&self, kind: OpKind, order: u8, context: &mut libc::ucontext_t) {
        let op = self.op(kind, order, 0);
        sched::arrive(op);
        if kind == OpKind::AtomicRmw {
            virtual_time::observe(self.address);
        }
        let old = low(&self.read());
        self.make(context);
        virtual_time::publish(self.address);
        sched::commit(&op, Outcome::Done, low(&self.read()), old);
    }

    fn compare_exchange(&self, context: &mut libc::ucontext_t) {
        let mut op = self.op(OpKind::AtomicCas, SEQUENTIAL, self.site.instruction.expected(context));
        if !self.site.instruction.is_locked() {
            // Nothing that a compiler makes of an atomic operation.
            return self.update_in_two(context);
        }
        sched::arrive(op);
        virtual_time::observe(self.address);
        let old = self.read();
        self.make(context);
        let is_made = atomic_code::has_exchanged(context);
        if is_made {
            virtual_time::publish(self.address);
            sched::commit(&op, Outcome::Done, low(&self.read()), low(&old));
        } else {
            op.order = LOAD;
            sched::commit(&op, Outcome::Failed, 0, low(&old));
        }
    }

    /// A load and a store, of what follows from what was loaded.
    fn update_in_two(&self, context: &mut libc::ucontext_t) {
        let load = self.op(OpKind::AtomicLoad, self.load_order(), 0);
        sched::arrive(load);
        virtual_time::observe(self.address);
        let mut value = self.read();
        sched::commit(&load, Outcome::Done, low(&value), 0);
        let store = self.op(OpKind::AtomicStore, self.store_order(), 0);
        sched::arrive(store);
        let old = low(&self.read());
        self.make_with(&mut value, context);
        self.write(&value);
        virtual_time::publish(self.address);
        sched::commit(&store, Outcome::Done, low(&value), old);
    }

    /// Not atomic: recorded as accesses without a trap are.
    fn make_plainly(&self, context: &mut libc::ucontext_t) {
        let does = self.site.instruction.does();
        atomics().touch(self.address, self.size);
        if does != Does::Store {
            hooks::plain_access(record::READ, self.address, self.size, self.next);
        }
        if does != Does::Load {
            hooks::plain_access(record::WRITE, self.address, self.size, self.next);
        }
        self.make(context);
    }

    /// Makes the instruction on its operand.
    fn make(&self, context: &mut libc::ucontext_t) {
        let mut value = if self.site.instruction.does() == Does::Store { [0; WIDEST] } else { self.read() };
        self.make_with(&mut value, context);
        if self.site.instruction.does() != Does::Load {
            self.write(&value);
        }
    }

    /// Makes it on a copy of its operand.
    fn make_with(&self, value: &mut [u8; WIDEST], context: &mut libc::ucontext_t) {
        let slot = sites().room as *mut [u8; WIDEST];
        // SAFETY: the slot is the runtime's own; the stand-in was written when the site was found.
        unsafe {
            *slot = *value;
            atomic_code::make(self.site.stand_in, context);
            *value = *slot;
        }
    }

    /// What the operand holds, and zeros.
    fn read(&self) -> [u8; WIDEST] {
        let mut value = [0; WIDEST];
        self.copy(self.address as *const u8, value.as_mut_ptr());
        value
    }

    fn write(&self, value: &[u8; WIDEST]) {
        self.copy(value.as_ptr(), self.address as *mut u8);
    }

    /// Copies the operand. The program accesses these bytes by this very instruction; a wrong
    /// address faults as it would there.
    fn copy(&self, from: *const u8, to: *mut u8) {
        CURRENT.store(self.next, Relaxed);
        compiler_fence(SeqCst);
        // SAFETY: one side is a local of this size at least, and a fault at the other is the
        // program's.
        unsafe { core::ptr::copy_nonoverlapping(from, to, self.size as usize) };
        compiler_fence(SeqCst);
        CURRENT.store(0, Relaxed);
    }
}

/// The first bytes, as a trace shows them.
fn low(value: &[u8; WIDEST]) -> u64 {
    value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The bytes belong to an atomic variable. A run in which that was not known when they were
/// accessed is abandoned.
pub fn add_place(address: u64, size: u64) {
    for part in (0..size).step_by(8) {
        let (at, len) = (address + part, (size - part).min(8));
        match atomics().add_place(at, len) {
            None => controller::name_limit(limit::ATOMIC_CODE),
            Some(true) => note_place(at, len),
            Some(false) => {}
        }
    }
}

/// The host did not name them. So earlier runs may have taken them for plain, in this process or
/// another one: once there are such bytes, the search goes on with one process.
fn note_place(address: u64, size: u64) {
    let was_touched = atomics().was_touched(address, size);
    if was_touched || knowledge::places_found() == 0 {
        knowledge().found.fetch_add(1, Relaxed);
    }
    if was_touched {
        knowledge::restart_run();
    }
}
