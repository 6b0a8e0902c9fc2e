//! Every command in a block of a page is run, and prints what the page says that it prints. Every
//! command that a page names in a sentence exists, with its options.
//!
//! A block `c file=NAME` is written to NAME. In a block `console`, lines that start with `$ ` are
//! commands; the lines below must appear in what the command prints, in this order, each as the
//! start of a line or within one. All blocks of a page share a directory.

use std::path::{Path, PathBuf};

use crate::common::{Place, finish, for_each, raddle};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages that show commands: README, CONTRIBUTING, `docs` and its folders; sorted.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/guide", "docs/decisions"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    pages.sort();
    pages
}

/// A command of a page with what must follow.
#[derive(Debug)]
struct Example {
    line: usize,
    command: String,
    expected: Vec<String>,
}

/// What a page wants done.
#[derive(Debug)]
enum Part {
    File(String, String),
    Run(Example),
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        if let Some((_, name)) = info.split_once(" file=") {
            let text: String = block.iter().map(|(_, line)| format!("{line}\n")).collect();
            parts.push(Part::File(name.into(), text));
        } else if info == "console" {
            for (line, text) in block {
                match (text.strip_prefix("$ "), parts.last_mut()) {
                    (Some(command), _) => {
                        parts.push(Part::Run(Example { line: line + 1, command: command.into(), expected: vec![] }));
                    }
                    (None, Some(Part::Run(example))) => example.expected.push(text.into()),
                    (None, _) => panic!("line {}: output without a command", line + 1),
                }
            }
        }
    }
    parts
}

fn run(page: &Path) -> usize {
    let place = Place::new();
    std::fs::create_dir(place.path("bin")).unwrap();
    std::os::unix::fs::symlink(raddle(), place.path("bin/raddle")).unwrap();
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for part in parts(&std::fs::read_to_string(page).unwrap()) {
        match part {
            Part::File(name, text) => drop(place.write(&name, text)),
            Part::Run(example) => {
                let done = finish(place.command("bash").env("PATH", &path).arg("-c").arg(&example.command));
                let at = format!("{}:{}", page.display(), example.line);
                // A finding is 1 and an open answer 3; 2 says that the command is wrong.
                let fine = [Some(0), Some(1), Some(3)].contains(&done.code());
                assert!(fine, "{at}: {}", done.all());
                let output = format!("{}{}", done.stdout, done.stderr);
                let mut rest = output.lines();
                for expected in &example.expected {
                    let found = rest.any(|line| line.contains(expected.trim_end()));
                    assert!(found, "{at}: {expected:?} is not said, or not in this order: {}", done.all());
                }
                count += 1;
            }
        }
    }
    count
}

#[test]
fn pages_tell_the_truth() {
    for_each(&pages(), |page| {
        let result = std::panic::catch_unwind(|| run(page));
        result.map(|count| println!("{}: {count} commands", page.display())).map_err(|cause| {
            cause.downcast_ref::<String>().cloned().unwrap_or_else(|| format!("{} failed", page.display()))
        })
    });
}

/// Links between pages lead somewhere.
#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if !target.is_empty() && !target.contains("://") && !target.contains(' ') {
                assert!(page.parent().unwrap().join(target).exists(), "{}: {target}", page.display());
            }
        }
    }
}

/// Commands that a page names in a sentence: what is between backquotes, if it starts so.
fn named<'a>(page: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    page.split('`').skip(1).step_by(2).filter_map(move |text| text.strip_prefix(start))
}

/// What the pages name of `./x` is there.
#[test]
fn commands_of_x_that_are_named_exist() {
    let x = std::fs::read_to_string(root().join("x")).unwrap();
    let mut count = 0;
    for page in pages() {
        for words in named(&std::fs::read_to_string(&page).unwrap(), "./x ") {
            let command = words.split(' ').next().unwrap_or_default();
            assert!(x.contains(&format!("    {command}) ")), "{}: ./x {words}", page.display());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} commands were found");
}

/// What the pages name of the command is there, with its options, or is a command of the debugger.
#[test]
fn commands_that_are_named_exist() {
    let place = Place::new();
    let help = |words: &[&str]| finish(place.command(raddle()).args(words).arg("--help")).stdout;
    let (all, debugger) = (help(&[]), include_str!("../../src/gdb/raddle.py"));
    let mut count = 0;
    for page in pages() {
        for words in named(&std::fs::read_to_string(&page).unwrap(), "raddle ") {
            let at = format!("{}: raddle {words}", page.display());
            let command = words.split(' ').next().unwrap_or_default();
            if debugger.contains(&format!("\"raddle {command}\"")) {
                continue;
            }
            assert!(all.contains(&format!("  {command} ")), "{at}");
            // The options behind these are those of a compiler.
            if matches!(command, "cc" | "c++") {
                continue;
            }
            let known = if words.contains(" --") { help(&[command]) } else { String::new() };
            for option in words.split(' ').filter(|word| word.starts_with("--")) {
                assert!(known.contains(option), "{at}: there is no {option}");
            }
            count += 1;
        }
    }
    assert!(count > 30, "only {count} commands were found");
}

/// The tests that the page of limits names are there.
#[test]
fn tests_of_the_limits_exist() {
    let page = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let folders = ["", "tests/cases", "tests", "crates/cli/tests", "crates"];
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| limit"));
    let mut named = 0;
    for name in
        rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next()).flat_map(|tests| tests.split('`'))
    {
        if [".c", ".cpp", ".rs"].iter().any(|end| name.ends_with(end)) {
            let found = folders.iter().any(|folder| root().join(folder).join(name).is_file());
            assert!(found, "docs/limits.md names {name}, which does not exist");
            named += 1;
        }
    }
    assert!(named > 20, "only {named} tests were found in the tables");
}
