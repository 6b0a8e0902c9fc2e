//! Other sanitizers on the command line: which can live beside raddle's runtime, and which cannot.

/// Checks of the undefined-behaviour family. They insert checks only and their runtime takes over
/// no function of the C library, so they work beside raddle's.
#[rustfmt::skip]
const COMPATIBLE: &[&str] = &[
    "alignment", "array-bounds", "bool", "bounds", "bounds-strict", "builtin", "enum",
    "float-cast-overflow", "float-divide-by-zero", "function", "implicit-bitfield-conversion",
    "implicit-conversion", "implicit-integer-arithmetic-value-change",
    "implicit-integer-conversion", "implicit-integer-sign-change",
    "implicit-integer-truncation", "implicit-signed-integer-truncation",
    "implicit-unsigned-integer-truncation", "integer", "integer-divide-by-zero", "local-bounds",
    "nonnull-attribute", "null", "nullability", "nullability-arg", "nullability-assign",
    "nullability-return", "object-size", "pointer-overflow", "return",
    "returns-nonnull-attribute", "shift", "shift-base", "shift-exponent",
    "signed-integer-overflow", "undefined", "unreachable", "unsigned-integer-overflow",
    "unsigned-shift-base", "vla-bound", "vptr",
];

/// The sanitizers that a command line asks for, beside the thread sanitizer.
///
/// Later options take back earlier ones, as in the compilers, so that
/// `-fsanitize=address -fno-sanitize=address` asks for nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sanitizers {
    /// On or off, in the order of the command line; off entries thin out groups (`undefined` but
    /// not `vptr`).
    entries: Vec<(bool, String)>,
    /// Whether the user asked for the thread sanitizer to be off at the end.
    pub(crate) thread_refused: bool,
}

impl Sanitizers {
    /// Takes the next `-fsanitize=` (`on`) or `-fno-sanitize=` into account.
    pub(crate) fn add(&mut self, on: bool, names: &[String]) {
        for name in names {
            if !on && name == "all" {
                self.entries.clear();
            }
            if name == "thread" || (!on && name == "all") {
                self.thread_refused = !on;
                continue;
            }
            self.entries.retain(|(_, earlier)| earlier != name);
            if on || COMPATIBLE.contains(&name.as_str()) {
                self.entries.push((on, name.clone()));
            }
        }
    }

    /// The first sanitizer that cannot be combined with raddle's runtime.
    pub(crate) fn conflict(&self) -> Option<&str> {
        let conflicting = |(on, name): &&(bool, String)| *on && !COMPATIBLE.contains(&name.as_str());
        self.entries.iter().find(conflicting).map(|(_, name)| name.as_str())
    }

    /// Whether a sanitizer other than the thread sanitizer is left on.
    pub(crate) fn any(&self) -> bool {
        self.entries.iter().any(|(on, _)| *on)
    }

    /// The options that ask for what is left.
    pub(crate) fn options(&self) -> Vec<String> {
        if !self.any() {
            return Vec::new();
        }
        let option = |(on, name): &(bool, String)| match on {
            true => format!("-fsanitize={name}"),
            false => format!("-fno-sanitize={name}"),
        };
        self.entries.iter().map(option).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+a,b` adds `-fsanitize=a,b`, `-a` adds `-fno-sanitize=a`.
    fn folded(options: &[&str]) -> Sanitizers {
        let mut sanitizers = Sanitizers::default();
        for option in options {
            let names: Vec<String> = option[1..].split(',').map(str::to_owned).collect();
            sanitizers.add(option.starts_with('+'), &names);
        }
        sanitizers
    }

    #[test]
    fn the_thread_sanitizer_is_raddles_own() {
        let sanitizers = folded(&["+thread"]);
        assert_eq!(sanitizers.conflict(), None);
        assert!(sanitizers.options().is_empty());
        assert!(!sanitizers.thread_refused);
    }

    #[test]
    fn checks_of_undefined_behaviour_stay_with_their_exceptions() {
        let sanitizers = folded(&["+undefined,thread", "-vptr", "+shift"]);
        assert_eq!(sanitizers.conflict(), None);
        assert_eq!(sanitizers.options(), ["-fsanitize=undefined", "-fno-sanitize=vptr", "-fsanitize=shift"]);
    }

    #[test]
    fn everything_else_conflicts_by_name_known_or_not() {
        for name in ["address", "hwaddress", "memory", "leak", "kernel-address", "fuzzer", "cfi", "novel"] {
            assert_eq!(folded(&[&format!("+thread,undefined,{name}")]).conflict(), Some(name));
        }
    }

    #[test]
    fn later_options_take_back_earlier_ones() {
        assert_eq!(folded(&["+address", "-address"]), Sanitizers::default());
        assert_eq!(folded(&["+address,undefined", "-all"]).options(), [""; 0]);
        assert_eq!(folded(&["-address", "+address"]).conflict(), Some("address"));
        assert_eq!(folded(&["+undefined", "-undefined"]).options(), [""; 0]);
    }

    #[test]
    fn turning_the_thread_sanitizer_off_is_noticed() {
        assert!(folded(&["-thread"]).thread_refused);
        assert!(folded(&["+thread", "-all"]).thread_refused);
        assert!(!folded(&["-all", "+thread"]).thread_refused);
    }
}
