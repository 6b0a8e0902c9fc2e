//! JUnit XML: one test case per program, or per test of a program, with a failure for each cause.
//!
//! Written by hand: a library would drop the characters that XML cannot hold. Here they stay
//! visible.

use std::fmt::Write as _;

use raddle_model::finding::{Finding, Report, Severity, Verdict};

use crate::bundle::ReportBundle;
use crate::escape::{clean, is_unsafe};
use crate::groups::{FindingGroup, by_cause, follow};
use crate::tsan;

/// One test case.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The group that it belongs to.
    pub class: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its result.
    pub report: &'a Report,
}

/// The report as one test case.
#[must_use]
pub fn render(run: &ReportBundle) -> String {
    let mut name = run.report.program.clone();
    for argument in &run.report.args {
        name += &format!(" {argument}");
    }
    suite(&run.report.program, &[Case { class: "raddle", name: &name, report: &run.report }])
}

/// Several test cases as one suite.
#[must_use]
pub fn suite(name: &str, cases: &[Case<'_>]) -> String {
    let count = |wanted: fn(&Report) -> bool| cases.iter().filter(|case| wanted(case.report)).count();
    let failures = count(|report| report.verdict == Verdict::Bug);
    let errors = count(|report| report.verdict == Verdict::Incomplete);
    let seconds: f64 = cases.iter().map(|case| case.report.stats.seconds).sum();
    let figures = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\" time=\"{seconds:.3}\"",
        cases.len()
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(text, "<testsuites name=\"raddle\" {figures}>");
    let _ = writeln!(text, "  <testsuite name=\"{}\" {figures}>", attribute(name));
    for case in cases {
        one(&mut text, case);
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn one(text: &mut String, case: &Case<'_>) {
    let report = case.report;
    let _ = writeln!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
        attribute(case.class),
        attribute(case.name),
        report.stats.seconds
    );
    let counts = |finding: &&Finding| report.verdict == Verdict::Bug && finding.severity == Severity::Error;
    let errors = report.findings.iter().filter(counts).count();
    for group in by_cause(&report.findings) {
        // With --werror a warning alone decides the verdict.
        if counts(&group.headline) || (report.verdict == Verdict::Bug && errors == 0) {
            failure(text, &group, &report.program);
        }
    }
    if let Some(reason) = report.reason.as_ref().filter(|_| report.verdict == Verdict::Incomplete) {
        let (code, why) = (attribute(&reason.code), attribute(&reason.text));
        let _ = writeln!(text, "      <error type=\"{code}\" message=\"nothing found, but {why}\"/>");
    }
    let warnings: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.severity == Severity::Warning).collect();
    if !warnings.is_empty() {
        text.push_str("      <system-out>");
        for warning in warnings {
            let _ = writeln!(text, "warning[{}]: {}", content(&warning.id), content(&warning.message));
        }
        text.push_str("</system-out>\n");
    }
    text.push_str("    </testcase>\n");
}

/// One failure for each cause, with what follows from it at its end.
fn failure(text: &mut String, group: &FindingGroup<'_>, program: &str) {
    let finding = group.headline;
    let mut body = tsan::body(finding, program);
    if let Some(cause) = &finding.cause {
        let _ = writeln!(body, "  Cause: {}\n", clean(cause));
    }
    if !group.followers.is_empty() {
        let _ = writeln!(body, "  {}:", follow(group.followers.len(), 1));
    }
    for follower in &group.followers {
        let _ = writeln!(body, "    {}: {}", clean(&follower.id), clean(&follower.message));
    }
    let _ = writeln!(
        text,
        "      <failure type=\"{}\" message=\"{}: {}\">{}</failure>",
        finding.kind.word(),
        attribute(&finding.id),
        attribute(&finding.message),
        content(&body)
    );
}

/// Text inside an element; line breaks stay.
fn content(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

/// Text inside quotes: a line break would become a blank there.
fn attribute(text: &str) -> String {
    escaped(text, |_| false)
}

/// Characters that XML cannot hold, or would read as markup, become visible.
fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if keep(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{attribute, content};

    #[test]
    fn nothing_is_markup() {
        assert_eq!(attribute("a<b> \"&'\n\u{1}\u{ffff}"), "a&lt;b&gt; &quot;&amp;'\\n\\u{1}\\u{ffff}");
        assert_eq!(content("x\ny ]]>"), "x\ny ]]&gt;");
    }
}
