//! Demangled names, as people write them.

use super::readable::readable;

/// Names longer than this are not demangled: they would be unreadable, and hostile names grow
/// exponentially.
const LONGEST: usize = 4096;

/// Marks behind a name that are looked at.
const MOST_MARKS: usize = 8;

/// The name as in the source: Itanium C++ and Rust names are demangled, others stay as they are.
pub fn demangle(name: &str) -> String {
    if name.len() > LONGEST {
        return name.to_string();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    // Dynamic symbols carry "@VERSION"; compilers mark statics and clones with ".0", ".isra.0",
    // ".cold", ".actor". A point may also be a part of the name, as in the frame of a coroutine.
    let ends = name.char_indices().skip(1).filter(|(_, c)| matches!(c, '@' | '.')).map(|(at, _)| at);
    let ends: Vec<usize> = ends.take(MOST_MARKS).collect();
    let bare = &name[..ends.first().copied().unwrap_or(name.len())];
    if bare.starts_with("_Z") {
        let mut tries = ends.into_iter().chain([name.len()]);
        return tries.find_map(|end| cpp(&name[..end])).unwrap_or_else(|| bare.to_string());
    }
    bare.to_string()
}

/// The C++ type that a runtime type name (`St13runtime_error`) stands for.
pub fn demangle_type(name: &str) -> String {
    let said = demangle(&format!("_ZTI{name}"));
    said.strip_prefix("typeinfo for ").unwrap_or(name).to_string()
}

fn cpp(name: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    let text = symbol.demangle_with_options(&options).ok()?;
    (text.len() <= LONGEST * 4).then(|| readable(&text))
}

#[cfg(test)]
mod tests {
    use super::{demangle, demangle_type};

    #[test]
    fn c_names_stay() {
        assert_eq!(demangle("deposit"), "deposit");
        assert_eq!(demangle("pthread_create@@GLIBC_2.34"), "pthread_create");
        assert_eq!(demangle("counter.0"), "counter");
        assert_eq!(demangle("grow.part.0.cold"), "grow");
        assert_eq!(demangle(""), "");
    }

    #[test]
    fn cpp_and_rust_names_become_readable() {
        assert_eq!(demangle("_ZN4bank7Account7depositEi"), "bank::Account::deposit");
        let lambda = "_ZZN4Pool3addENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEENKUlvE_clEv";
        assert_eq!(demangle(lambda), "Pool::add::{lambda#1}::operator()");
        assert_eq!(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int>::push_back");
        assert_eq!(demangle("_ZN3foo3bar17h05af221e174051e9E"), "foo::bar");
    }

    #[test]
    fn frames_of_coroutines_become_readable() {
        let work = "_ZN4bank4workESt6vectorIiSaIiEENS_7AccountE";
        let frame = format!("{work}.Frame");
        let actor = format!("_ZN4bank4workEPZNS_4workESt6vectorIiSaIiEENS_7AccountEE{}{frame}.actor", frame.len());
        assert_eq!(demangle(&actor), "bank::work");
        assert_eq!(demangle(&format!("{work}.destroy")), "bank::work");
    }

    #[test]
    fn types_become_readable() {
        assert_eq!(demangle_type("St13runtime_error"), "std::runtime_error");
        assert_eq!(demangle_type("i"), "int");
        assert_eq!(demangle_type("N4bank5ErrorE"), "bank::Error");
        assert_eq!(demangle_type("?"), "?");
    }

    #[test]
    fn broken_names_stay() {
        assert_eq!(demangle("_Z"), "_Z");
        assert_eq!(demangle("_ZN9999999x"), "_ZN9999999x");
        let long = format!("_Z{}", "N".repeat(100_000));
        assert_eq!(demangle(&long), long);
    }
}
