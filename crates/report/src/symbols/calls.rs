//! Calls of functions in other files: which one is called in front of a return address.
//!
//! Such a call goes through a slot that the dynamic linker fills. Either the call itself names the
//! slot, or a stub of a few instructions that it goes to.

use std::collections::BTreeMap;

use object::read::elf::ElfFile64;
use object::{Architecture, Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

/// The code of a file, and the slots through which it calls functions of others.
#[derive(Default)]
pub(super) struct Imports {
    machine: Option<Architecture>,
    code: Vec<(u64, Vec<u8>)>,
    /// Names of functions by the addresses of slots.
    slots: BTreeMap<u64, String>,
}

impl Imports {
    /// Reads them off a file.
    pub fn of(file: &ElfFile64<'_>) -> Self {
        let is_code =
            |flags| matches!(flags, object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
        let segments = file.segments().filter(|segment| is_code(segment.flags()));
        let code = segments.filter_map(|segment| Some((segment.address(), segment.data().ok()?.to_vec()))).collect();
        let table = file.dynamic_symbol_table();
        let slot = |(at, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let name = table.as_ref()?.symbol_by_index(symbol).ok()?.name().ok()?.to_string();
            (!name.is_empty()).then_some((at, name))
        };
        let slots = file.dynamic_relocations().into_iter().flatten().filter_map(slot).collect();
        Imports { machine: Some(file.architecture()), code, slots }
    }

    /// The function that the call in front of a return address goes to, if it is one of another
    /// file.
    pub fn called_before(&self, back: u64) -> Option<&str> {
        match self.machine? {
            Architecture::X86_64 => self.called_on_x86(back),
            Architecture::Aarch64 => self.called_on_aarch64(back),
            _ => None,
        }
    }

    fn called_on_x86(&self, back: u64) -> Option<&str> {
        let name = |slot: u64| self.slots.get(&slot).map(String::as_str);
        let [.., first, second, a, b, c, d] = *self.bytes(back.checked_sub(6)?, 6)? else { return None };
        let target = back.wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
        match [first, second] {
            // call *slot(%rip)
            [0xff, 0x15] => name(target),
            // call stub
            [_, 0xe8] => {
                let mut at = target;
                for prefix in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2]] {
                    let is_there = self.bytes(at, prefix.len()) == Some(prefix);
                    at += if is_there { prefix.len() as u64 } else { 0 };
                }
                // jmp *slot(%rip)
                let [0xff, 0x25, a, b, c, d] = *self.bytes(at, 6)? else { return None };
                name((at + 6).wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d]))))
            }
            _ => None,
        }
    }

    fn called_on_aarch64(&self, back: u64) -> Option<&str> {
        let call = back.checked_sub(4)?;
        // bl stub
        let offset = self.word(call).filter(|word| word >> 26 == 0b10_0101)? << 6;
        let mut at = call.wrapping_add_signed(i64::from(offset as i32) >> 4);
        // bti c
        at += if self.word(at)? == 0xd503_245f { 4 } else { 0 };
        // adrp x16, page; ldr x17, [x16, offset]
        let (page, load) = (self.word(at)?, self.word(at + 4)?);
        if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
            return None;
        }
        let pages = ((page >> 5 & 0x7_ffff) << 2 | (page >> 29 & 3)) << 11;
        let base = (at & !0xfff).wrapping_add_signed((i64::from(pages as i32) >> 11) << 12);
        self.slots.get(&(base + u64::from(load >> 10 & 0xfff) * 8)).map(String::as_str)
    }

    fn word(&self, at: u64) -> Option<u32> {
        self.bytes(at, 4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn bytes(&self, at: u64, length: usize) -> Option<&[u8]> {
        let of_segment = |(start, bytes): &'_ (u64, Vec<u8>)| -> Option<(usize, usize)> {
            let from = usize::try_from(at.checked_sub(*start)?).ok()?;
            let to = from.checked_add(length)?;
            (to <= bytes.len()).then_some((from, to))
        };
        self.code.iter().find_map(|segment| of_segment(segment).map(|(from, to)| &segment.1[from..to]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(machine: Architecture, code: &[u8]) -> Imports {
        let slots = BTreeMap::from([(0x4018, "read".to_string())]);
        Imports { machine: Some(machine), code: vec![(0x1000, code.to_vec())], slots }
    }

    /// `call` at 0x1000, and a stub at 0x1010.
    #[test]
    fn calls_through_stubs_and_slots_are_found_on_x86() {
        let mut code = vec![0x90; 0x30];
        // At 0x1001: call 0x1010. There: endbr64; bnd jmp *0x3001(%rip), that is 0x4018.
        code[1..6].copy_from_slice(&[0xe8, 0x0a, 0, 0, 0]);
        code[0x10..0x1b].copy_from_slice(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xfd, 0x2f, 0, 0]);
        // At 0x1020: call *0x2ff2(%rip), that is 0x4018.
        code[0x20..0x26].copy_from_slice(&[0xff, 0x15, 0xf2, 0x2f, 0, 0]);
        let imports = imports(Architecture::X86_64, &code);
        assert_eq!(imports.called_before(0x1006), Some("read"));
        assert_eq!(imports.called_before(0x1026), Some("read"));
        for no_call in [0, 5, 0x1003, 0x1010, 0x102f, 0x1031, u64::MAX] {
            assert_eq!(imports.called_before(no_call), None, "{no_call:#x}");
        }
    }

    #[test]
    fn calls_through_stubs_are_found_on_aarch64() {
        let mut code = Vec::new();
        // At 0x1000: bl 0x1008. There: adrp x16, 0x4000; ldr x17, [x16, 0x18].
        for word in [0x9400_0002_u32, 0xd503_201f, 0xf000_0010, 0xf940_0e11] {
            code.extend_from_slice(&word.to_le_bytes());
        }
        let imports = imports(Architecture::Aarch64, &code);
        assert_eq!(imports.called_before(0x1004), Some("read"));
        assert_eq!(imports.called_before(0x1008), None);
    }
}
