//! Everything that depends on the processor architecture. The rest of the runtime contains no
//! assembly, names no register, and does not ask for the architecture.
//!
//! Another architecture is another folder beside `x86_64` with the same modules:
//!
//! * `context`: [`context::switch`] and [`context::prepare`] for fibers;
//!   [`context::prepare_processor`] at the start; [`context::float_state`].
//! * `counter`: instructions that read the counter of the processor and that the kernel reports
//!   ([`counter::READINGS`], [`counter::REPORTED`], [`counter::interrupted`], [`counter::answer`],
//!   [`counter::read`]).
//! * `tls`: [`tls::thread_pointer`] and [`tls::handle`], and where static thread-local storage lies
//!   relative to it ([`tls::bytes_to_reach`], [`tls::static_block`]); what the C library keeps
//!   there that differs from process to process ([`tls::guards`], [`tls::unmixed`]).
//! * `entry`: the stubs through which the program enters the runtime (`export!`, `hook!`,
//!   `read_hook!`, `intercept!`), `register!`, the registers that the stubs store
//!   ([`entry::Registers`], [`entry::ENTERED`], [`entry::registers`], [`entry::take_call`],
//!   [`entry::return_address`]), and [`entry::READS_ARE_OPERATIONS`], which `read_hook!` tests.
//! * `import_stub`: stubs that stand for functions of the C library
//!   ([`import_stub::stub`], [`import_stub::is_stub`], [`import_stub::ImportedCall`]).
//! * `code`: the instruction set ([`code::Set`]), the numbers of the saved registers
//!   ([`code::NUMBERS`]), and the forms of stubs, calls and return addresses
//!   ([`code::slot_of_stub`], [`code::is_behind_call_by_pointer`], [`code::is_never_valid`],
//!   [`code::plain_address`]).
//! * `syscall`: [`syscall::call`], the system call instruction, and system calls that not every
//!   architecture has ([`syscall::stat`], [`syscall::dup2`], [`syscall::poll`]).
//! * `signal`: [`signal::KernelAction`] with [`signal::SA_RESTORER`],
//!   [`signal::return_from_handler`]; [`signal::program_counter`], [`signal::stack_pointer`] and
//!   [`signal::frame`] of what was interrupted; [`signal::move_frame`]; system calls that the
//!   kernel reports ([`signal::system_call`], [`signal::answer_system_call`],
//!   [`signal::repeat_system_call`], [`signal::call_instead`]).
//! * `atomic16`: [`atomic16::exchange_16_if`], compare-exchange of 16 bytes.
//! * `atomic_code`: instructions of observed programs that the runtime makes
//!   ([`atomic_code::AtomicInstruction`], [`atomic_code::make`], [`atomic_code::enter`]); where no
//!   program is observed, there are none.
//! * `watched_call`: [`watched_call::call_watched`], which notices when a call is left by
//!   unwinding.
//! * `unwind`: [`unwind::FRAME_POINTER_REGISTER`] and [`unwind::CLEANUP_LINK`], numbers and offsets
//!   that the unwinder and glibc use.
//! * `variadic`: functions with any number of arguments (`variadic!`, [`variadic::VariadicCall`],
//!   [`variadic::ArgumentList`]).
//! * `vector`: [`vector::fastest_restore`], restoring a page with wide registers.
//!
//! and the constants that are re-exported here: [`PAGE`], [`RED_ZONE`], [`MAP_LOW`],
//! [`MUTEX_PADDING`], [`ADDRESS_BITS`], [`CACHE_LINE_WORDS`], [`HEAP_BASE`], [`HEAP_ARENA_BITS`],
//! [`MAPPINGS_BASE`], [`MAPPINGS_SLOT_BITS`], [`LOW_MAPPINGS`], [`LOW_MAPPINGS_OF_SLOT`].

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the runtime supports x86-64 and aarch64 only: add a folder to crates/rt/src/arch");
