//! Which instructions of x86-64 order memory for other threads, and which access it only as a
//! stack.

/// Whether it is an atomic instruction or a fence: one with the prefix LOCK, an exchange with
/// memory, or LFENCE, SFENCE and MFENCE.
pub fn orders_memory(bytes: &[u8]) -> bool {
    const LOCK: u8 = 0xf0;
    const OTHER_PREFIXES: [u8; 10] = [0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    let mut rest = bytes;
    while let [first, more @ ..] = rest {
        if *first == LOCK {
            return true;
        }
        if !OTHER_PREFIXES.contains(first) {
            break;
        }
        rest = more;
    }
    // REX stands right before the opcode.
    if let [0x40..=0x4f, more @ ..] = rest {
        rest = more;
    }
    let is_register = |operands: u8| operands >> 6 == 3;
    match rest {
        [0x86 | 0x87, operands, ..] => !is_register(*operands),
        [0x0f, 0xae, operands, ..] => is_register(*operands) && (operands >> 3 & 7) >= 5,
        _ => false,
    }
}

/// Whether it pushes or pops, calls or returns: what it accesses is no variable, or cannot be told
/// from the stack.
pub fn uses_stack(bytes: &[u8]) -> bool {
    let without_prefix = match bytes {
        // NOTRACK, REP (of `ret`), and BND.
        [0x3e | 0xf2 | 0xf3, rest @ ..] => rest,
        all => all,
    };
    let without_rex = match without_prefix {
        [0x40..=0x4f, rest @ ..] => rest,
        all => all,
    };
    match without_rex {
        [0x50..=0x5f | 0x68 | 0x6a | 0x8f | 0xc2 | 0xc3 | 0xc9 | 0xe8, ..] => true,
        [0xff, operands, ..] => matches!(operands >> 3 & 7, 2 | 6),
        _ => false,
    }
}
