//! Where the variables of functions lie in their frames.
//!
//! A pointer to a variable leads to the bytes of that variable only. So the rest of a frame, in
//! which compilers keep copies of registers, is not alive because of it. The compilers' plug-ins
//! write down where variables lie that have an address (`frames.h` in the crate `engine`). They
//! leave out what the compiler itself puts on a stack, so a pointer to a byte of no known variable
//! may lead to all such bytes.
//!
//! Code may compute addresses outside of an array, to count from there. So a variable with an array
//! inside is reached by each pointer into its frame. Other variables are reached by pointers to
//! them, or right behind. `raddle cc` keeps compilers from moving such pointers elsewhere (strength
//! reduction of addresses in loops).
//!
//! Distances count from the stack pointer of the caller at the call: what is below belongs to the
//! function, and what is above are arguments on the stack.

use core::ffi::c_void;

use raddle_liveness::{Base, CodePlace, OperandAccess};

use crate::arch::code::{LONGEST, decode};
use crate::library::program_hooks;
use crate::liveness;
use crate::state::Global;
use crate::syscall::{callers, syscall};

/// Variables of one function that are told apart; of a function with more of them nothing is known.
const MOST: usize = 64;
/// Places in functions that are remembered. Of others nothing is known.
const REMEMBERED: usize = 1024;
/// Places where a function is looked for among those.
const PROBES: usize = 8;
/// Modules with hooks whose variables are known.
const MODULES: usize = 16;

/// A variable in a frame.
#[derive(Clone, Copy)]
struct Object {
    /// Its first byte, and one past the last.
    start: i32,
    end: i32,
    has_array: bool,
}

impl Object {
    const NONE: Object = Object { start: 0, end: 0, has_array: false };

    fn contains(&self, at: i32) -> bool {
        (self.start..self.end).contains(&at)
    }
}

/// The variables of a function that have an address.
#[derive(Clone, Copy)]
pub struct Objects {
    list: [Object; MOST],
    len: usize,
}

impl Objects {
    /// Of a function of which none are known: a pointer leads everywhere in its frame.
    pub const NONE: Objects = Objects { list: [Object::NONE; MOST], len: 0 };

    fn all(&self) -> &[Object] {
        &self.list[..self.len]
    }

    fn add(&mut self, object: Object) -> bool {
        let Some(place) = self.list.get_mut(self.len) else { return false };
        *place = object;
        self.len += 1;
        true
    }

    /// Whether the bytes of a number from this one on belong to no variable with an address.
    /// Compilers keep none of their own numbers where a pointer leads.
    pub fn is_private(&self, byte: i32) -> bool {
        const BYTES: i32 = 4;
        let is_apart = |object: &Object| byte + BYTES <= object.start || object.end <= byte;
        byte < -BYTES && self.len != 0 && self.all().iter().all(is_apart)
    }

    /// Whether a pointer to one place of the frame, or to the arguments above, may lead to the byte
    /// at another.
    pub fn may_lead(&self, pointer: i32, byte: i32) -> bool {
        let mut around = self.all().iter().filter(|object| object.contains(byte)).peekable();
        if around.peek().is_some() {
            return around.any(|object| object.has_array || (object.start..=object.end).contains(&pointer));
        }
        (pointer < 0) == (byte < 0) && !self.all().iter().any(|object| object.contains(pointer))
    }
}

/// A module with hooks.
#[derive(Clone, Copy)]
struct Module {
    /// The records of the plug-ins.
    records: (usize, usize),
    /// The table of functions for unwinding.
    functions: usize,
    /// Its segments.
    bounds: (usize, usize),
}

/// What is known. It belongs to the process: the code of the root does not change.
struct Known {
    modules: [Module; MODULES],
    len: usize,
    /// Functions by where they continue, and their frame pointer.
    functions: [(u64, i32, Objects); REMEMBERED],
}

static KNOWN: Global<Known> = Global::new(Known {
    modules: [Module { records: (0, 0), functions: 0, bounds: (0, 0) }; MODULES],
    len: 0,
    functions: [(0, 0, Objects::NONE); REMEMBERED],
});

fn known() -> &'static mut Known {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *KNOWN.get() }
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// Looks for the records in all modules, before the first run.
pub fn prepare() {
    // SAFETY: the callback writes to the table only.
    unsafe { dl_iterate_phdr(note_module, core::ptr::null_mut()) };
}

extern "C" fn note_module(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description.
    let info = unsafe { &*info };
    // Installed libraries, and the runtime, have no records. To look for some would take a hundred
    // system calls.
    if !program_hooks::has_hooks(info) && !callers::is_users(info) {
        return 0;
    }
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let at = |address: u64| (info.dlpi_addr + address) as usize;
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let start = loaded().map(|header| at(header.p_vaddr)).min();
    let end = loaded().map(|header| at(header.p_vaddr + header.p_memsz)).max();
    let functions = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let (Some(start), Some(end), Some(functions)) = (start, end, functions) else { return 0 };
    let Some((first, bytes)) = records_of(info.dlpi_name.cast()) else { return 0 };
    let records = (at(first), at(first) + bytes as usize);
    let known = known();
    let is_inside = start <= records.0 && records.0 < records.1 && records.1 <= end;
    if is_inside && let Some(place) = known.modules.get_mut(known.len) {
        *place = Module { records, functions: at(functions.p_vaddr), bounds: (start, end) };
        known.len += 1;
    }
    0
}

/// The name of the section with the records.
const SECTION: &[u8] = b".raddle_frames\0";
/// Sections that are looked at, at most.
const SECTIONS: usize = 96;
/// Bytes of names of sections that are read at once.
const NAMES: usize = 1024;

/// A file that is open.
struct File(isize);

impl File {
    fn open(path: *const u8) -> Option<File> {
        // SAFETY: the loader's name of a module, which ends with a zero.
        let is_main = unsafe { path.is_null() || *path == 0 };
        let path = if is_main { c"/proc/self/exe".as_ptr().cast() } else { path };
        // SAFETY: a valid path.
        let file = unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0) };
        (file >= 0).then_some(File(file))
    }

    /// Bytes at the offset, as many as there are.
    fn read(&self, into: &mut [u8], offset: u64) -> usize {
        // SAFETY: reads into the slice.
        let read = unsafe { syscall!(libc::SYS_pread64, self.0, into.as_mut_ptr(), into.len(), offset) };
        usize::try_from(read).unwrap_or(0)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: a descriptor of its own.
        unsafe { syscall!(libc::SYS_close, self.0) };
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes.get(at..at + N)?);
    Some(u64::from_le_bytes(wide))
}

/// Address and size of the records in a module.
fn records_of(path: *const u8) -> Option<(u64, u64)> {
    const HEADER: usize = 64;
    const ADDRESS: usize = 16;
    const OFFSET: usize = 24;
    const SIZE: usize = 32;
    let file = File::open(path)?;
    let mut start = [0; HEADER];
    if file.read(&mut start, 0) < HEADER || !start.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, width) = (number::<8>(&start, 40)?, number::<2>(&start, 58)? as usize);
    let (count, of_names) = (number::<2>(&start, 60)? as usize, number::<2>(&start, 62)? as usize);
    if width != HEADER || count > SECTIONS || of_names >= count {
        return None;
    }
    let mut sections = [0; HEADER * SECTIONS];
    let sections = &mut sections[..HEADER * count];
    if file.read(sections, table) < sections.len() {
        return None;
    }
    let names = number::<8>(sections, of_names * HEADER + OFFSET)?;
    // The first names are read at once, which nearly always are all.
    let mut first_names = [0; NAMES];
    let len = file.read(&mut first_names, names);
    let section = sections.chunks_exact(HEADER).find(|section| {
        let at = number::<4>(section, 0).unwrap_or(0);
        if let Some(name) = first_names[..len].get(at as usize..at as usize + SECTION.len()) {
            return name == SECTION;
        }
        let mut name = [0; SECTION.len()];
        file.read(&mut name, names + at) == name.len() && name == SECTION
    })?;
    Some((number::<8>(section, ADDRESS)?, number::<8>(section, SIZE)?))
}

fn word_at<T: Copy>(address: usize) -> T {
    // SAFETY: callers pass addresses inside of sections that the loader has mapped.
    unsafe { (address as *const T).read_unaligned() }
}

/// The function that contains the address, from the sorted table that the unwinder uses.
fn function_around(table: usize, pc: u64) -> Option<core::ops::Range<u64>> {
    // Version 1; numbers of four bytes, those of the rows as distances from the table.
    if word_at::<[u8; 4]>(table) != [1, 0x1b, 0x03, 0x3b] {
        return None;
    }
    let count = word_at::<u32>(table + 8) as usize;
    let row = |index: usize| table + 12 + 8 * index;
    let from_table = |at: usize| table.wrapping_add_signed(word_at::<i32>(at) as isize);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if from_table(row(middle)) as u64 <= pc { low = middle + 1 } else { high = middle }
    }
    let index = low.checked_sub(1)?;
    let (start, entry) = (from_table(row(index)), from_table(row(index) + 4));
    // The entry says so itself, unless it has another form.
    let itself = entry + 8;
    let is_same = itself.wrapping_add_signed(word_at::<i32>(itself) as isize) == start;
    let end = start as u64 + u64::from(word_at::<u32>(itself + 4));
    (is_same && pc < end).then_some(start as u64..end)
}

/// The variables of the function that continues at `pc`, if its frame pointer has this distance.
pub fn of(pc: u64, frame_pointer: Option<i32>) -> &'static Objects {
    let key = frame_pointer.unwrap_or(i32::MIN);
    let known = known();
    let Some(&module) = known.modules[..known.len].iter().find(|module| {
        let (start, end) = module.bounds;
        (start as u64..end as u64).contains(&pc)
    }) else {
        return &Objects::NONE;
    };
    let first = raddle_vocab::policy::mix(pc ^ u64::from(key.cast_unsigned()) << 32) as usize;
    let place = |probe: usize| (first.wrapping_add(probe)) % REMEMBERED;
    let is_free_or_it = |at: &usize| {
        matches!(known.functions[*at], (0, ..)) || {
            let (other, pointer, _) = known.functions[*at];
            (other, pointer) == (pc, key)
        }
    };
    // Nothing is replaced, because frames refer to what is here.
    let Some(at) = (0..PROBES).map(place).find(is_free_or_it) else { return &Objects::NONE };
    let entry = &mut known.functions[at];
    if (entry.0, entry.1) != (pc, key) {
        *entry = (pc, key, read(&module, pc, frame_pointer).unwrap_or(Objects::NONE));
    }
    &entry.2
}

/// Bytes of a record.
const RECORD: usize = 32;

fn read(module: &Module, pc: u64, frame_pointer: Option<i32>) -> Option<Objects> {
    const ARRAY: u32 = 1 << 31;
    let function = function_around(module.functions, pc)?;
    let mut objects = Objects::NONE;
    let (start, end) = module.records;
    for record in (start..end).step_by(RECORD).take_while(|record| record + RECORD <= end) {
        let code = (record as u64).wrapping_add_signed(i64::from(word_at::<i32>(record)));
        if !function.contains(&code) {
            continue;
        }
        let place = record + 12;
        let distance = match word_at::<u32>(record + 4) {
            1 => word_at::<i32>(place),
            2 => of_operand(code, &word_at::<[u8; LONGEST]>(place), frame_pointer)?,
            _ => return None,
        };
        let size = word_at::<u32>(record + 8);
        let end = distance.checked_add((size & !ARRAY).cast_signed())?;
        if !objects.add(Object { start: distance, end, has_array: size & ARRAY != 0 }) {
            return None;
        }
    }
    Some(objects)
}

/// The distance of what an instruction computes the address of, where it would be performed at
/// `pc`.
fn of_operand(pc: u64, instruction: &[u8], frame_pointer: Option<i32>) -> Option<i32> {
    let operand = decode(instruction)?.operand.filter(|operand| operand.access == OperandAccess::Points)?;
    let base = match operand.base {
        Base::FramePointer => frame_pointer?,
        Base::StackPointer => -liveness::frame_end(CodePlace { pc, frame_pointer: None })?.end,
    };
    base.checked_add(operand.displacement)
}
