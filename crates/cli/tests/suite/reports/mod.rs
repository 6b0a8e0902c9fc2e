//! Reports of real runs: every format, the live view, and the page in a real browser.

mod browser;
mod debugger;
mod decides;
mod live;

use std::io::Write;
use std::process::Stdio;

use crate::common::{Done, Place, finish, raddle};

/// The program that `raddle demo` writes.
const BANK: &str = include_str!("../../../src/demo/bank.c");

/// A place in which the demo was checked.
fn checked(options: &[&str]) -> (Place, Done) {
    let place = Place::new();
    place.write("bank.c", BANK);
    let mut words = vec!["check"];
    words.extend(options);
    words.push("bank.c");
    let done = place.raddle(&words);
    (place, done)
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn one_check_writes_what_report_writes_later() {
    let (place, done) = checked(&["--sarif", "a.sarif", "--junit", "a.xml", "--html", "a.html", "--json", "a.json"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    for (format, file) in [("sarif", "a.sarif"), ("junit", "a.xml"), ("html", "a.html"), ("json", "a.json")] {
        let again = place.raddle(["report", "--format", format]);
        assert_eq!(again.code(), Some(0), "{}", again.all());
        assert_eq!(again.stdout, read(&place, file), "{format}");
    }
    let text = place.raddle(["report"]);
    assert!(done.stdout.contains(text.stdout.lines().next().unwrap()), "{}", text.all());
    for format in ["text", "tsan", "gcc", "github", "dot", "std", "perfetto"] {
        let shown = place.raddle(["show", "--format", format]);
        assert_eq!(shown.code(), Some(0), "{}", shown.all());
        assert!(shown.stdout.contains("account.balance") || format == "tsan", "{}", shown.all());
    }
    let std = place.raddle(["report", "bank", "--finding", "r1", "--format", "std"]);
    assert!(
        std.stdout.ends_with("T1|w(account.balance)|bank.c:18\nT2|r(account.balance)|bank.c:15\n"),
        "{}",
        std.all()
    );
    for (words, what) in [
        (&["report", "--finding", "r9"][..], "no finding r9; it has: r1"),
        (&["report", "/no/such"], "there is no such run"),
        (&["show", "nothing"], "there is no such run"),
        (&["report", "--format", "pdf"], "invalid value"),
    ] {
        let refused = place.raddle(words);
        assert_eq!(refused.code(), Some(2), "{}", refused.all());
        assert!(refused.stderr.contains(what), "{}", refused.all());
    }
}

#[test]
fn the_terminal_steps_through_the_schedule() {
    let (place, _) = checked(&["--quiet"]);
    let mut child =
        place.command(raddle()).args(["show", "r1"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"s\n1\n2\ng\nq\nn\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let steps: Vec<&str> = text.lines().filter(|line| line.contains("/8 T")).collect();
    let expected = [
        "1/8 T0  start  (--break-at 1)",
        "4/8 T1  start  (--break-at 4)",
        "7/8 T1  (1) write account.balance",
        "8/8 T2  (2) read account.balance",
        "1/8 T0  start  (--break-at 1)",
    ];
    assert_eq!(steps, expected, "{text}");
    assert!(text.contains("18 >     from->balance -= amount;"), "{text}");
    assert!(text.contains("holds account.lock"), "{text}");
    let one = place.raddle(["show", "--step", "5"]);
    assert!(one.stdout.starts_with("5/8 T1  lock account.lock"), "{}", one.all());
    assert_eq!(place.raddle(["show", "--step", "9"]).code(), Some(2));
}

#[test]
fn options_come_from_file_variable_and_flag_in_that_order() {
    let place = Place::new();
    place.write("bank.c", BANK);
    place.write("raddle.toml", "json = \"from-file.json\"\nquiet = true\nmax_executions = 5\n");
    place.raddle(["check", "bank.c"]);
    assert!(place.path("from-file.json").exists());
    let mut command = place.command(raddle());
    command.args(["check", "bank.c", "--max-executions", "7"]).env("RADDLE_OPTIONS", "json=from-variable.json");
    let done = finish(command.env("RADDLE_FROBNICATE", "1"));
    assert!(place.path("from-variable.json").exists(), "{}", done.all());
    assert!(done.stderr.contains("warning: RADDLE_FROBNICATE means nothing"), "{}", done.all());
    place.write("raddle.toml", "frobnicate = 1\n");
    let refused = place.raddle(["check", "bank.c"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.stderr.contains("raddle.toml: there is no option frobnicate"), "{}", refused.all());
}

/// Names of files, functions and threads come from the program; all formats take them as they are.
#[test]
fn hostile_names_of_a_real_program_come_out_right() {
    let place = Place::new();
    let name = "a \"<b>'&\n%s.c";
    let text = BANK
        .replace("(void)unused;", "(void)unused; pthread_setname_np(pthread_self(), \"<i>\\n\\\"x\\xff\");")
        .replace("#include <assert.h>", "#define _GNU_SOURCE\n#include <assert.h>");
    place.write(name, text);
    let done = place.raddle(["check", "--html", "a.html", "--sarif", "a.sarif", "--junit", "a.xml", name]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    assert!(!done.stdout.contains("%s.c\n"), "{}", done.all());
    let sarif: serde_json::Value = serde_json::from_str(&read(&place, "a.sarif")).unwrap();
    let uri = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "a%20%22%3Cb%3E%27%26%0A%25s.c");
    let flow = &sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"];
    assert!(flow.to_string().contains("<i>\\n\\\"x\u{fffd}"), "{flow}");
    assert_eq!(read(&place, "a.html").matches("<script").count(), 2);
    assert!(!read(&place, "a.xml").contains("<b>"));
    for format in ["dot", "std", "perfetto", "tsan", "gcc", "github", "text", "json"] {
        assert_eq!(place.raddle(["report", "--format", format]).code(), Some(0), "{format}");
    }
}

/// Each error of the heap in functions of their own.
const HEAP: &str = r#"
#include <stdlib.h>
static char *block;
static void make(void) { block = malloc(16); }
static void drop(char *what) { free(what); }
static int look(int at) { return block[at]; }
int main(int count, char **words) {
    (void)words;
    make();
#if defined FREED
    drop(block);
    return look(count) == 77;
#elif defined BEHIND
    int found = look(count + 15) == 77;
    drop(block);
    return found;
#elif defined TWICE
    drop(block);
    drop(block);
#else
    char *kept = block;
    drop(block + 8);
    drop(kept);
#endif
    return 0;
}
"#;

#[test]
fn errors_of_the_heap_have_the_stacks_of_all_that_took_part() {
    let place = Place::new();
    place.write("heap.c", HEAP);
    for (flag, detail, stacks) in [
        ("-DFREED", "use-after-free", &["look", "drop", "make"][..]),
        ("-DBEHIND", "out-of-bounds", &["look", "make"]),
        ("-DTWICE", "double-free", &["drop", "drop", "make"]),
        ("-DWITHIN", "bad-free", &["drop", "make"]),
    ] {
        let done = place.raddle(["check", "--cflags", flag, "--json", "a.json", "--html", "a.html", "heap.c"]);
        assert_eq!(done.code(), Some(1), "{}", done.all());
        let report: serde_json::Value = serde_json::from_str(&read(&place, "a.json")).unwrap();
        let page = read(&place, "a.html");
        let start = page.find("\"findings\":").expect("the page holds the report");
        let in_page = serde_json::Deserializer::from_str(&page[start + "\"findings\":".len()..])
            .into_iter::<serde_json::Value>()
            .next()
            .unwrap()
            .unwrap();
        for findings in [&report["findings"], &in_page] {
            assert_eq!(findings[0]["detail"], detail, "{flag}");
            let accesses = findings[0]["accesses"].as_array().unwrap();
            let functions = |access: &serde_json::Value| {
                let frames = access["stack"].as_array().unwrap();
                frames.iter().take(2).map(|frame| frame["function"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            let found: Vec<Vec<String>> = accesses.iter().map(functions).collect();
            let expected: Vec<Vec<String>> =
                stacks.iter().map(|function| vec![(*function).to_owned(), "main".to_owned()]).collect();
            assert_eq!(found, expected, "{flag}");
        }
        for (number, function) in stacks.iter().enumerate() {
            let head = format!("  ({}) T0\n      {function}  heap.c:", number + 1);
            assert!(done.stdout.contains(&head), "{flag}: {}", done.all());
        }
    }
}
