//! Test frameworks: which one a program uses, its test cases, how one of them is run alone, and
//! what the framework says when an expectation fails.
//!
//! A program is recognised by the names of the framework's types, which it holds even if it is
//! stripped. What is said is read from the output of the witness run: no framework has to be built
//! in a special way.

mod listing;
mod words;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
pub use words::Expectation;

/// A test framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// GoogleTest.
    GoogleTest,
    /// Catch2.
    Catch2,
    /// doctest.
    Doctest,
    /// Boost.Test.
    BoostTest,
}

/// One test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// The suite that it belongs to, where there are suites.
    pub suite: String,
    /// Its own name.
    pub name: String,
}

impl Framework {
    /// All of them.
    pub const ALL: [Framework; 4] =
        [Framework::GoogleTest, Framework::Catch2, Framework::Doctest, Framework::BoostTest];

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Framework::GoogleTest => "GoogleTest",
            Framework::Catch2 => "Catch2",
            Framework::Doctest => "doctest",
            Framework::BoostTest => "Boost.Test",
        }
    }

    /// A part of a mangled name that each program with the framework holds.
    fn mark(self) -> &'static [u8] {
        match self {
            Framework::GoogleTest => b"N7testing4TestE",
            Framework::Catch2 => b"N5Catch",
            Framework::Doctest => b"N7doctest",
            Framework::BoostTest => b"N5boost9unit_test",
        }
    }

    /// The framework that a program uses, if it is one of these.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_program(program: &Path) -> Result<Option<Self>, Error> {
        let file = std::fs::File::open(program).map_err(|error| Error::file(program, error))?;
        let is_there = marks_in(file).map_err(|error| Error::file(program, error))?;
        Ok(Self::ALL.into_iter().zip(is_there).find_map(|(framework, is_there)| is_there.then_some(framework)))
    }

    /// Asks a program for its test cases. The command is the program with the arguments of the
    /// user.
    ///
    /// # Errors
    /// If it cannot be run, or lists none.
    pub fn list(self, mut command: Command) -> Result<Vec<TestCase>, Error> {
        let program = Path::new(command.get_program()).to_path_buf();
        let output = command.args(self.listing()).stdin(Stdio::null()).output();
        let output = output.map_err(|error| Error::file(&program, error))?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let cases = listing::parse(self, &text[0], &text[1]);
        if cases.is_empty() { Err(Error::NoTests(program, self.name())) } else { Ok(cases) }
    }

    fn listing(self) -> &'static [&'static str] {
        match self {
            Framework::GoogleTest => &["--gtest_list_tests"],
            Framework::Catch2 => &["--list-tests", "--verbosity", "quiet"],
            Framework::Doctest => &["--list-test-cases", "--no-colors=1"],
            Framework::BoostTest => &["--list_content=HRF"],
        }
    }

    /// Arguments that run one test case, in a way that its failure is seen.
    #[must_use]
    pub fn arguments(self, case: &TestCase) -> Vec<OsString> {
        let name = case.full_name(self);
        let escaped = |special: &[char]| {
            let escape = |c: char| if special.contains(&c) { format!("\\{c}") } else { c.to_string() };
            name.chars().map(escape).collect::<String>()
        };
        let filter = match self {
            Framework::GoogleTest => format!("--gtest_filter={name}"),
            Framework::Catch2 => escaped(&[',', '[', '"', '\\', '*']),
            Framework::Doctest => format!("--test-case={}", escaped(&[',', '\\'])),
            Framework::BoostTest => format!("--run_test={name}"),
        };
        std::iter::once(filter).chain(self.options().map(String::from)).map(Into::into).collect()
    }

    /// Arguments with which a failure is seen, and said in a form that [`Framework::expectation`]
    /// reads.
    pub fn options(self) -> impl Iterator<Item = &'static str> {
        let all: &'static [&'static str] = match self {
            // A failure becomes an exception at the place of the expectation, and GoogleTest must
            // not catch it on the way.
            Framework::GoogleTest => &["--gtest_throw_on_failure=1", "--gtest_catch_exceptions=0", "--gtest_color=no"],
            Framework::Catch2 => &["--reporter", "compact", "--rng-seed", "1"],
            Framework::Doctest => &["--no-colors=1", "--no-breaks=1", "--no-intro=1", "--no-version=1"],
            Framework::BoostTest => {
                &["--log_level=error", "--report_level=no", "--color_output=no", "--catch_system_errors=no"]
            }
        };
        all.iter().copied()
    }

    /// The first expectation that failed, in what the program wrote.
    #[must_use]
    pub fn expectation(self, written: &str) -> Option<Expectation> {
        words::find(self, written)
    }
}

impl TestCase {
    /// The name by which the framework knows it.
    #[must_use]
    pub fn full_name(&self, framework: Framework) -> String {
        match (framework, self.suite.as_str()) {
            (Framework::GoogleTest, suite) => format!("{suite}.{}", self.name),
            (Framework::BoostTest, suite) if !suite.is_empty() => format!("{suite}/{}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Which of the marks a file holds, read piece by piece.
fn marks_in(mut file: impl Read) -> io::Result<[bool; Framework::ALL.len()]> {
    const PIECE: usize = 1 << 20;
    let longest = Framework::ALL.iter().map(|framework| framework.mark().len()).max().unwrap_or(0);
    let mut found = [false; Framework::ALL.len()];
    let (mut buffer, mut kept) = (vec![0; longest + PIECE], 0);
    loop {
        let read = file.read(&mut buffer[kept..])?;
        if read == 0 {
            return Ok(found);
        }
        let filled = &buffer[..kept + read];
        for (framework, found) in Framework::ALL.iter().zip(&mut found) {
            *found = *found || memchr::memmem::find(filled, framework.mark()).is_some();
        }
        // A mark may lie across two pieces.
        let end = kept + read;
        kept = end.min(longest);
        buffer.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_across_pieces() {
        let mut bytes = vec![b'x'; (1 << 20) + 4];
        bytes.extend_from_slice(b"_ZTIN7testing4TestE");
        assert_eq!(marks_in(&bytes[..]).unwrap(), [true, false, false, false]);
        assert_eq!(marks_in(&b"N7doctest"[..]).unwrap(), [false, false, true, false]);
        assert_eq!(marks_in(&b""[..]).unwrap(), [false; 4]);
    }

    #[test]
    fn names_are_escaped_for_the_framework() {
        let case = |suite: &str, name: &str| TestCase { suite: suite.into(), name: name.into() };
        let first = |framework: Framework, case: &TestCase| framework.arguments(case).remove(0);
        assert_eq!(first(Framework::GoogleTest, &case("A/B", "c/0")), "--gtest_filter=A/B.c/0");
        assert_eq!(first(Framework::Catch2, &case("", "adds, [x] \"y\"")), "adds\\, \\[x] \\\"y\\\"");
        assert_eq!(first(Framework::Doctest, &case("", "a, b")), "--test-case=a\\, b");
        assert_eq!(first(Framework::BoostTest, &case("outer/inner", "c")), "--run_test=outer/inner/c");
    }
}
