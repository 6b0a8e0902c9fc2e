//! Which code of a program is C++ of 2020 or later. There a relaxed store ends a release sequence;
//! in C, and in C++ before, it goes on with one that its own thread began.
//!
//! What counts is the unit that the machine code of the store belongs to, by its debug information:
//! the linker keeps one copy of a function that several units have. Gaps between units of the kind
//! belong to them, unless another unit lies there, so that few ranges tell the units apart. Where
//! there are too many, the narrowest gaps are closed.

use std::borrow::Cow;

use gimli::{AttributeValue, DwarfSections, EndianSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use raddle_wire::role;

type Elf<'data> = ElfFile64<'data, Endianness, &'data [u8]>;
type Bytes<'data> = EndianSlice<'data, LittleEndian>;

/// The most ranges.
const MOST: usize = 24;

/// A piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    start: u64,
    end: u64,
    /// Whether relaxed stores end release sequences there.
    ends_sequences: bool,
}

/// The code of the program as a whole, and its parts in which relaxed stores end release sequences:
/// start and end, relative to the entry point, and one of [`role`]. Nothing if there is no debug
/// information.
pub fn known_code(elf: &Elf<'_>) -> Vec<[u64; 3]> {
    let pieces = pieces(elf);
    let (Some(start), Some(end)) =
        (pieces.first().map(|first| first.start), pieces.iter().map(|piece| piece.end).max())
    else {
        return Vec::new();
    };
    let parts = joined(&pieces).into_iter().map(|(start, end)| (start, end, role::ENDS_SEQUENCES));
    let relative = |address: u64| address.wrapping_sub(elf.entry());
    std::iter::once((start, end, role::PROGRAM))
        .chain(parts)
        .map(|(start, end, role)| [relative(start), relative(end), role])
        .collect()
}

/// The code of all units, in the order of their addresses.
fn pieces(elf: &Elf<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = elf.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(load) else { return pieces };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let ends_sequences = producer(&dwarf, &unit).is_some_and(|producer| is_recent_cxx(&producer));
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        while let Ok(Some(range)) = ranges.next() {
            // What the linker removed is at an address without code.
            if range.begin < range.end && elf.sections().any(|section| holds(&section, range.begin)) {
                pieces.push(Piece { start: range.begin, end: range.end, ends_sequences });
            }
        }
    }
    pieces.sort_unstable();
    pieces
}

fn holds<'data>(section: &impl object::ObjectSection<'data>, address: u64) -> bool {
    section.kind() == object::SectionKind::Text
        && address.checked_sub(section.address()).is_some_and(|offset| offset < section.size())
}

fn producer(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &gimli::Unit<Bytes<'_>>) -> Option<String> {
    let mut entries = unit.entries();
    let entry = entries.next_dfs().ok()??;
    let value: AttributeValue<Bytes<'_>> = entry.attr_value(gimli::DW_AT_producer)?;
    let text = dwarf.attr_string(unit, value).ok()?;
    Some(String::from_utf8_lossy(text.slice()).into_owned())
}

/// Whether a unit is C++ of 2020 or later, by what its compiler says: gcc names the language
/// (`GNU C++20`), for clang the wrapper puts the standard there (`-std=` without that).
fn is_recent_cxx(producer: &str) -> bool {
    let mut words = producer.split(' ');
    words.any(|word| {
        let standard = word.strip_prefix("C++").or_else(|| word.strip_prefix("c++")).or(word.strip_prefix("gnu++"));
        standard.is_some_and(|year| matches!(year.as_bytes(), [b'2', _] | [b'3', _]))
    })
}

/// Ranges of pieces of the kind that no other piece separates.
fn joined(pieces: &[Piece]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut is_separate = true;
    for piece in pieces {
        match ranges.last_mut() {
            Some(last) if piece.ends_sequences && !is_separate => last.1 = last.1.max(piece.end),
            _ if piece.ends_sequences => ranges.push((piece.start, piece.end)),
            _ => {}
        }
        is_separate = !piece.ends_sequences;
    }
    while ranges.len() > MOST {
        let gap = |index: &usize| ranges[index + 1].0.saturating_sub(ranges[*index].1);
        let Some(index) = (0..ranges.len() - 1).min_by_key(gap) else { break };
        ranges[index].1 = ranges.remove(index + 1).1;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_is_known_by_the_producer() {
        for producer in
            ["GNU C++20 12.2.0 -g", "GNU C++23 13.1", "Debian clang 19 raddle-hooks c++20", "x gnu++2b", "c++26"]
        {
            assert!(is_recent_cxx(producer), "{producer}");
        }
        for producer in
            ["GNU C17 12.2.0", "GNU C++17 12.2.0", "raddle-hooks gnu++17", "raddle-hooks default", "c++98 x"]
        {
            assert!(!is_recent_cxx(producer), "{producer}");
        }
    }

    #[test]
    fn only_other_pieces_separate_ranges() {
        let piece = |start: u64, ends_sequences| Piece { start, end: start + 8, ends_sequences };
        let pieces = [piece(0, true), piece(16, true), piece(32, false), piece(48, true), piece(64, false)];
        assert_eq!(joined(&pieces), [(0, 24), (48, 56)]);
        assert_eq!(joined(&[piece(0, false)]), []);
    }

    #[test]
    fn the_narrowest_gaps_are_closed() {
        let many: Vec<Piece> = (0..100u64)
            .map(|n| Piece { start: n * 100 + n % 7, end: n * 100 + 50, ends_sequences: n % 2 == 0 })
            .collect();
        let ranges = joined(&many);
        assert_eq!(ranges.len(), MOST);
        assert!(
            many.iter()
                .filter(|piece| piece.ends_sequences)
                .all(|piece| { ranges.iter().any(|range| range.0 <= piece.start && piece.end <= range.1) })
        );
    }
}
