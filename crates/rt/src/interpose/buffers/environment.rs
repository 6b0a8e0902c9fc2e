//! The environment: the C library keeps changes apart from each other, but not from look-ups.

use super::{reads, reads_text, writes};
use crate::interpose::before::before;

unsafe extern "C" {
    static environ: *const *const core::ffi::c_char;
}

/// The variable that stands for all of the environment.
fn all() -> usize {
    &raw const environ as usize
}

before! {
    getenv secure_getenv => |a, pc| { reads_text(a[0], pc); reads(all(), 8, pc); };
    setenv => |a, pc| { reads_text(a[0], pc); reads_text(a[1], pc); writes(all(), 8, pc); };
    putenv unsetenv => |a, pc| { reads_text(a[0], pc); writes(all(), 8, pc); };
    clearenv => |_, pc| writes(all(), 8, pc);
}
