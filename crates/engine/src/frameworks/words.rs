//! What frameworks say of an expectation that failed.

use super::Framework;

/// Lines of what is said that are kept.
const MOST_LINES: usize = 24;

/// An expectation that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The file that it stands in.
    pub file: String,
    /// The line.
    pub line: u32,
    /// What the framework says, without the place.
    pub text: String,
}

impl Expectation {
    /// What is said, in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut sentence = String::new();
        for line in self.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let joint = match sentence.chars().last() {
                None => "",
                Some(':' | ',') => " ",
                Some(_) => ", ",
            };
            sentence.push_str(joint);
            sentence.push_str(line);
        }
        sentence
    }
}

/// The first one in what a program wrote.
pub(super) fn find(framework: Framework, written: &str) -> Option<Expectation> {
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        if let Some((file, number, rest)) = place(line)
            && let Some(first) = said(framework, rest)
        {
            let more = lines.clone().take_while(|line| goes_on(framework, line)).take(MOST_LINES);
            let text: Vec<&str> = std::iter::once(first).chain(more).filter(|line| !line.trim().is_empty()).collect();
            return Some(Expectation { file: file.into(), line: number, text: text.join("\n") });
        }
    }
    None
}

/// `file:12: rest` or `file(12): rest`.
fn place(line: &str) -> Option<(&str, u32, &str)> {
    let of = |at: usize, open: char| {
        let (file, rest) = line.split_at(at);
        let rest = &rest[1..];
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number = rest[..digits].parse().ok()?;
        let end = if open == '(' { "): " } else { ": " };
        let rest = rest[digits..].strip_prefix(end)?;
        (!file.is_empty()).then_some((file, number, rest))
    };
    line.char_indices().filter(|(_, c)| matches!(c, ':' | '(')).find_map(|(at, open)| of(at, open))
}

/// What is said behind the place, if an expectation failed there.
fn said(framework: Framework, rest: &str) -> Option<&str> {
    match framework {
        Framework::GoogleTest => (rest == "Failure").then_some(""),
        Framework::Catch2 => rest.strip_prefix("failed: "),
        Framework::Doctest => rest.strip_prefix("ERROR: ").or_else(|| rest.strip_prefix("FATAL ERROR: ")),
        Framework::BoostTest => rest.strip_prefix("error: ").or_else(|| rest.strip_prefix("fatal error: ")),
    }
}

/// Whether a line belongs to what was said before it.
fn goes_on(framework: Framework, line: &str) -> bool {
    match framework {
        Framework::GoogleTest => !line.is_empty() && !line.starts_with('[') && !line.starts_with("terminate called"),
        Framework::Doctest => line.starts_with("  "),
        Framework::Catch2 | Framework::BoostTest => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(framework: Framework, written: &str) -> (String, u32, String) {
        let found = find(framework, written).unwrap();
        (found.file.clone(), found.line, found.sentence())
    }

    #[test]
    fn google_test() {
        let written = "[ RUN      ] Pool.Idle\n/src/pool_test.cpp:19: Failure\nExpected equality of these values:\n  \
                       done\n    Which is: 1\n  2\na task is still running\n\n[  FAILED  ] Pool.Idle\n";
        let sentence = "Expected equality of these values: done, Which is: 1, 2, a task is still running";
        assert_eq!(found(Framework::GoogleTest, written), ("/src/pool_test.cpp".into(), 19, sentence.into()));
    }

    #[test]
    fn catch2() {
        let written = "t.cpp:11: failed: n.load() == 3 for: 2 == 3\nFailed 1 test case, failed 1 assertion.\n";
        let expected = ("t.cpp".into(), 11, "n.load() == 3 for: 2 == 3".into());
        assert_eq!(found(Framework::Catch2, written), expected);
    }

    #[test]
    fn doctest() {
        let written = "t.cpp:6:\nTEST CASE:  adds\n\nt.cpp:11: ERROR: CHECK( n == 3 ) is NOT correct!\n  values: \
                       CHECK( 2 == 3 )\n\n===\n";
        let sentence = "CHECK( n == 3 ) is NOT correct!, values: CHECK( 2 == 3 )";
        assert_eq!(found(Framework::Doctest, written), ("t.cpp".into(), 11, sentence.into()));
    }

    #[test]
    fn boost() {
        let written = "Running 1 test case...\nt.cpp(12): error: in \"a/b\": check n == 3 has failed [2 != 3]\n";
        let sentence = "in \"a/b\": check n == 3 has failed [2 != 3]";
        assert_eq!(found(Framework::BoostTest, written), ("t.cpp".into(), 12, sentence.into()));
    }

    #[test]
    fn what_says_nothing_is_nothing() {
        for framework in Framework::ALL {
            for written in ["", "ok\n", "a:b:c", "(", ":1: Failure", "x:99999999999: Failure", "x(1: error: y"] {
                assert_eq!(find(framework, written), None, "{written}");
            }
        }
    }
}
