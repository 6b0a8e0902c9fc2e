//! Units in which structs are passed or returned by value, as far as the debug information tells.
//!
//! Missed: at `-O0` gcc does not describe functions that are only called; where they are defined in
//! the program, their own unit shows it.

use super::debug::{Debug, DieRef, constant};
use super::types::strip;

/// The names of the units with such functions, of those whose producer is asked for.
pub(super) fn units(debug: &Debug, is_asked: &dyn Fn(&str) -> bool) -> Vec<String> {
    let asked = (0..debug.units.len()).filter(|&unit| producer(debug, unit).is_some_and(|text| is_asked(&text)));
    let copying = asked.filter(|&unit| copies(debug, unit));
    copying
        .map(|unit| root(debug, unit).and_then(|die| debug.name_of(die)).unwrap_or_else(|| "a unit".into()))
        .collect()
}

fn root(debug: &Debug, unit: usize) -> Option<DieRef> {
    let mut cursor = debug.units.get(unit)?.entries();
    let entry = cursor.next_dfs().ok()??;
    Some(DieRef { unit, offset: entry.offset() })
}

fn producer(debug: &Debug, unit: usize) -> Option<String> {
    let entry = debug.entry(root(debug, unit)?)?;
    let text = debug.dwarf.attr_string(&debug.units[unit], entry.attr_value(gimli::DW_AT_producer)?).ok()?;
    gimli::Reader::to_string_lossy(&text).ok().map(|text| text.into_owned())
}

/// Whether a function or a type of functions takes or returns a struct.
fn copies(debug: &Debug, unit: usize) -> bool {
    let mut cursor = debug.units[unit].entries();
    while let Ok(Some(entry)) = cursor.next_dfs() {
        let by_value = matches!(
            entry.tag(),
            gimli::DW_TAG_subprogram | gimli::DW_TAG_subroutine_type | gimli::DW_TAG_formal_parameter
        );
        if by_value && debug.type_of(DieRef { unit, offset: entry.offset() }).is_some_and(|kind| is_copied(debug, kind))
        {
            return true;
        }
    }
    false
}

/// Whether values of the type are copied in memory. Those with a copy constructor of their own are
/// passed as addresses, and empty ones not at all.
fn is_copied(debug: &Debug, kind: DieRef) -> bool {
    let Some((at, entry)) = strip(debug, kind) else { return true };
    let aggregate =
        matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type);
    let by_reference =
        constant(&entry, gimli::DW_AT_calling_convention) == Some(u64::from(gimli::DW_CC_pass_by_reference.0));
    aggregate && !by_reference && !is_empty(debug, at)
}

fn is_empty(debug: &Debug, kind: DieRef) -> bool {
    let parts = [gimli::DW_TAG_member, gimli::DW_TAG_inheritance];
    let declared = debug.entry(kind).is_some_and(|entry| super::debug::flag(&entry, gimli::DW_AT_declaration));
    !declared && debug.children(kind).iter().all(|(_, entry)| !parts.contains(&entry.tag()))
}
