//! Mutated scripts: an error has its position, an endless check ends with its budget, and nothing
//! panics.

use std::fmt::Write as _;

use raddle_csp::cspm::{AssertionVerdict, check_file};
use raddle_csp::{CheckError, LimitReached, Limits};
use raddle_testkit::effort::sample;

const SCRIPTS: [&str; 3] = [
    include_str!("models/listing_1_1.csp"),
    include_str!("models/threads.csp"),
    "channel c : {0..2}\nchannel d\nP(n) = n < 3 & c!n -> P(n + 1) [] d -> SKIP\n\
     Q = (P(0) ; Q) [[d <- c.0]] \\ {| c |}\n\
     f(<>) = 0\nf(<x>^s) = 1 + f(s)\nassert P(f(<1, 2>)) [T= STOP\nassert Q :[deadlock free]\n",
];

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }
}

/// Breaks a script in one of many ways.
fn broken(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (one, two) = (dice.below(lines.len()), dice.below(lines.len()));
    let pieces =
        ["(", "[|", "{-", "<", "999999999999", "->", "let", "|||", "\u{0}", "é", "[T=", "if 1 then", "[[", "."];
    match dice.below(8) {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => return text.chars().take(dice.below(text.len())).collect(),
        2 => lines.insert(one, lines[two].clone()),
        3 => drop(lines.remove(one)),
        4 => lines.swap(one, two),
        5 => lines[one] = lines[one].replace(['0', '1', '2'], "9223372036854775807"),
        6 => {
            let piece = pieces[dice.below(pieces.len())].repeat(1 + dice.below(400));
            let characters: Vec<char> = lines[one].chars().collect();
            let (start, end) = characters.split_at(dice.below(characters.len() + 1));
            lines[one] =
                start.iter().chain([' '].iter()).collect::<String>() + &piece + &end.iter().collect::<String>();
        }
        _ => {
            // Words change their places.
            let words: Vec<&str> = lines[one].split(' ').collect();
            let at = dice.below(words.len());
            lines[one] = [&words[at..], &words[..at]].concat().join(" ");
        }
    }
    lines.join("\n")
}

#[test]
fn broken_scripts_have_errors_with_places() {
    let (mut refused, mut checked) = (0, 0);
    for seed in 0..sample(1500) {
        let mut dice = Dice(seed);
        let mut text = SCRIPTS[dice.below(SCRIPTS.len())].to_owned();
        for _ in 0..=dice.below(2) {
            if !text.trim().is_empty() {
                text = broken(&text, &mut dice);
            }
        }
        let lines = text.lines().count() as u32 + 1;
        let limits = Limits { states: 1_000, cells: 100_000, stop: None };
        match check_file(&text, &limits) {
            Err(error) => {
                assert!((1..=lines).contains(&error.place.line) && error.place.column > 0, "{error}\n{text}");
                refused += 1;
            }
            Ok(outcomes) => {
                for outcome in &outcomes {
                    if let AssertionVerdict::Broken(CheckError::Source(error)) = &outcome.verdict {
                        assert!((1..=lines).contains(&error.place.line) && error.place.column > 0, "{error}\n{text}");
                    }
                }
                checked += 1;
            }
        }
    }
    println!("{refused} refused, {checked} checked");
    assert!(refused > sample(500) && checked > sample(100), "{refused} refused, {checked} checked");
}

#[test]
fn deep_nesting_is_refused_where_it_is() {
    for (open, close) in
        [("(", ")"), ("not ", ""), ("if true then ", ""), ("let x = 1 within ", ""), ("<", ">"), ("- ", "")]
    {
        let mut text = String::from("channel a\nP = ");
        let _ = write!(text, "{}STOP{}\nassert P :[deadlock free]\n", open.repeat(100_000), close.repeat(100_000));
        let error = check_file(&text, &Limits::default()).expect_err("is too deep");
        assert!(error.place.line == 2 && error.to_string().contains("nested too deeply"), "{open}: {error}");
    }
}

/// The size of the values that an expression builds is bounded.
#[test]
fn values_do_not_grow_without_end() {
    for (value, words) in [
        ("#f(<1>)", "elements"),
        ("card({0..99999999999})", "elements"),
        ("card({0 - 9223372036854775807..9223372036854775807})", "elements"),
        ("card(Set({0..40}))", "elements"),
        ("card(Union({{x..x + 100000} | x <- {0..100000}}))", "elements"),
        ("g(<>, 9000)", "elements"),
        ("9223372036854775807 * 2", "does not fit"),
        ("h(1)", "nested calls"),
    ] {
        let text = format!(
            "channel a : {{0..1}}\nf(s) = f(s ^ s)\ng(s, n) = if n == 0 then 0 else g(s ^ <1..1000>, n - 1) + #s\n\
             h(x) = 1 + h(x)\nP = a!({value}) -> STOP\nassert P :[deadlock free]\n"
        );
        let outcomes = check_file(&text, &Limits::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let said = match &outcomes[0].verdict {
            AssertionVerdict::Broken(CheckError::Source(error)) => error.to_string(),
            AssertionVerdict::Unknown(error @ LimitReached::Evaluation { .. }) => error.to_string(),
            other => panic!("{value}: {other:?}"),
        };
        assert!(said.contains(words), "{value}: {said}");
    }
}
