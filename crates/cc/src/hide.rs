//! Hiding the thread sanitizer from the program.
//!
//! Some libraries replace code under a thread sanitizer, for example lock-free code by locks. What
//! is checked is then not what is shipped, so the user may ask that they do not notice.
//!
//! `__SANITIZE_THREAD__` is an ordinary macro and can be undefined.
//! `__has_feature(thread_sanitizer)`, which gcc has since version 14, cannot be answered otherwise
//! by any option. But a name that is defined as a macro can turn into that of an unknown feature,
//! so that the answer is no. gcc expands the argument of `__has_feature` anyway. clang does not, so
//! there `__has_feature` is redefined as `__has_extension`, which answers yes wherever
//! `__has_feature` does, and the argument is expanded because it is now that of a macro. Features
//! that are only extensions in the language at hand are hidden in the same way, because
//! `__has_feature` says no to those. A program that asks clang for the undocumented
//! `__has_extension(thread_sanitizer)` still sees it.

use crate::compiler::{Family, Language};

/// What a hidden feature's name turns into: something that no compiler has.
const UNKNOWN: &str = "raddle_hidden_feature";

/// C11 features that every other language has as extensions.
const C11: &[&str] =
    &["c_alignas", "c_alignof", "c_atomic", "c_generic_selections", "c_static_assert", "c_thread_local"];

/// C++11 features that C++98 has as extensions.
#[rustfmt::skip]
const CXX11: &[&str] = &[
    "cxx_atomic", "cxx_default_function_template_args", "cxx_defaulted_functions",
    "cxx_deleted_functions", "cxx_explicit_conversions", "cxx_inline_namespaces", "cxx_lambdas",
    "cxx_local_type_template_args", "cxx_nonstatic_member_init", "cxx_override_control",
    "cxx_range_for", "cxx_reference_qualified_functions", "cxx_rvalue_references",
    "cxx_variadic_templates",
];

/// C++14 features that older standards have as extensions.
const CXX14: &[&str] = &["cxx_binary_literals", "cxx_init_captures", "cxx_variable_templates"];

/// The C23 feature that every other language has as an extension.
const C23: &[&str] = &["c_fixed_enum"];

/// Never more than extensions.
const NEVER: &[&str] = &["c_attributes", "cxx_fixed_enum", "overloadable_unmarked"];

/// The options that hide the thread sanitizer from a program in this language and standard (the
/// value of `-std=`; `None` where the compiler's default holds, which has C11 and C++14 in all
/// compilers of interest).
pub(crate) fn options(family: Family, language: Language, standard: Option<&str>) -> Vec<String> {
    let mut options = vec!["-U__SANITIZE_THREAD__".to_owned()];
    let mut hidden = vec!["thread_sanitizer", "__thread_sanitizer__"];
    if family == Family::Clang {
        options.push("-Wno-builtin-macro-redefined".to_owned());
        options.push("-D__has_feature(feature)=__has_extension(feature)".to_owned());
        hidden.extend(extensions_only(language, standard.unwrap_or_default()).concat());
    }
    options.extend(hidden.into_iter().map(|name| format!("-D{name}={UNKNOWN}")));
    options
}

/// The features that are extensions but not features, in a language and standard.
fn extensions_only(language: Language, standard: &str) -> Vec<&'static [&'static str]> {
    match (language, standard) {
        (Language::C, "c90" | "c89" | "gnu90" | "gnu89" | "ansi" | "iso9899:1990" | "iso9899:199409")
        | (Language::C, "c99" | "c9x" | "gnu99" | "gnu9x" | "iso9899:1999") => {
            vec![NEVER, CXX14, C23, C11]
        }
        (Language::C, "c23" | "c2x" | "gnu23" | "gnu2x" | "c2y" | "gnu2y") => vec![NEVER, CXX14],
        (Language::C, _) => vec![NEVER, CXX14, C23],
        (Language::Cxx, "c++98" | "c++03" | "gnu++98" | "gnu++03" | "ansi") => {
            vec![NEVER, C11, C23, CXX14, CXX11]
        }
        (Language::Cxx, "c++11" | "c++0x" | "gnu++11" | "gnu++0x") => vec![NEVER, C11, C23, CXX14],
        (Language::Cxx, _) => vec![NEVER, C11, C23],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(language: Language, standard: Option<&str>) -> Vec<String> {
        options(Family::Clang, language, standard)
    }

    fn hides(language: Language, standard: Option<&str>, name: &str) -> bool {
        options_of(language, standard).contains(&format!("-D{name}={UNKNOWN}"))
    }

    #[test]
    fn both_macros_are_hidden_in_every_language() {
        for language in [Language::C, Language::Cxx] {
            let found = options_of(language, None);
            assert!(found.contains(&"-U__SANITIZE_THREAD__".to_owned()));
            assert!(found.contains(&"-D__has_feature(feature)=__has_extension(feature)".to_owned()));
            assert!(hides(language, None, "thread_sanitizer"));
            assert!(hides(language, None, "__thread_sanitizer__"));
        }
    }

    #[test]
    fn what_is_a_feature_by_default_stays_one() {
        assert!(!hides(Language::C, None, "c_static_assert"));
        assert!(!hides(Language::Cxx, None, "cxx_rvalue_references"));
        assert!(!hides(Language::Cxx, None, "cxx_binary_literals"));
        assert!(!hides(Language::C, Some("gnu23"), "c_fixed_enum"));
    }

    #[test]
    fn what_is_an_extension_in_an_older_standard_does_not_become_a_feature() {
        assert!(hides(Language::C, Some("gnu99"), "c_static_assert"));
        assert!(hides(Language::Cxx, Some("c++98"), "cxx_rvalue_references"));
        assert!(hides(Language::Cxx, Some("gnu++11"), "cxx_binary_literals"));
        assert!(hides(Language::Cxx, None, "c_atomic"));
    }

    #[test]
    fn gcc_expands_the_name_by_itself() {
        let gcc = options(Family::Gcc, Language::C, Some("gnu99"));
        let names = ["thread_sanitizer", "__thread_sanitizer__"];
        let [first, second] = names.map(|name| format!("-D{name}={UNKNOWN}"));
        assert_eq!(gcc, ["-U__SANITIZE_THREAD__".to_owned(), first, second]);
    }
}
