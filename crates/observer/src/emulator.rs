//! What the emulator offers to plug-ins, as far as it is used here: its header (`qemu-plugin.h`,
//! version 1 of the interface) is not installed where the emulator is.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version of the interface that the declarations here are of.
pub const VERSION: c_int = 1;

/// The plug-in, to the emulator.
pub type Id = u64;

/// What the emulator says of itself. More follows, which is not used here.
#[repr(C)]
pub struct Info {
    /// Name of the processor that is emulated.
    pub target_name: *const c_char,
    /// The least version of the interface that it still offers.
    pub least_version: c_int,
    /// Its own version.
    pub version: c_int,
    /// Whether it emulates a whole machine.
    pub emulates_machine: bool,
}

/// A block of instructions that is translated.
#[repr(C)]
pub struct TranslatedBlock {
    _opaque: [u8; 0],
}

/// One of its instructions.
#[repr(C)]
pub struct TranslatedInstruction {
    _opaque: [u8; 0],
}

/// Called for each block that is translated.
pub type OnBlock = extern "C" fn(Id, *mut TranslatedBlock);
/// Called after each access of an instruction: number of the processor, description, address, own
/// datum.
pub type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);
/// Called before an instruction: number of the processor, own datum.
pub type OnInstruction = extern "C" fn(c_uint, *mut c_void);
/// Called before a system call: number and operands.
pub type OnSystemCall = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// The callback changes no registers.
pub const NO_REGISTERS: c_int = 0;
/// The operation of a counter.
pub const ADD: c_int = 0;
/// Reads and writes.
pub const READS_AND_WRITES: c_int = 3;

unsafe extern "C" {
    /// Registers the callback for blocks.
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: OnBlock);
    /// Registers the callback for system calls.
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: OnSystemCall);
    /// Registers a callback before a block.
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut TranslatedBlock,
        callback: OnInstruction,
        flags: c_int,
        datum: *mut c_void,
    );
    /// Has a number added to a counter before a block.
    pub fn qemu_plugin_register_vcpu_tb_exec_inline(
        block: *mut TranslatedBlock,
        operation: c_int,
        counter: *mut c_void,
        number: u64,
    );
    /// Registers a callback for the accesses of an instruction.
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut TranslatedInstruction,
        callback: OnAccess,
        flags: c_int,
        which: c_int,
        datum: *mut c_void,
    );
    /// Registers a callback before an instruction.
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut TranslatedInstruction,
        callback: OnInstruction,
        flags: c_int,
        datum: *mut c_void,
    );
    /// Instructions of a block.
    pub fn qemu_plugin_tb_n_insns(block: *const TranslatedBlock) -> usize;
    /// One of them.
    pub fn qemu_plugin_tb_get_insn(block: *const TranslatedBlock, index: usize) -> *mut TranslatedInstruction;
    /// Its address.
    pub fn qemu_plugin_insn_vaddr(instruction: *const TranslatedInstruction) -> u64;
    /// Its bytes.
    pub fn qemu_plugin_insn_data(instruction: *const TranslatedInstruction) -> *const u8;
    /// How many.
    pub fn qemu_plugin_insn_size(instruction: *const TranslatedInstruction) -> usize;
    /// log2 of the bytes of an access.
    pub fn qemu_plugin_mem_size_shift(access: u32) -> c_uint;
    /// Whether an access is a write.
    pub fn qemu_plugin_mem_is_store(access: u32) -> bool;
}
