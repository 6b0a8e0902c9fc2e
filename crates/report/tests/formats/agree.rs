//! Every format reports the same findings.

use prost::Message;
use raddle_model::finding::{Severity, Verdict};
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::bundle::ReportBundle;
use raddle_report::escape::clean;
use raddle_report::perfetto::PerfettoTrace;
use raddle_report::text::{self, SourceCache};
use raddle_report::{dot, html, json, junit, lines, perfetto, sarif, std_trace, tsan};
use serde_json::Value;

use super::sample;

/// Id, kind and message of a finding.
type Reported = (String, String, String);

fn expected(run: &ReportBundle) -> Vec<Reported> {
    let findings = run.report.findings.iter();
    findings.map(|finding| (finding.id.clone(), finding.kind.word().into(), finding.message.clone())).collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_string()
}

fn of_report(report: &Value) -> Vec<Reported> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|f| (text_of(&f["id"]), text_of(&f["kind"]), text_of(&f["message"]))).collect()
}

fn of_json(run: &ReportBundle) -> Vec<Reported> {
    let mut bytes = Vec::new();
    json::write(&run.report, &mut bytes).unwrap();
    of_report(&serde_json::from_slice(&bytes).unwrap())
}

fn of_sarif(run: &ReportBundle) -> Vec<Reported> {
    let document = sarif::render(run);
    let results = document["runs"][0]["results"].as_array().unwrap().clone();
    let told = |r: &Value| (text_of(&r["properties"]["id"]), text_of(&r["ruleId"]), text_of(&r["message"]["text"]));
    results.iter().map(told).collect()
}

/// The data in the page.
fn page_data(run: &ReportBundle) -> Value {
    let page = html::render(run);
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the program's text opens no block");
    serde_json::from_str(data).unwrap()
}

fn of_html(run: &ReportBundle) -> Vec<Reported> {
    of_report(&page_data(run)["report"])
}

#[test]
fn machine_formats_carry_every_name_unchanged() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let expected = expected(&run);
        assert_eq!(of_json(&run), expected);
        assert_eq!(of_sarif(&run), expected);
        assert_eq!(of_html(&run), expected);
        let traces: std::collections::BTreeMap<String, AnnotatedTrace> =
            serde_json::from_value(page_data(&run)["stories"].clone()).unwrap();
        assert_eq!(traces, run.traces);
    }
}

#[test]
fn perfetto_has_a_process_for_each_finding_with_a_track_for_each_thread() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let trace = PerfettoTrace::decode(&perfetto::render(&run)[..]).unwrap();
        let tracks = || trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
        let processes: Vec<String> =
            tracks().filter_map(|track| track.process.as_ref()?.process_name.clone()).collect();
        let expected: Vec<String> =
            expected(&run).into_iter().map(|(id, _, message)| format!("{id}: {message}")).collect();
        assert_eq!(processes, expected);
        let threads = tracks().filter(|track| track.thread.is_some()).count();
        assert_eq!(threads, 3 * run.report.findings.len());
        let events = |kind| {
            trace
                .packet
                .iter()
                .filter_map(|packet| packet.track_event.as_ref())
                .filter(|e| e.r#type == Some(kind))
                .count()
        };
        assert_eq!(events(1), events(2), "every slice that begins ends");
        let known: std::collections::BTreeSet<u64> = tracks().filter_map(|track| track.uuid).collect();
        assert_eq!(known.len(), tracks().count());
        for event in trace.packet.iter().filter_map(|packet| packet.track_event.as_ref()) {
            assert!(known.contains(&event.track_uuid.unwrap()));
        }
    }
}

#[test]
fn junit_is_xml_with_a_failure_for_each_cause_and_warnings_beside() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let text = junit::render(&run);
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let failures = document.descendants().filter(|node| node.has_tag_name("failure"));
        let told: Vec<(String, String)> = failures
            .map(|node| (node.attribute("type").unwrap().into(), node.attribute("message").unwrap().into()))
            .collect();
        let headlines = run.report.findings.iter().filter(|finding| finding.group.is_none());
        let errors = headlines.filter(|finding| finding.severity == Severity::Error);
        let expected: Vec<(String, String)> =
            errors.map(|f| (f.kind.word().into(), visible(&format!("{}: {}", f.id, f.message)))).collect();
        assert_eq!(told, expected);
        let first = document.descendants().find(|node| node.has_tag_name("failure")).and_then(|node| node.text());
        let followers = first.unwrap().split_once("  2 more places follow from it:\n").unwrap().1;
        let ids: Vec<&str> =
            followers.lines().filter_map(|line| line.strip_prefix("    ")?.split(':').next()).collect();
        assert!(ids.contains(&"r2") && ids.contains(&"c1"), "{followers}");
        let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        assert_eq!(cases.len(), 1);
        let beside = document.descendants().find(|node| node.has_tag_name("system-out")).unwrap();
        assert!(beside.text().unwrap().contains("warning[w1]"));
    }
    let open = junit::render(&sample::nothing(Verdict::Incomplete));
    assert!(open.contains("errors=\"1\"") && open.contains("<error type=\"time\""), "{open}");
    let fine = junit::render(&sample::nothing(Verdict::Verified));
    assert!(fine.contains("failures=\"0\" errors=\"0\"") && !fine.contains("<failure"), "{fine}");
}

/// Text as the XML has it: characters that XML cannot hold are written out.
fn visible(text: &str) -> String {
    clean(text).replace('\u{ffff}', "\\u{ffff}")
}

#[test]
fn dot_has_a_cluster_for_each_finding() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let text = dot::render(&run);
        let labels: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("    label=\"")?.strip_suffix("\";"))
            .map(|label| label.replace("\\\"", "\"").replace("\\\\", "\\"))
            .collect();
        let expected: Vec<String> = expected(&run)
            .into_iter()
            .map(|(id, _, message)| clean(&format!("{id}: {message}")).into_owned())
            .collect();
        assert_eq!(labels, expected);
        assert_eq!(text.matches("color=red, constraint=false").count(), run.report.findings.len());
        assert!(text.lines().all(quotes_are_closed), "{text}");
    }
}

fn quotes_are_closed(line: &str) -> bool {
    let mut open = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if open => drop(letters.next()),
            '"' => open = !open,
            _ => {}
        }
    }
    !open
}

#[test]
fn std_lines_come_back_and_end_with_the_accesses() {
    for name in sample::hostile().into_iter().filter(|name| !name.is_empty()) {
        let run = sample::run(&name);
        let text = std_trace::render(&run);
        let headers: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let expected: Vec<String> = expected(&run)
            .into_iter()
            .map(|(id, _, message)| clean(&format!("{id}: {message}")).into_owned())
            .collect();
        assert_eq!(headers, expected);
        let lines = std_trace::parse(&text).unwrap();
        let last = lines.last().unwrap();
        assert_eq!((last.thread.as_str(), last.operation.as_str(), last.operand.as_str()), ("T2", "r", name.as_str()));
        let again: String = lines.iter().map(|line| std_trace::written(line) + "\n").collect();
        assert_eq!(std_trace::parse(&again).unwrap(), lines);
    }
    let mut single = sample::run("plain");
    single.report.findings.truncate(1);
    assert!(!std_trace::render(&single).contains('#'));
}

/// All results of a group have one fingerprint, and the followers point to the headline.
#[test]
fn sarif_relates_followers_to_their_headline() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let results = sarif::render(&run)["runs"][0]["results"].as_array().unwrap().clone();
        let of = |id: &str| results.iter().find(|result| result["properties"]["id"] == id).unwrap();
        let group = |id: &str| of(id)["partialFingerprints"]["raddle/group/v1"].clone();
        assert_eq!(group("r1"), of("r1")["partialFingerprints"]["raddle/v1"]);
        for follower in ["r2", "c1"] {
            assert_eq!(group(follower), group("r1"));
            assert_eq!(of(follower)["properties"]["group"], "r1");
            let related = of(follower)["relatedLocations"].as_array().unwrap().last().unwrap().clone();
            let expected = format!("follows from r1: {}", run.report.findings[0].message);
            assert_eq!(related["message"]["text"], expected);
        }
        assert!(group("d1").is_null() && of("d1")["properties"]["group"].is_null());
    }
}

#[test]
fn text_folds_what_follows_below_its_headline() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let sources = SourceCache::new(std::path::Path::new("/nonexistent"));
        let groups: Vec<String> = run.groups().map(|(group, _)| group.headline.id.clone()).collect();
        assert_eq!(groups, ["r1", "d1", "a1", "l1", "h1", "w1"]);
        let (first, trace) = run.groups().next().unwrap();
        let timeline = trace.map(AnnotatedTrace::timeline);
        let text = text::group(&first, timeline.as_ref(), &sources, 100);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.contains("  follow  2 more places follow from it: 1 data race (r2), 1 crash (c1)\n"), "{plain}");
        assert!(plain.contains(&format!("  cause   {}\n", clean(&name))), "{plain}");
        let alone = text::finding(&run.report.findings[1], None, &sources, 100);
        assert!(anstream::adapter::strip_str(&alone).to_string().contains("  follows   from r1\n"), "{alone}");
        let summary = anstream::adapter::strip_str(&text::summary(&run.report, None)).to_string();
        assert!(summary.contains(": 5 errors, 1 warning (2 more places follow from them)\n"), "{summary}");
    }
}

#[test]
fn lines_report_each_headline_once() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let headlines = run.groups().count();
        let gcc = lines::gcc(&run);
        let is_headline = |line: &&str| line.contains(": error: ") || line.contains(": warning: ");
        assert!(gcc.lines().filter(is_headline).count() >= headlines, "{gcc}");
        assert!(gcc.contains(": note: 2 more places follow from it: 1 data race (r2), 1 crash (c1)"), "{gcc}");
        let github = lines::github(&run);
        assert_eq!(github.lines().count(), headlines, "{github}");
        for line in github.lines() {
            let (head, _) = line.split_once("::").unwrap().1.split_once("::").unwrap();
            assert!(["error ", "warning "].iter().any(|word| head.starts_with(word)), "{line}");
            assert!(head.contains("title=raddle "), "{line}");
        }
        for text in [gcc, github] {
            assert!(!text.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{text:?}");
        }
    }
    assert!(lines::gcc(&sample::nothing(Verdict::Verified)).is_empty());
}

#[test]
fn text_and_tsan_report_each_finding_once() {
    for name in sample::hostile() {
        let run = sample::run(&name);
        let sources = SourceCache::new(std::path::Path::new("/nonexistent"));
        for (finding, trace) in run.findings() {
            let timeline = trace.map(AnnotatedTrace::timeline);
            let text = text::finding(finding, timeline.as_ref(), &sources, 100);
            let plain = anstream::adapter::strip_str(&text).to_string();
            let level = if finding.severity == Severity::Error { "error" } else { "warning" };
            let start = format!("{level}[{}]: {}", finding.id, clean(&finding.message));
            assert!(plain.starts_with(start.trim_end()), "{plain}");
            for at in 0..trace.unwrap().events.len() {
                let step = anstream::adapter::strip_str(&text::step(trace.unwrap(), at, &sources)).to_string();
                assert!(!step.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{step:?}");
            }
        }
        let text = tsan::render(&run.report, 1);
        assert_eq!(text.matches("WARNING: ThreadSanitizer: ").count(), run.report.findings.len());
        assert_eq!(text.matches("SUMMARY: ThreadSanitizer: ").count(), run.report.findings.len());
        assert!(!text.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']));
    }
}
