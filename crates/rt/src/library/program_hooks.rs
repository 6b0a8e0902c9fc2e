//! The hooks of the program's own modules. A module that raddle linked has a slot for each hook,
//! which points to a function that does nothing; a note in the module says where the slots are.
//! Here the slots get the runtime's functions.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use raddle_wire::hooks;

use crate::interpose::process::failure::exit_with_error;
use crate::syscall::libc_real::real;

/// A slot, as the module has it.
#[repr(C)]
struct Slot {
    function: usize,
    /// The name of the hook, as a distance from this field.
    name: i32,
    _unused: u32,
}

/// Head of a note.
#[repr(C)]
#[derive(Clone, Copy)]
struct NoteHead {
    name: u32,
    content: u32,
    kind: u32,
}

const PT_NOTE: u32 = 4;

real! { hidden:
    fn dlopen(path: *const c_char, flags: i32) -> *mut c_void;
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// The loader's handle of the runtime. Taken once, because taking it allocates.
static OWN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the hooks of all modules that are loaded call the runtime.
pub fn fill() {
    if OWN.load(Ordering::Relaxed).is_null() {
        // SAFETY: all-zero is a valid value to be overwritten; the path is that of the runtime,
        // which is loaded already.
        let handle = unsafe {
            let mut about: libc::Dl_info = core::mem::zeroed();
            libc::dladdr(fill as *const c_void, &raw mut about);
            hidden::dlopen(about.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        };
        OWN.store(handle, Ordering::Relaxed);
    }
    let handle = OWN.load(Ordering::Relaxed);
    if handle.is_null() {
        exit_with_error("the runtime", "is not among the libraries of the program");
    }
    // SAFETY: the callback gets the handle.
    unsafe { dl_iterate_phdr(fill_module, handle) };
}

extern "C" fn fill_module(info: *mut libc::dl_phdr_info, _size: usize, handle: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description.
    let info = unsafe { &*info };
    for slot in slots(info).unwrap_or_default() {
        let name = (&raw const slot.name).cast::<c_char>().wrapping_offset(slot.name as isize);
        // SAFETY: the module has a name for each slot; the handle is that of the runtime.
        let function = unsafe { libc::dlsym(handle, name) } as usize;
        if function != 0 {
            slot.function = function;
        }
    }
    0
}

/// Whether raddle linked any of the modules.
pub fn are_there() -> bool {
    // SAFETY: the callback looks at descriptions of modules only.
    unsafe { dl_iterate_phdr(tell_hooks, core::ptr::null_mut()) != 0 }
}

extern "C" fn tell_hooks(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description.
    i32::from(has_hooks(unsafe { &*info }))
}

/// Whether raddle linked the module.
pub fn has_hooks(info: &libc::dl_phdr_info) -> bool {
    slots(info).is_some()
}

/// The slots of a module, if it has the note.
fn slots(info: &libc::dl_phdr_info) -> Option<&'static mut [Slot]> {
    // SAFETY: the loader says how many headers there are.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let notes = headers.iter().filter(|header| header.p_type == PT_NOTE);
    notes.into_iter().find_map(|header| {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        find_slots(start, start + header.p_memsz as usize, (header.p_align as usize).clamp(4, 8))
    })
}

/// Looks for the note in a segment of notes.
fn find_slots(mut at: usize, end: usize, align: usize) -> Option<&'static mut [Slot]> {
    while at + size_of::<NoteHead>() <= end {
        // SAFETY: within the segment, which is mapped and whose notes are aligned.
        let head = unsafe { *(at as *const NoteHead) };
        let name = at + size_of::<NoteHead>();
        let content = (name + head.name as usize).next_multiple_of(align);
        let next = (content + head.content as usize).next_multiple_of(align);
        if next > end {
            return None;
        }
        // SAFETY: the note lies within the segment.
        let text = unsafe { core::slice::from_raw_parts(name as *const u8, head.name as usize) };
        if head.kind == hooks::NOTE_TYPE && text == hooks::NOTE_NAME && head.content as usize >= hooks::NOTE_BYTES {
            let distance = |word: usize| {
                let field = content + 4 * word;
                // SAFETY: within the content.
                field.wrapping_add_signed(unsafe { *(field as *const i32) } as isize)
            };
            let (first, last) = (distance(1), distance(2));
            let count = last.saturating_sub(first) / size_of::<Slot>();
            // SAFETY: the linker put these distances into the note: the module's own slots, which
            // nothing else refers to.
            return Some(unsafe { core::slice::from_raw_parts_mut(first as *mut Slot, count) });
        }
        at = next;
    }
    None
}
