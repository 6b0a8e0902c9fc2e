//! The part of an object at an offset, as C writes it: `[3].count`.

use std::fmt::Write as _;

use gimli::AttributeValue;

use super::debug::{Debug, Die, DieRef, MAX_HOPS, constant, flag};

/// The most members of one type that are read.
const MAX_MEMBERS: usize = 1 << 16;
/// The deepest nesting of types that is followed.
const MAX_DEPTH: usize = 32;
/// The most alternatives of unions that one walk tries: nested unions multiply them.
const MAX_TRIES: usize = 4096;

/// Part of an object, as a walk through its type found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartOfType {
    /// What follows the object's name: `[3].count`, or nothing.
    pub suffix: String,
    /// Bytes between the start of the part and that of the range asked for.
    pub rest: u64,
    /// Size of the part, if known.
    pub size: Option<u64>,
    /// Whether the part has no parts of its own.
    pub scalar: bool,
}

/// A data member or base class, in bits from the start of its class.
struct Member {
    name: Option<String>,
    kind: DieRef,
    start: u64,
    bits: u64,
    bit_field: bool,
}

impl Member {
    fn overlaps(&self, from: u64, to: u64) -> bool {
        self.start < to && from < self.start + self.bits
    }

    fn contains(&self, from: u64, to: u64) -> bool {
        self.start <= from && to <= self.start + self.bits
    }
}

/// The smallest part of an object of type `kind` that holds the `length` bytes from `offset`.
pub(super) fn part_at(debug: &Debug, kind: DieRef, offset: u64, length: u64) -> PartOfType {
    Walk { debug, tries: 0 }.part(kind, offset, length.max(1), 0)
}

/// Whether the `length` bytes from `offset` in an object of type `kind` begin where one of its
/// parts begins, and end where one ends. An access by a pointer to that type does so.
pub(super) fn is_made_of_parts(debug: &Debug, kind: DieRef, offset: u64, length: u64) -> bool {
    Walk { debug, tries: 0 }.is_made_of_parts(kind, offset, length, 0)
}

/// Size of a type, if it says so.
pub(super) fn size_of(debug: &Debug, kind: DieRef) -> Option<u64> {
    size_within(debug, kind, 0)
}

fn size_within(debug: &Debug, kind: DieRef, depth: usize) -> Option<u64> {
    if depth > MAX_DEPTH {
        return None;
    }
    let entry = debug.entry(kind)?;
    if let Some(size) = constant(&entry, gimli::DW_AT_byte_size) {
        return Some(size);
    }
    match entry.tag() {
        gimli::DW_TAG_array_type => {
            let count = dimensions(debug, kind).into_iter().try_fold(1u64, |all, count| all.checked_mul(count?))?;
            stride(debug, kind, &entry, depth + 1)?.checked_mul(count)
        }
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
            Some(u64::from(debug.units.get(kind.unit)?.header.address_size()))
        }
        tag if is_transparent(tag) => size_within(debug, debug.type_of(kind)?, depth + 1),
        _ => complete(debug, kind, &entry).and_then(|definition| size_within(debug, definition, depth + 1)),
    }
}

/// Type that a pointer or reference points to, without names and qualifiers on both sides.
pub(super) fn pointee(debug: &Debug, kind: DieRef) -> Option<DieRef> {
    let (at, entry) = strip(debug, kind)?;
    let leads_on = matches!(
        entry.tag(),
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type
    );
    let target = leads_on.then(|| debug.type_of(at)).flatten()?;
    strip(debug, target).map(|(definition, _)| definition)
}

/// Whether a variable of this type is a reference: it stands for one object.
pub(super) fn is_reference(debug: &Debug, kind: DieRef) -> bool {
    strip(debug, kind).is_some_and(|(_, entry)| {
        matches!(entry.tag(), gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type)
    })
}

/// Types that the members of a structure point to.
pub(super) fn pointees_of_members(debug: &Debug, class: DieRef) -> Vec<DieRef> {
    let members = debug.children(class).into_iter().filter(|(_, entry)| entry.tag() == gimli::DW_TAG_member);
    members.filter_map(|(member, _)| pointee(debug, debug.type_of(member)?)).collect()
}

/// Whether the type only adds a name or a qualifier to another.
fn is_transparent(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_immutable_type
            | gimli::DW_TAG_shared_type
            | gimli::DW_TAG_packed_type
    )
}

/// The definition of a type that is only declared here, by signature.
fn complete(debug: &Debug, kind: DieRef, entry: &Die) -> Option<DieRef> {
    debug.reference(kind.unit, entry, gimli::DW_AT_signature)
}

/// The type behind names and qualifiers.
pub(super) fn strip(debug: &Debug, kind: DieRef) -> Option<(DieRef, Die)> {
    let mut at = kind;
    for _ in 0..MAX_HOPS {
        let entry = debug.entry(at)?;
        if is_transparent(entry.tag()) {
            at = debug.type_of(at)?;
        } else if let Some(definition) = complete(debug, at, &entry) {
            at = definition;
        } else {
            return Some((at, entry));
        }
    }
    None
}

/// Counts of an array's dimensions; `None` for one that does not say.
fn dimensions(debug: &Debug, array: DieRef) -> Vec<Option<u64>> {
    debug
        .children(array)
        .into_iter()
        .filter(|(_, entry)| entry.tag() == gimli::DW_TAG_subrange_type)
        .map(|(_, entry)| {
            constant(&entry, gimli::DW_AT_count)
                .or_else(|| constant(&entry, gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1)))
        })
        .collect()
}

/// Whether the bytes are a part of a pointer in an object of that type. No code accesses such a
/// part: the object is of another type.
pub(super) fn cuts_a_pointer(debug: &Debug, kind: DieRef, offset: u64, length: u64) -> bool {
    cuts_within(debug, kind, offset, length, 0).unwrap_or(false)
}

fn cuts_within(debug: &Debug, kind: DieRef, offset: u64, length: u64, depth: usize) -> Option<bool> {
    if depth > MAX_DEPTH {
        return None;
    }
    let (at, entry) = strip(debug, kind)?;
    match entry.tag() {
        gimli::DW_TAG_pointer_type => Some(length < size_of(debug, at)?),
        gimli::DW_TAG_array_type => {
            let stride = stride(debug, at, &entry, depth).filter(|&bytes| bytes > 0)?;
            cuts_within(debug, debug.type_of(at)?, offset % stride, length, depth + 1)
        }
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
            let (from, to) = bit_range(offset, length)?;
            let members = Walk { debug, tries: 0 }.members(at, depth);
            let member = members.iter().find(|member| member.contains(from, to) && !member.bit_field)?;
            cuts_within(debug, member.kind, offset - member.start / 8, length, depth + 1)
        }
        _ => None,
    }
}

/// Bytes from one element of an array to the next.
fn stride(debug: &Debug, array: DieRef, entry: &Die, depth: usize) -> Option<u64> {
    constant(entry, gimli::DW_AT_byte_stride).or_else(|| size_within(debug, debug.type_of(array)?, depth))
}

/// Whether the name belongs to the implementation: `x._M_i` or `m.__data` mean nothing to users.
fn is_reserved(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next() == Some('_') && letters.next().is_some_and(|c| c == '_' || c.is_ascii_uppercase())
}

struct Walk<'a> {
    debug: &'a Debug,
    tries: usize,
}

impl Walk<'_> {
    fn part(&mut self, kind: DieRef, offset: u64, length: u64, depth: usize) -> PartOfType {
        let mut whole =
            PartOfType { suffix: String::new(), rest: offset, size: size_of(self.debug, kind), scalar: false };
        if depth > MAX_DEPTH {
            return whole;
        }
        let Some((at, entry)) = strip(self.debug, kind) else { return whole };
        let inner = match entry.tag() {
            gimli::DW_TAG_array_type => self.element(at, &entry, offset, length, depth),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.member(at, offset, length, depth),
            gimli::DW_TAG_union_type => self.alternative(at, offset, length, depth),
            _ => {
                whole.scalar = true;
                None
            }
        };
        inner.unwrap_or(whole)
    }

    fn is_made_of_parts(&mut self, kind: DieRef, offset: u64, length: u64, depth: usize) -> bool {
        self.tries += 1;
        let size = size_of(self.debug, kind);
        if depth > MAX_DEPTH || self.tries > MAX_TRIES || (offset == 0 && size == Some(length)) {
            return true;
        }
        let Some((at, entry)) = strip(self.debug, kind) else { return true };
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                let stride = stride(self.debug, at, &entry, depth).filter(|&bytes| bytes > 0);
                let (Some(stride), Some(element)) = (stride, self.debug.type_of(at)) else { return true };
                let first = offset % stride;
                if first + length <= stride {
                    self.is_made_of_parts(element, first, length, depth + 1)
                } else {
                    first == 0 && length.is_multiple_of(stride)
                }
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                self.covers_members(at, offset, length, depth).unwrap_or(true)
            }
            gimli::DW_TAG_union_type => self.members(at, depth).iter().any(|member| {
                bit_range(offset, length).is_some_and(|(from, to)| member.contains(from, to))
                    && self.is_made_of_parts(member.kind, offset - member.start / 8, length, depth + 1)
            }),
            // Registers hold more bytes than numbers of this size have.
            _ => offset == 0 && size.is_none_or(|size| size > 8 && length <= size),
        }
    }

    /// Whether the bytes are whole members, or whole parts of one. `None` if they may be a
    /// bit-field.
    fn covers_members(&mut self, class: DieRef, offset: u64, length: u64, depth: usize) -> Option<bool> {
        let (from, to) = bit_range(offset, length)?;
        let members = self.members(class, depth);
        let touched: Vec<&Member> = members.iter().filter(|member| member.overlaps(from, to)).collect();
        if touched.iter().any(|member| member.bit_field) {
            return None;
        }
        Some(match touched[..] {
            [] => members.is_empty(),
            [member] if member.contains(from, to) => {
                self.is_made_of_parts(member.kind, offset - member.start / 8, length, depth + 1)
            }
            // Gaps between members are copied with them.
            _ => touched.iter().all(|member| from <= member.start && member.start + member.bits <= to),
        })
    }

    /// Into an element of an array, with an index for each dimension.
    fn element(&mut self, array: DieRef, entry: &Die, offset: u64, length: u64, depth: usize) -> Option<PartOfType> {
        let element = self.debug.type_of(array)?;
        let stride = stride(self.debug, array, entry, depth).filter(|&bytes| bytes > 0)?;
        let index = offset / stride;
        if offset % stride + length > stride {
            return None;
        }
        let mut counts = dimensions(self.debug, array);
        counts.truncate(MAX_DEPTH);
        let mut suffix = String::new();
        let mut left = index;
        for dimension in 0..counts.len().max(1) {
            let below = counts.iter().skip(dimension + 1).try_fold(1u64, |all, count| all.checked_mul((*count)?))?;
            let _ = write!(suffix, "[{}]", left.checked_div(below)?);
            left %= below;
        }
        let inner = self.part(element, offset % stride, length, depth + 1);
        Some(PartOfType { suffix: suffix + &inner.suffix, ..inner })
    }

    /// Into the one member that holds the bytes.
    fn member(&mut self, class: DieRef, offset: u64, length: u64, depth: usize) -> Option<PartOfType> {
        let (from, to) = bit_range(offset, length)?;
        let members = self.members(class, depth);
        let touched: Vec<&Member> = members.iter().filter(|member| member.overlaps(from, to)).collect();
        if touched.len() > 1 && touched.iter().all(|member| member.bit_field) {
            let names: Vec<&str> = touched.iter().filter_map(|member| member.name.as_deref()).collect();
            let rest = offset - touched[0].start / 8;
            return Some(PartOfType { suffix: format!(".{{{}}}", names.join(", ")), rest, size: None, scalar: false });
        }
        let [member] = touched[..] else { return None };
        if member.bit_field {
            let name = member.name.as_deref()?;
            return Some(PartOfType { suffix: format!(".{name}"), rest: 0, size: None, scalar: true });
        }
        if !member.contains(from, to) {
            return None;
        }
        self.within(member, members.len() == 1, offset, length, depth)
    }

    fn within(&mut self, member: &Member, only: bool, offset: u64, length: u64, depth: usize) -> Option<PartOfType> {
        let inner = self.part(member.kind, offset - member.start / 8, length, depth + 1);
        match member.name.as_deref() {
            Some(name) if is_reserved(name) => only.then_some(inner),
            Some(name) => Some(PartOfType { suffix: format!(".{name}{}", inner.suffix), ..inner }),
            None => Some(inner),
        }
    }

    /// Into the member of a union that fits the access: the only one with a scalar at exactly its
    /// bytes, else the only one that holds them. Where several do, it is not known which was meant,
    /// and the union itself is named.
    fn alternative(&mut self, union: DieRef, offset: u64, length: u64, depth: usize) -> Option<PartOfType> {
        let (from, to) = bit_range(offset, length)?;
        let mut fitting = Vec::new();
        for member in self.members(union, depth) {
            self.tries += 1;
            if self.tries <= MAX_TRIES && member.contains(from, to) {
                fitting.extend(self.within(&member, false, offset, length, depth));
            }
        }
        let is_exact = |part: &&PartOfType| part.scalar && part.rest == 0 && part.size == Some(length);
        let exact: Vec<&PartOfType> = fitting.iter().filter(is_exact).collect();
        match (&exact[..], &fitting[..]) {
            ([part], _) => Some((*part).clone()),
            ([], [part]) => Some(part.clone()),
            _ => None,
        }
    }

    /// Data members and bases with a fixed place; static members and virtual bases have none.
    fn members(&self, class: DieRef, depth: usize) -> Vec<Member> {
        let mut members = Vec::new();
        for (at, entry) in self.debug.children(class).into_iter().take(MAX_MEMBERS) {
            let is_data = entry.tag() == gimli::DW_TAG_member && !flag(&entry, gimli::DW_AT_external);
            if (is_data || entry.tag() == gimli::DW_TAG_inheritance) && !flag(&entry, gimli::DW_AT_declaration) {
                members.extend(self.placed(at, &entry, depth));
            }
        }
        self.extend_to_next(class, &mut members);
        members
    }

    /// A member whose type is only declared here has no size: clang describes a class such as
    /// `std::condition_variable` where its constructor is. It reaches to the next member, or to the
    /// end.
    fn extend_to_next(&self, class: DieRef, members: &mut [Member]) {
        let end = size_of(self.debug, class).and_then(|bytes| bytes.checked_mul(8));
        let starts: Vec<u64> = members.iter().map(|member| member.start).collect();
        for member in members.iter_mut().filter(|member| member.bits == 0 && !member.bit_field) {
            let next = starts.iter().copied().filter(|&start| start > member.start).min().or(end);
            if size_of(self.debug, member.kind).is_none() {
                member.bits = next.map_or(0, |next| next.saturating_sub(member.start));
            }
        }
    }

    fn placed(&self, at: DieRef, entry: &Die, depth: usize) -> Option<Member> {
        let kind = self.debug.type_of(at)?;
        let name = self.debug.own_name(at.unit, entry).filter(|_| entry.tag() == gimli::DW_TAG_member);
        let storage = constant(entry, gimli::DW_AT_byte_size).or_else(|| size_within(self.debug, kind, depth + 1));
        let byte = member_offset(entry, self.debug.units.get(at.unit)?)?;
        let start = byte.checked_mul(8)?;
        let (start, bits, bit_field) = match constant(entry, gimli::DW_AT_bit_size) {
            None => (start, storage.unwrap_or(0).checked_mul(8)?, false),
            Some(bits) => (bit_start(entry, start, bits, storage)?, bits, true),
        };
        start.checked_add(bits)?;
        Some(Member { name, kind, start, bits, bit_field })
    }
}

fn bit_range(offset: u64, length: u64) -> Option<(u64, u64)> {
    Some((offset.checked_mul(8)?, offset.checked_add(length)?.checked_mul(8)?))
}

/// First bit of a bit-field. DWARF 4 and later count from the start of the class. Earlier versions
/// count from the high end of a storage unit, which is reversed on little-endian machines.
fn bit_start(entry: &Die, start: u64, bits: u64, storage: Option<u64>) -> Option<u64> {
    if let Some(offset) = constant(entry, gimli::DW_AT_data_bit_offset) {
        return start.checked_add(offset);
    }
    let from_high = constant(entry, gimli::DW_AT_bit_offset)?;
    start.checked_add(storage?.checked_mul(8)?)?.checked_sub(from_high.checked_add(bits)?)
}

/// Offset of a member in bytes: a constant, or the expression "add a constant" of older DWARF.
fn member_offset(entry: &Die, unit: &gimli::Unit<super::debug::Reader>) -> Option<u64> {
    match entry.attr_value(gimli::DW_AT_data_member_location) {
        None => Some(0),
        Some(AttributeValue::Exprloc(expression)) => {
            let mut operations = expression.operations(unit.encoding());
            match (operations.next(), operations.next()) {
                (Ok(Some(gimli::Operation::PlusConstant { value })), Ok(None)) => Some(value),
                _ => None,
            }
        }
        Some(value) => value.udata_value(),
    }
}
