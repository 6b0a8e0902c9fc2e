//! The note by which a program that raddle linked is known, and by which the runtime finds its
//! hooks.
//!
//! The content is three words: [`VERSION`], and where the first slot and the end of the slots are,
//! as distances from the words. The note and the slots are made in `crates/cc/hooks`.

/// Whose note it is, with the zero at its end.
pub const NOTE_NAME: &[u8] = b"raddle\0";
/// Its kind among raddle's notes.
pub const NOTE_TYPE: u32 = 2;
/// Bytes of its content, at least.
pub const NOTE_BYTES: usize = 12;
/// Changes whenever compilers insert a hook that an older runtime does not have, or the meaning of
/// one changes.
pub const VERSION: u32 = 1;
