//! Processor architectures.

use core::fmt;

/// A processor architecture for which there is a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    /// The 64-bit x86.
    X86_64,
    /// The 64-bit ARM.
    Aarch64,
}

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    /// The one that this code was built for. On others raddle does not build.
    pub const OWN: Machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };

    /// Its usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
