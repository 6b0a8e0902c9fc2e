//! The bitcode of a program: one module per translation unit, concatenated in one section.

use object::{Object as _, ObjectSection as _};

use crate::AnalysisError;

/// Sections with bitcode. `raddle cc` renames clang's section, so that other tools do not find it.
const SECTIONS: [&str; 2] = [".raddle", ".llvmbc"];
const MAGIC: [u8; 4] = *b"BC\xc0\xde";

/// The bitcode of each translation unit.
pub fn of_program(bytes: &[u8]) -> Result<Vec<&[u8]>, AnalysisError> {
    let file = object::File::parse(bytes).map_err(|error| AnalysisError::NoProgram(error.to_string()))?;
    let mut modules = Vec::new();
    for section in file.sections().filter(|section| section.name().is_ok_and(|name| SECTIONS.contains(&name))) {
        let data = section.data().map_err(|error| AnalysisError::NoProgram(error.to_string()))?;
        modules.extend(split(data)?);
    }
    if modules.is_empty() { Err(AnalysisError::NoBitcode) } else { Ok(modules) }
}

/// Splits a section into modules. Each block of a module has its length in its header. The linker
/// may leave zeros between modules.
fn split(data: &[u8]) -> Result<Vec<&[u8]>, AnalysisError> {
    let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let mut modules = Vec::new();
    let mut at = 0;
    while at + 4 <= data.len() {
        if data[at..at + 4] != MAGIC {
            at += 4;
            continue;
        }
        let start = at;
        at += 4;
        // Abbreviation 1 at width 2, then the block's number (8 bits) and width (4 bits), then its
        // length in words.
        while let Some(head) = word(at).filter(|head| head & 3 == 1 && *head >> 14 == 0) {
            let length = word(at + 4).ok_or(AnalysisError::Damaged)? as usize;
            debug_assert!(head & 3 == 1);
            at = at.checked_add(8 + 4 * length).filter(|&end| end <= data.len()).ok_or(AnalysisError::Damaged)?;
        }
        if at == start + 4 {
            return Err(AnalysisError::Damaged);
        }
        modules.push(&data[start..at]);
    }
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(words: u32) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((1u32 | 13 << 2 | 5 << 10).to_le_bytes());
        bytes.extend(words.to_le_bytes());
        bytes.extend(vec![7; 4 * words as usize]);
        bytes
    }

    #[test]
    fn modules_follow_each_other_with_zeros_between() {
        let mut data = module(3);
        data.extend([0; 8]);
        data.extend(module(1));
        let sizes: Vec<usize> = split(&data).unwrap().iter().map(|module| module.len()).collect();
        assert_eq!(sizes, [24, 16]);
    }

    #[test]
    fn a_module_that_is_cut_off_is_damaged() {
        let data = module(3);
        assert!(matches!(split(&data[..16]), Err(AnalysisError::Damaged)));
        assert!(split(&[0; 12]).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_no_program_is_refused() {
        assert!(matches!(of_program(b"hello"), Err(AnalysisError::NoProgram(_))));
    }
}
