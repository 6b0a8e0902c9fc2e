//! Tells the bytes that linkers and assemblers put between functions from code.

/// Bytes without the padding at their start: traps and instructions without effect. Zeros are
/// padding where nothing else follows.
pub fn without_padding(mut bytes: &[u8]) -> &[u8] {
    while let Some(length) = padding_instruction(bytes) {
        bytes = &bytes[length..];
    }
    if bytes.iter().all(|byte| *byte == 0) { &[] } else { bytes }
}

/// The length of the instruction, if it has no effect or is a trap.
fn padding_instruction(bytes: &[u8]) -> Option<usize> {
    let prefixes = bytes.iter().take_while(|byte| matches!(byte, 0x66 | 0x2e)).count();
    let length = match bytes[prefixes..] {
        [0x90, ..] => 1,
        [0xcc, ..] if prefixes == 0 => 1,
        // `nop` on aarch64, whose bytes are no instruction of an x86.
        [0x1f, 0x20, 0x03, 0xd5, ..] if prefixes == 0 => 4,
        // `nop` with an operand: the second byte says how long that is.
        [0x0f, 0x1f, 0x00, ..] => 3,
        [0x0f, 0x1f, 0x40, _, ..] => 4,
        [0x0f, 0x1f, 0x44, _, _, ..] => 5,
        [0x0f, 0x1f, 0x80, _, _, _, _, ..] => 7,
        [0x0f, 0x1f, 0x84, _, _, _, _, _, ..] => 8,
        // The type of the function that follows, which `-fsanitize=function` of clang compares.
        [0xfe, 0xca, 0x05, 0xc1, _, _, _, _, ..] if prefixes == 0 => 8,
        // `xchg %ax,%ax` and the like of older assemblers: `lea` of a register onto itself.
        [0x8d, 0x76, 0x00, ..] => 3,
        [0x8d, 0xb6, 0, 0, 0, 0, ..] => 6,
        _ => return None,
    };
    Some(prefixes + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_told_from_code() {
        let is_padding = |bytes: &[u8]| without_padding(bytes).is_empty();
        assert!(is_padding(&[]) && is_padding(&[0; 7]) && is_padding(&[0xcc; 3]) && is_padding(&[0x66, 0x90, 0x90]));
        assert!(is_padding(&[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0]));
        assert!(is_padding(&[0xfe, 0xca, 0x05, 0xc1, 1, 2, 3, 4]), "the type of a function");
        assert!(!is_padding(&[0xc3]), "a return");
        assert!(!is_padding(&[0, 0xc3]) && !is_padding(&[0x90, 0x55]) && !is_padding(&[0x0f, 0x1f]));
        assert!(!is_padding(&[0x66]), "a prefix alone");
    }
}
