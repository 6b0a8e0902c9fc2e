//! How frameworks list their test cases.

use super::{Framework, TestCase};

/// The test cases in a listing: standard output, and standard error, which Boost.Test uses.
pub(super) fn parse(framework: Framework, output: &str, error: &str) -> Vec<TestCase> {
    match framework {
        Framework::GoogleTest => google_test(output),
        Framework::Catch2 => catch2(output),
        Framework::Doctest => doctest(output),
        Framework::BoostTest => boost(&format!("{output}{error}")),
    }
}

fn case(suite: &str, name: &str) -> TestCase {
    TestCase { suite: suite.into(), name: name.into() }
}

/// Suites stand at the margin and end with a dot, their tests are indented. Comments follow `#`.
/// Disabled tests are left out.
fn google_test(listing: &str) -> Vec<TestCase> {
    let mut suite: Option<String> = None;
    let mut cases = Vec::new();
    for line in listing.lines() {
        let text = line.split('#').next().unwrap_or("").trim_end();
        match (text.strip_prefix("  "), &suite) {
            (Some(name), Some(suite)) => cases.push(case(suite, name.trim())),
            _ => suite = text.strip_suffix('.').filter(|name| !name.contains(' ')).map(String::from),
        }
    }
    let is_disabled = |name: &str| name.split('/').any(|part| part.starts_with("DISABLED_"));
    cases.retain(|case| !is_disabled(&case.suite) && !is_disabled(&case.name));
    cases
}

/// Version 3 writes a name in each line. Version 2 has a heading, indents names by two and tags by
/// more, and ends with the number of cases.
fn catch2(listing: &str) -> Vec<TestCase> {
    let mut lines = listing.lines().filter(|line| !line.trim().is_empty()).peekable();
    let has_heading = lines.peek().is_some_and(|line| line.ends_with("test cases:"));
    if !has_heading {
        return lines.map(|name| case("", name.trim_end())).collect();
    }
    let name = |line: &str| {
        let name = line.strip_prefix("  ")?;
        (!name.starts_with(' ')).then(|| case("", name.trim_end()))
    };
    lines.filter_map(name).collect()
}

/// Names stand between two lines of `=`.
fn doctest(listing: &str) -> Vec<TestCase> {
    let is_rule = |line: &&str| line.len() > 9 && line.bytes().all(|byte| byte == b'=');
    let behind = listing.lines().skip_while(|line| !is_rule(line)).skip(1);
    behind.take_while(|line| !is_rule(line)).filter(|line| !line.is_empty()).map(|name| case("", name)).collect()
}

/// A tree, indented by four. A star marks what runs by default.
fn boost(listing: &str) -> Vec<TestCase> {
    let entry = |line: &str| {
        let name = line.trim_start();
        let depth = (line.len() - name.len()) / 4;
        let word = name.split(':').next().unwrap_or("").trim_end();
        let is_enabled = word.ends_with('*');
        (!word.is_empty()).then(|| (depth, word.trim_end_matches('*').to_string(), is_enabled))
    };
    let entries: Vec<_> = listing.lines().filter_map(entry).collect();
    let (mut path, mut cases) = (Vec::<&str>::new(), Vec::new());
    for (index, (depth, name, is_enabled)) in entries.iter().enumerate() {
        path.truncate(*depth);
        let is_suite = entries.get(index + 1).is_some_and(|(next, ..)| next > depth);
        if is_suite {
            path.push(name);
        } else if *is_enabled {
            cases.push(case(&path.join("/"), name));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(framework: Framework, output: &str, error: &str) -> Vec<String> {
        parse(framework, output, error).iter().map(|case| case.full_name(framework)).collect()
    }

    #[test]
    fn google_test_lists_suites() {
        let listing = "Running main() from gtest_main.cc\nBank.\n  Deposit\n  DISABLED_Slow\n\
                       Sizes/Pool.  # TypeParam = int\n  Take/0  # GetParam() = 1\n";
        assert_eq!(names(Framework::GoogleTest, listing, ""), ["Bank.Deposit", "Sizes/Pool.Take/0"]);
        assert!(names(Framework::GoogleTest, "hello\nworld", "").is_empty());
    }

    #[test]
    fn catch2_lists_names() {
        let second = "All available test cases:\n  adds, twice\n  locks [x]\n      [fast]\n2 test cases\n\n";
        assert_eq!(names(Framework::Catch2, second, ""), ["adds, twice", "locks [x]"]);
        assert_eq!(names(Framework::Catch2, "adds, twice\nlocks [x]\n", ""), ["adds, twice", "locks [x]"]);
    }

    #[test]
    fn doctest_lists_names_between_rules() {
        let rule = "=".repeat(79);
        let listing = format!("[doctest] listing all test case names\n{rule}\nadds\nguarded*\n{rule}\n[doctest] 2\n");
        assert_eq!(names(Framework::Doctest, &listing, ""), ["adds", "guarded*"]);
        assert!(names(Framework::Doctest, "nothing", "").is_empty());
    }

    #[test]
    fn boost_lists_a_tree_to_standard_error() {
        let listing = "adding*\n    twice*\n    inner*: words\n        deep*\n    off\nguarded*\n";
        assert_eq!(names(Framework::BoostTest, "", listing), ["adding/twice", "adding/inner/deep", "guarded"]);
    }
}
