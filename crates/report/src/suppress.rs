//! Suppressions in ThreadSanitizer's syntax: lines `race:pattern`, with `*` for anything, `^` for
//! the start and `$` for the end of a name.

use raddle_model::finding::{Finding, Kind, Place};

use crate::symbols::is_own_code;
use crate::symbols::readable::readable;

/// What a suppression applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// Data races, by any frame, file or variable.
    Race,
    /// Data races, by the innermost frame.
    RaceTop,
    /// Misuse of locks.
    Mutex,
    /// Deadlocks.
    Deadlock,
    /// Threads that are not joined.
    Thread,
    /// Blocks that are freed in another way than they were allocated.
    AllocDeallocMismatch,
    /// Everything that a library calls.
    CalledFromLib,
}

/// One line.
#[derive(Clone, Debug)]
struct Suppression {
    about: About,
    pattern: String,
    line: usize,
    text: String,
    used: bool,
}

/// A file of suppressions.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    all: Vec<Suppression>,
}

/// Why a file of suppressions cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SuppressionError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Suppressions {
    /// Parses a file.
    ///
    /// # Errors
    /// The first line that is not a suppression.
    pub fn parse(text: &str) -> Result<Self, SuppressionError> {
        let mut all = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, text) = (index + 1, line.trim());
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let wrong = |what: &str| SuppressionError { line, what: what.into() };
            let (word, pattern) = text.split_once(':').ok_or_else(|| wrong("it is not of the form race:pattern"))?;
            let about = match word {
                "race" => About::Race,
                "race_top" => About::RaceTop,
                "mutex" => About::Mutex,
                "deadlock" => About::Deadlock,
                "thread" => About::Thread,
                "alloc_dealloc_mismatch" => About::AllocDeallocMismatch,
                "called_from_lib" => About::CalledFromLib,
                _ => {
                    return Err(wrong(
                        "it must start with race, race_top, mutex, deadlock, thread, alloc_dealloc_mismatch or \
                         called_from_lib",
                    ));
                }
            };
            if pattern.trim_matches(['*', '^', '$']).is_empty() {
                return Err(wrong("the pattern fits everything"));
            }
            // Names in reports have no parameter lists and no default arguments of templates.
            all.push(Suppression { about, pattern: readable(pattern), line, text: text.into(), used: false });
        }
        Ok(Suppressions { all })
    }

    /// Whether there are no suppressions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The first suppression that matches a finding; it counts as used.
    pub fn suppresses(&mut self, finding: &Finding) -> Option<&str> {
        let found = self.all.iter_mut().find(|suppression| suppression.fits(finding))?;
        found.used = true;
        Some(&found.text)
    }

    /// Numbers of the lines that matched something.
    pub fn used(&self) -> impl Iterator<Item = usize> {
        self.all.iter().filter(|suppression| suppression.used).map(|suppression| suppression.line)
    }

    /// The lines with these numbers count as used.
    pub fn mark_used(&mut self, lines: &[usize]) {
        for suppression in self.all.iter_mut().filter(|suppression| lines.contains(&suppression.line)) {
            suppression.used = true;
        }
    }

    /// Lines that matched nothing, with their numbers.
    pub fn unused(&self) -> impl Iterator<Item = (usize, &str)> {
        self.all.iter().filter(|suppression| !suppression.used).map(|one| (one.line, one.text.as_str()))
    }
}

impl Suppression {
    fn fits(&self, finding: &Finding) -> bool {
        let detail = finding.detail.as_deref().unwrap_or("");
        let about = match self.about {
            About::Race | About::RaceTop => finding.kind == Kind::DataRace,
            About::Deadlock => finding.kind == Kind::Deadlock,
            About::Thread => detail == "never-joined",
            About::CalledFromLib => true,
            About::AllocDeallocMismatch => detail == "alloc-dealloc-mismatch",
            About::Mutex => {
                let locks = ["mutex", "rwlock", "lock", "destroy", "reinit"];
                finding.kind == Kind::Misuse && locks.iter().any(|word| detail.contains(word))
            }
        };
        about && self.names(finding).any(|name| matches(&self.pattern, name))
    }

    /// The names in a finding that the pattern is matched against.
    fn names<'a>(&self, finding: &'a Finding) -> impl Iterator<Item = &'a str> {
        let top = self.about == About::RaceTop;
        let frames = finding.accesses.iter().flat_map(move |access| {
            let inner = std::iter::once(&access.place);
            inner.chain(access.stack.iter().take(if top { 0 } else { usize::MAX }))
        });
        let of_place = |place: &'a Place| [place.function.as_deref(), place.file.as_deref()].into_iter().flatten();
        let object = finding.object.as_ref().and_then(|object| object.name.as_deref());
        let variable = finding.variable.as_deref().into_iter().chain(object).filter(move |_| !top);
        frames.flat_map(of_place).chain(variable)
    }
}

/// A line that suppresses the finding: by its variable, if it has a name that stays, or by a
/// function. `None` if no line can.
#[must_use]
pub fn line_for(finding: &Finding) -> Option<String> {
    let about = [About::Race, About::Deadlock, About::Thread, About::Mutex];
    let words = ["race", "deadlock", "thread", "mutex"];
    let stays = |name: &&str| !name.is_empty() && !name.contains(['#', '[', '+', ' ']) && !name.starts_with("0x");
    let variable = finding.variable.as_deref().filter(|_| finding.kind == Kind::DataRace).filter(stays);
    let places = || finding.accesses.iter().flat_map(|access| std::iter::once(&access.place).chain(&access.stack));
    let function = || places().find(|place| is_own_code(place)).and_then(|place| place.function.as_deref());
    let pattern = readable(variable.or_else(function).filter(|name| !name.trim_matches(['*', '^', '$']).is_empty())?);
    let fits = |about: About| {
        let (text, pattern) = (String::new(), pattern.clone());
        Suppression { about, pattern, line: 0, text, used: false }.fits(finding)
    };
    let word = about.into_iter().zip(words).find(|(about, _)| fits(*about))?.1;
    Some(format!("{word}:{pattern}"))
}

/// Whether a pattern matches somewhere in a name.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, from_start) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let mut rest = if from_start {
        let Some(rest) = name.strip_prefix(first) else { return false };
        rest
    } else {
        let Some(at) = name.find(first) else { return false };
        &name[at + first.len()..]
    };
    let mut last = first;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = part;
    }
    // The last part may also occur further right.
    !to_end || rest.is_empty() || (name.ends_with(last) && (!from_start || pattern.contains('*')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::finding::AccessReport;

    #[test]
    fn patterns_are_those_of_threadsanitizer() {
        for (pattern, name, expected) in [
            ("foo", "a_foo_b", true),
            ("^foo", "a_foo", false),
            ("^foo", "foobar", true),
            ("foo$", "foobar", false),
            ("foo$", "foofoo", true),
            ("^foo$", "foo", true),
            ("^foo$", "foofoo", false),
            ("f*o", "a_fxxo_b", true),
            ("^f*o$", "fxo", true),
            ("^f*o$", "fxox", false),
            ("std::*::push", "std::vector<int>::push_back", true),
            ("*bar", "foobar", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    fn race() -> Finding {
        let frame = |function: &str| Place {
            file: Some("src/bank.c".into()),
            function: Some(function.into()),
            ..Place::default()
        };
        let access = AccessReport {
            place: frame("deposit"),
            stack: vec![frame("deposit"), frame("teller")],
            ..AccessReport::default()
        };
        raddle_testkit::finding::race(vec![access])
    }

    #[test]
    fn races_are_known_by_frame_file_or_variable() {
        for (line, expected) in [
            ("race:^teller$", true),
            ("race:bank.c", true),
            ("race:balance", true),
            ("race_top:deposit", true),
            ("race_top:teller", false),
            ("deadlock:teller", false),
            ("mutex:teller", false),
            ("called_from_lib:teller", true),
        ] {
            let mut suppressions = Suppressions::parse(&format!("# x\n\n{line}\nrace:unused\n")).unwrap();
            assert_eq!(suppressions.suppresses(&race()).is_some(), expected, "{line}");
            let unused: Vec<usize> = suppressions.unused().map(|(line, _)| line).collect();
            assert_eq!(unused, if expected { vec![4] } else { vec![3, 4] });
        }
    }

    #[test]
    fn names_may_be_written_in_full() {
        let mut finding = race();
        finding.accesses[0].stack[1].function = Some("bank::Teller<std::string>::run".into());
        let text = "race:bank::Teller<std::__cxx11::basic_string<char, std::char_traits<char>, \
            std::allocator<char> > >::run(int)";
        assert!(Suppressions::parse(text).unwrap().suppresses(&finding).is_some());
    }

    #[test]
    fn the_line_for_a_finding_suppresses_it() {
        let finding = race();
        let line = line_for(&finding).unwrap();
        assert_eq!(line, "race:balance");
        assert!(Suppressions::parse(&line).unwrap().suppresses(&finding).is_some());
        let nameless = Finding { variable: Some("heap#1+8".into()), ..finding };
        assert_eq!(line_for(&nameless).as_deref(), Some("race:deposit"));
        let deadlock = Finding { kind: Kind::Deadlock, ..nameless };
        assert_eq!(line_for(&deadlock).as_deref(), Some("deadlock:deposit"));
        let crash = Finding { kind: Kind::Crash, ..deadlock };
        assert_eq!(line_for(&crash), None);
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for text in ["race", "frob:x", "race:*", "race:"] {
            assert_eq!(Suppressions::parse(&format!("race:x\n{text}")).unwrap_err().line, 2, "{text}");
        }
    }
}
