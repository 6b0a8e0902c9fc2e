//! Code that raddle cannot see: machine code of the program and its libraries without hooks.
//!
//! The rule is by bytes, so that nothing slips through. Every byte of machine code is either in a
//! unit whose debug information says that it was compiled with hooks, or it is known to belong to
//! the compiler or the C and C++ runtime, or it is padding. The rest is named: by its unit, by the
//! file that the link took it from, or by its function.
//!
//! | code | counts |
//! |---|---|
//! | of objects and archives of the user's, in the program or in a library that raddle linked | always |
//! | of installed libraries, static or shared | with `--strict` |
//! | that `--trust` names | never |

mod code;
mod origin;
mod padding;
mod ranges;

use std::path::{Path, PathBuf};

use raddle_exec::elf::is_installed;
use raddle_exec::{LoadedLibraries, Options};
use raddle_model::finding::Reason;
use wildmatch::WildMatch;

use code::{Code, CodeFunction, CodeSection};
use origin::{Origin, Origins};
use padding::without_padding;

/// The code of a search that is not complete because of this.
const UNSEEN_CODE: &str = "unseen-code";
/// The most names in a sentence.
const MOST_NAMES: usize = 8;

/// Shared libraries of the C and C++ runtime, and raddle's own, by the start of their names.
#[rustfmt::skip]
const RUNTIME_LIBRARIES: [&str; 26] = [
    "ld-linux", "ld-", "ld.so", "libc.so", "libc-", "libm.so", "libm-", "libmvec", "libpthread", "libdl.so",
    "libdl-", "librt.so", "librt-", "libresolv", "libutil", "libanl", "libnss_", "libnsl", "libgcc_s",
    "libstdc++", "libc++.so", "libc++abi", "libunwind", "libatomic", "libraddle", "libubsan",
];

/// What the user says about code that raddle cannot see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Patterns of names that are harmless, with `*` and `?`.
    pub names: Vec<String>,
    /// Whether installed libraries count, too.
    pub strict: bool,
    /// Whether an observed program's machine code is taken to order memory as its source asks for.
    pub machine_orders: bool,
}

/// Code that raddle cannot see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// What it is part of, by name.
    pub names: Vec<String>,
    /// Why it keeps the verdict from being verified, if it does.
    pub reason: Option<Reason>,
}

/// What decides which code of a check cannot be seen. It can be asked while the check runs.
#[derive(Clone, Debug)]
pub struct UnseenCode {
    program: PathBuf,
    loaded: LoadedLibraries,
    trust: Trust,
    kind: Sight,
}

/// How much of a program is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// Code with hooks.
    Hooks,
    /// All of its own code, by an emulator.
    Observed,
    /// Calls of the C library.
    Calls,
}

impl UnseenCode {
    /// Of a program that is run with these options.
    pub(crate) fn of(options: &Options, trust: &Trust) -> Self {
        let kind = match () {
            () if options.observer.is_some() => Sight::Observed,
            () if options.sees_calls_only() => Sight::Calls,
            () => Sight::Hooks,
        };
        let program = options.program.clone();
        UnseenCode { program, loaded: options.loaded.clone(), trust: trust.clone(), kind }
    }

    /// What there is by now.
    #[must_use]
    pub fn find(&self) -> Unseen {
        let loaded = self.loaded.paths();
        match self.kind {
            Sight::Hooks => find(&self.program, &loaded, &self.trust),
            Sight::Observed => installed(&self.program, &loaded, &self.trust),
            Sight::Calls => Unseen { names: all_of(&self.program, &loaded), reason: None },
        }
    }
}

/// A part of the process without hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A file that was compiled without raddle.
    File(String),
    /// Code of which no more is known.
    Code(String),
    /// A program or library of which nothing is known.
    Stripped(String),
    /// An installed library.
    Library(String),
}

impl Part {
    fn name(&self) -> &str {
        match self {
            Part::File(name) | Part::Code(name) | Part::Stripped(name) | Part::Library(name) => name,
        }
    }

    fn counts(&self, trust: &Trust) -> bool {
        (trust.strict || !matches!(self, Part::Library(_))) && !is_trusted(self.name(), &trust.names)
    }
}

/// Finds code without hooks in a program and the files that its process loaded.
pub fn find(program: &Path, loaded: &[PathBuf], trust: &Trust) -> Unseen {
    let mut parts = code::read(program).map_or_else(Vec::new, |code| parts_of(&code, &shown(program)));
    let mut known: Vec<PathBuf> = program.canonicalize().into_iter().collect();
    for path in loaded {
        // A program can load a library and remove it.
        let Ok(path) = path.canonicalize() else {
            parts.push(Part::Library(shown(path)));
            continue;
        };
        if !known.contains(&path) {
            parts.extend(parts_of_library(&path));
            known.push(path);
        }
    }
    let mut unique: Vec<Part> = Vec::new();
    for part in parts {
        if !unique.contains(&part) {
            unique.push(part);
        }
    }
    let counted: Vec<&Part> = unique.iter().filter(|part| part.counts(trust)).collect();
    let reason = sentence(&counted).map(|text| Reason { code: UNSEEN_CODE.into(), text });
    Unseen { names: unique.iter().map(|part| part.name().to_owned()).collect(), reason }
}

/// The names of a program that was not built with raddle, and of the files that its process loaded.
pub fn all_of(program: &Path, loaded: &[PathBuf]) -> Vec<String> {
    let own = program.canonicalize().ok();
    let libraries = loaded.iter().filter(|path| path.canonicalize().ok() != own && !is_runtime_library(path));
    std::iter::once(shown(program)).chain(libraries.map(|path| shown(path))).collect()
}

/// The libraries of a program whose own code is observed. They are not.
pub fn installed(program: &Path, loaded: &[PathBuf], trust: &Trust) -> Unseen {
    let own = program.canonicalize().ok();
    let others = loaded.iter().filter(|path| path.canonicalize().ok() != own && !is_runtime_library(path));
    let parts: Vec<Part> = others.filter(|path| is_installed(path)).map(|path| Part::Library(shown(path))).collect();
    let counted: Vec<&Part> = parts.iter().filter(|part| part.counts(trust)).collect();
    let reason = sentence(&counted).map(|text| Reason { code: UNSEEN_CODE.into(), text });
    Unseen { names: parts.iter().map(|part| part.name().to_owned()).collect(), reason }
}

/// Whether a shared library belongs to the C or C++ runtime, or to raddle.
fn is_runtime_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    RUNTIME_LIBRARIES.iter().any(|start| name.starts_with(start))
}

fn parts_of_library(path: &Path) -> Vec<Part> {
    if is_runtime_library(path) {
        return Vec::new();
    }
    match code::read(path) {
        None => Vec::new(),
        Some(code) if code.records.is_empty() => vec![Part::Library(shown(path))],
        Some(code) => parts_of(&code, &shown(path)),
    }
}

/// The parts without hooks of a file that raddle linked.
fn parts_of(code: &Code, name: &str) -> Vec<Part> {
    if !code.has_units {
        return vec![Part::Stripped(name.to_owned())];
    }
    let mut origins = Origins::new(code);
    let mut parts = Vec::new();
    for section in &code.sections {
        let end = section.address.saturating_add(section.bytes.len() as u64);
        for gap in code.hooked.gaps((section.address, end)) {
            examine(code, section, gap, &mut origins, &mut parts);
        }
    }
    parts
}

/// Names what is in a stretch of code without hooks.
fn examine(
    code: &Code,
    section: &CodeSection,
    (from, to): (u64, u64),
    origins: &mut Origins<'_>,
    parts: &mut Vec<Part>,
) {
    let first = code.functions.partition_point(|function| function.address < from);
    let mut at = from;
    for (index, function) in code.functions.iter().enumerate().skip(first).take_while(|(_, next)| next.address < to) {
        let next = code.functions.get(index + 1).map_or(to, |next| next.address.min(to));
        let found = origins.of(function, next - function.address);
        nameless(code, section, (at, function.address.saturating_sub(found.before)), origins, parts);
        parts.extend(part(code, function, found.origin));
        at = function.address.saturating_add(found.size);
    }
    nameless(code, section, (at, to), origins, parts);
}

fn part(code: &Code, function: &CodeFunction, origin: Origin) -> Option<Part> {
    let unit = || code.others.iter().find(|unit| unit.code.contains(function.address));
    match origin {
        Origin::Runtime => None,
        Origin::System(path) => Some(Part::Library(shown(&path))),
        Origin::User(_) | Origin::Unknown if unit().is_some() => {
            unit().map(|unit| Part::File(shown(Path::new(&unit.name))))
        }
        Origin::User(name) => Some(Part::File(name)),
        Origin::Unknown => {
            let named = function.file.clone().filter(|file| !code.hooked_names.contains(file));
            Some(named.map_or_else(|| Part::Code(format!("function {}", function.name)), Part::File))
        }
    }
}

/// Code that no symbol names.
fn nameless(
    code: &Code,
    section: &CodeSection,
    (from, to): (u64, u64),
    origins: &mut Origins<'_>,
    parts: &mut Vec<Part>,
) {
    let offset = |address: u64| usize::try_from(address - section.address).unwrap_or(usize::MAX);
    let Some(bytes) = section.bytes.get(offset(from)..offset(to.max(from))) else { return };
    let mut rest = without_padding(bytes);
    while !rest.is_empty() {
        let address = to - rest.len() as u64;
        let unit = code.others.iter().find(|unit| unit.code.contains(address));
        let (origin, length) = origins.of_nameless(rest).unwrap_or((Origin::Unknown, rest.len()));
        parts.extend(match (origin, unit) {
            (Origin::Runtime, _) => None,
            (Origin::System(path), _) => Some(Part::Library(shown(&path))),
            (_, Some(unit)) => Some(Part::File(shown(Path::new(&unit.name)))),
            (Origin::User(name), None) => Some(Part::File(name)),
            (Origin::Unknown, None) => Some(Part::Code(format!("code at {address:#x}"))),
        });
        rest = without_padding(&rest[length..]);
    }
}

/// A path, relative to the working directory where it lies inside it.
fn shown(path: &Path) -> String {
    let directory = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}

/// Whether a pattern fits the name, or the name without directories.
fn is_trusted(name: &str, patterns: &[String]) -> bool {
    let fits = |pattern: &String| {
        let pattern = WildMatch::new(pattern);
        pattern.matches(name) || pattern.matches(code::base_name(name))
    };
    patterns.iter().any(fits)
}

/// Whether a part is of a kind.
type IsOfKind = fn(&Part) -> bool;

/// Says what counts; nothing if nothing does.
fn sentence(counted: &[&Part]) -> Option<String> {
    let names = |wanted: fn(&Part) -> bool| -> Vec<&str> {
        counted.iter().filter(|part| wanted(part)).map(|part| part.name()).collect()
    };
    let mut clauses = Vec::new();
    for name in names(|part| matches!(part, Part::Stripped(_))) {
        clauses.push(format!("{name} has no debug information that tells whether it was compiled with raddle"));
    }
    let kinds: [(&[&str; 2], IsOfKind); 3] = [
        (&["file was compiled without raddle", "files were compiled without raddle"], |part| {
            matches!(part, Part::File(_))
        }),
        (&["piece of code has no hooks of raddle", "pieces of code have no hooks of raddle"], |part| {
            matches!(part, Part::Code(_))
        }),
        (&["library was not built with raddle", "libraries were not built with raddle"], |part| {
            matches!(part, Part::Library(_))
        }),
    ];
    for ([one, several], wanted) in kinds {
        let names = names(wanted);
        let noun = if names.len() == 1 { one } else { several };
        if !names.is_empty() {
            clauses.push(format!("{} {noun}: {}", names.len(), enumerated(&names)));
        }
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

fn enumerated(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_the_path_or_the_name() {
        let trusted = |name: &str, pattern: &str| is_trusted(name, &[pattern.to_owned()]);
        assert!(trusted("src/a.c", "a.c") && trusted("src/a.c", "src/*") && trusted("src/a.c", "*.c"));
        assert!(!trusted("src/a.c", "b.c") && !trusted("src/a.c", "src"));
    }

    #[test]
    fn only_libraries_wait_for_strictness() {
        let (file, library) = (Part::File("a.c".into()), Part::Library("libz.so".into()));
        let strict = Trust { strict: true, ..Trust::default() };
        assert!(file.counts(&Trust::default()) && !library.counts(&Trust::default()) && library.counts(&strict));
        let trust = Trust { names: vec!["*".into()], ..strict.clone() };
        assert!(!file.counts(&trust) && !library.counts(&trust));
    }

    #[test]
    fn a_sentence_names_what_counts() {
        let files: Vec<Part> = (0..10).map(|number| Part::File(format!("{number}.c"))).collect();
        let of = |parts: &[Part]| sentence(&parts.iter().collect::<Vec<_>>());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&files[..1]).as_deref(), Some("1 file was compiled without raddle: 0.c"));
        assert_eq!(of(&files[..2]).as_deref(), Some("2 files were compiled without raddle: 0.c, 1.c"));
        assert!(of(&files).is_some_and(|text| text.ends_with("6.c, 7.c and 2 more")));
        let mixed = [Part::Code("function f".into()), Part::Library("libz.so".into())];
        let text = "1 piece of code has no hooks of raddle: function f; 1 library was not built with raddle: libz.so";
        assert_eq!(of(&mixed).as_deref(), Some(text));
    }
}
