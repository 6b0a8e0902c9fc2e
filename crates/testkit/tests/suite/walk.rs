//! Files and functions that the pages for contributors name exist.

use crate::{assert_none, read, root};

/// Pages that name files.
const PAGES: [&str; 4] = ["CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/decisions/README.md"];

/// Words in backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(word: &str) -> bool {
    ["crates/", "docs/", "tests/", "fuzz/", "bench/", "share/"].iter().any(|start| word.starts_with(start))
        && !word.contains(['<', '*', ' '])
}

#[test]
fn files_that_are_named_exist() {
    let mut wrong = Vec::new();
    for page in PAGES {
        for (number, line) in read(&root().join(page)).lines().enumerate() {
            let missing = quoted(line).filter(|word| is_path(word) && !root().join(word).exists());
            wrong.extend(missing.map(|word| format!("{page}:{}: {word}", number + 1)));
        }
    }
    assert_none(&wrong);
}

/// Rows of the code walk, `| step | files | functions |`, name functions of the files.
#[test]
fn functions_of_the_code_walk_exist() {
    let page = read(&root().join("docs/architecture.md"));
    let walk = page.split_once("\n## Code walk").expect("there is a code walk").1;
    let walk = walk.split("\n## ").next().unwrap_or(walk);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in walk.lines().filter(|line| line.contains("`crates/")) {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, _, files, functions, _] = cells[..] else { panic!("not three cells: {line}") };
        let text: String = quoted(files).map(|path| read(&root().join(path))).collect();
        for name in quoted(functions) {
            let name = name.rsplit("::").next().unwrap_or(name);
            count += 1;
            if !text.contains(&format!("fn {name}")) {
                wrong.push(format!("{name} in {files}"));
            }
        }
    }
    assert!(count > 20, "only {count} functions are named");
    assert_none(&wrong);
}
