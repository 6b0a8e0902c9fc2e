//! Names for heap blocks, guessed from the pointers in the functions that use them.
//!
//! A block has no name. But the function that touches it usually has a pointer to it, and the
//! pointer's type says what the block is made of. If exactly one pointer type in the function fits
//! the size of the block, it is taken as the type of the block. If only one variable has that type,
//! the block is named after the variable. Nothing is guessed if several types fit, those included
//! that members of what the function points at point to, or if the access takes a part of what is a
//! pointer in that type. A variable that is declared behind the access does not count, nor one that
//! the call itself initialises, nor one that the compiler made (what a loop over a range runs
//! through). Functions of the system's libraries do not count either: their pointers are to what is
//! theirs. Nor does the pointer by which the body of a lambda reaches what it captured: lambdas
//! seldom are heap blocks of their own.

use super::debug::{Debug, DieRef, constant, flag};
use super::elf::Elf;
use super::locals::{for_each_variable, function_at};
use super::readable::{fitted, readable};
use super::types;

/// Characters of a type in the name of a block, if leaving arguments of templates out is enough for
/// that.
const LONGEST_KIND: usize = 32;
/// The pointer of C++ to one object, never to several.
const THIS: &str = "this";
/// What gcc calls it in the body of a lambda.
const CLOSURE: &str = "__closure";
/// The most pointers of one function that are read.
const MAX_POINTERS: usize = 1 << 12;

/// A pointer variable and what it points at.
struct Pointer {
    name: String,
    target: DieRef,
    size: u64,
    /// Whether it is a reference, which stands for one object, never for several.
    is_reference: bool,
    /// Line of its declaration; 0 if that is not known.
    line: u64,
}

/// What the code at an address does with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUse {
    /// It allocates the block: the result may initialise a pointer.
    Allocation,
    /// It uses the block, by a pointer that is there already.
    Access,
    /// The same, by code of a header of the system.
    AccessByHeader,
}

/// What a part of a heap block may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockName {
    /// The only pointer variable of the function that can point to the block.
    pointer: Option<String>,
    /// Whether that is a reference.
    by_reference: bool,
    /// Name of the type that the block is made of.
    kind: Option<String>,
    /// Which of several objects of that type.
    index: Option<u64>,
    /// The part of the object: `.count`, or nothing.
    suffix: String,
    /// Whether the part is no piece of a member.
    is_made_of_parts: bool,
}

impl BlockName {
    /// Whether the block is one object of that type, as far as the part tells.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.index.is_none() && self.kind.is_some() && self.is_made_of_parts
    }

    /// As the function would write it: `a->balance`, `items[3]`, `*p`. `None` if several of its
    /// variables may be meant, or `this`, which says nothing outside of the function.
    #[must_use]
    pub fn by_pointer(&self) -> Option<String> {
        let pointer = self.pointer.as_deref().filter(|name| *name != THIS)?;
        if self.by_reference {
            return Some(format!("{pointer}{}", self.suffix));
        }
        Some(match (self.index, self.suffix.strip_prefix('.')) {
            (Some(index), _) => format!("{pointer}[{index}]{}", self.suffix),
            (None, Some(member)) => format!("{pointer}->{member}"),
            (None, None) if self.suffix.is_empty() => format!("*{pointer}"),
            (None, None) => format!("(*{pointer}){}", self.suffix),
        })
    }

    /// By type, with a label that distinguishes the block from others: `account#2.balance`.
    #[must_use]
    pub fn by_type(&self, label: &str) -> Option<String> {
        let index = self.index.map(|index| format!("[{index}]")).unwrap_or_default();
        Some(format!("{}{label}{index}{}", fitted(self.kind.as_deref()?, LONGEST_KIND), self.suffix))
    }
}

/// Name of the `length` bytes from `offset` in a block of `block` bytes, in the function around a
/// linked address.
pub(super) fn name_in_block(
    elf: &Elf,
    linked: u64,
    use_of_it: BlockUse,
    block: u64,
    (offset, length): (u64, u64),
) -> Option<BlockName> {
    if elf.is_system() {
        return None;
    }
    let debug = &elf.variables().0;
    let mut pointers = pointers_of(debug, function_at(elf, linked)?);
    if let Some(line) = line_of(elf, linked) {
        pointers.retain(|pointer| pointer.line < line || (use_of_it == BlockUse::Allocation && pointer.line == line));
    }
    let exact: Vec<&Pointer> = pointers.iter().filter(|pointer| pointer.size == block).collect();
    let parts: Vec<&Pointer> =
        pointers.iter().filter(|pointer| may_be_several(pointer) && is_element(pointer, block)).collect();
    let is_exact = !exact.is_empty();
    // Where code of headers uses a block, it may be any part of it that the pointer points at.
    let may_be_array = use_of_it != BlockUse::AccessByHeader;
    let fitting = if is_exact || !may_be_array { exact } else { parts };
    let (first, rest) = fitting.split_first()?;
    if rest.iter().any(|other| other.target != first.target) || offset % first.size + length > first.size {
        return None;
    }
    if types::cuts_a_pointer(debug, first.target, offset % first.size, length) {
        return None;
    }
    // The function reaches other blocks through the members of what it points at.
    let is_other = |target: &DieRef| *target != first.target && types::size_of(debug, *target) == Some(block);
    if is_exact && pointers.iter().any(|pointer| types::pointees_of_members(debug, pointer.target).iter().any(is_other))
    {
        return None;
    }
    Some(BlockName {
        pointer: rest.iter().all(|other| other.name == first.name).then(|| first.name.clone()),
        by_reference: first.is_reference,
        kind: debug.name_of(first.target).map(|name| readable(&name)),
        index: (!is_exact).then_some(offset / first.size),
        suffix: types::part_at(debug, first.target, offset % first.size, length).suffix,
        is_made_of_parts: types::is_made_of_parts(debug, first.target, offset % first.size, length),
    })
}

/// Whether the function around a linked address returns a pointer; `None` if that is not known.
pub(super) fn returns_pointer(elf: &Elf, linked: u64) -> Option<bool> {
    let debug = &elf.variables().0;
    let function = function_at(elf, linked).filter(|_| !elf.is_system())?;
    let result = debug.type_of(function);
    Some(result.is_some_and(|result| types::pointee(debug, result).is_some()))
}

fn may_be_several(pointer: &Pointer) -> bool {
    pointer.name != THIS && !pointer.is_reference
}

/// Whether a block may be an array of what the pointer points at.
fn is_element(pointer: &Pointer, block: u64) -> bool {
    pointer.size > 1 && block.is_multiple_of(pointer.size)
}

/// The line of an address.
fn line_of(elf: &Elf, linked: u64) -> Option<u64> {
    let location = elf.lines()?.find_location(linked).ok()??;
    location.line.map(u64::from)
}

/// The pointers of a function and of its origin: a clone made by the optimiser may have dropped a
/// parameter that its origin still lists.
fn pointers_of(debug: &Debug, function: DieRef) -> Vec<Pointer> {
    let mut pointers = Vec::new();
    let origin =
        debug.entry(function).and_then(|entry| debug.reference(function.unit, &entry, gimli::DW_AT_abstract_origin));
    for function in [Some(function), origin].into_iter().flatten() {
        collect(debug, function, &mut pointers);
    }
    pointers
}

/// Whether a pointer leads to the object of a lambda. In the debug information of clang its class
/// has no name.
fn is_closure(debug: &Debug, name: &str, target: DieRef) -> bool {
    name == CLOSURE || name == THIS && debug.name_of(target).is_none()
}

fn collect(debug: &Debug, function: DieRef, pointers: &mut Vec<Pointer>) {
    for_each_variable(debug, function, |die, _| {
        if pointers.len() < MAX_POINTERS
            && let Some(kind) = debug.type_of(die)
            && let Some(target) = types::pointee(debug, kind)
            && let Some(size) = types::size_of(debug, target).filter(|&size| size > 0)
            && let Some(name) = debug.name_of(die)
            && (name == THIS || !debug.entry(die).is_some_and(|entry| flag(&entry, gimli::DW_AT_artificial)))
            && !is_closure(debug, &name, target)
        {
            let is_reference = types::is_reference(debug, kind);
            let line = debug.through_origins(die, |_, entry| constant(entry, gimli::DW_AT_decl_line)).unwrap_or(0);
            pointers.push(Pointer { name, target, size, is_reference, line });
        }
    });
}
