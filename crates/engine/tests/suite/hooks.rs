//! The hooks that programs are linked with and the runtime's functions are the same set of names.

use std::collections::BTreeSet;
use std::fs;

use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSymbol as _};
use raddle_cc::{HOOKS_ARCHIVE, HOOKS_OBJECT, RUNTIME_LIBRARY};

/// How names begin that are no functions of the C and C++ libraries.
const STARTS: [&str; 7] =
    ["__tsan_", "__sanitizer_unaligned_", "__wrap_", "Annotate", "__VERIFIER_", "__atomic_", "raddle_"];
/// Further such names.
const OTHERS: [&str; 3] = ["__raddle_on_failed_poll", "assume_abort_if_not", "reach_error"];
/// What the runtime has for itself.
const OWN: [&str; 2] = ["raddle_future_ready", "raddle_monotonic_allocate"];

/// Public functions that an object defines.
fn defined(bytes: &[u8]) -> BTreeSet<String> {
    let file = object::File::parse(bytes).unwrap();
    let is_function = |name: &str| name != "raddle_atomic_lock";
    let symbols = file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    symbols.map(|symbol| symbol.name().unwrap().to_owned()).filter(|name| is_function(name)).collect()
}

#[test]
fn programs_and_runtime_know_the_same_hooks() {
    let runtime = raddle_engine::runtime::install().unwrap();
    let read = |name: &str| fs::read(runtime.directory().join(name)).unwrap();
    let mut hooks = defined(&read(HOOKS_OBJECT));
    let archive = read(HOOKS_ARCHIVE);
    for member in ArchiveFile::parse(&archive[..]).unwrap().members() {
        let more = defined(member.unwrap().data(&archive[..]).unwrap());
        assert_eq!(hooks.intersection(&more).next(), None, "a hook is in one file");
        hooks.extend(more);
    }
    let library = read(RUNTIME_LIBRARY);
    let file = object::File::parse(&library[..]).unwrap();
    let exports: BTreeSet<String> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .map(|symbol| symbol.name().unwrap().to_owned())
        .filter(|name| STARTS.iter().any(|start| name.starts_with(start)) || OTHERS.contains(&name.as_str()))
        .filter(|name| !OWN.contains(&name.as_str()))
        .collect();
    let missing: Vec<&String> = exports.difference(&hooks).collect();
    assert!(missing.is_empty(), "programs have no hook for {missing:?}");
    let unknown: Vec<&String> = hooks.difference(&exports).collect();
    assert!(unknown.is_empty(), "the runtime has no function for {unknown:?}");
    assert!(hooks.len() > 300, "{}", hooks.len());
}
