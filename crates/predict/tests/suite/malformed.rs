//! Mutated traces are refused with a line, or they are valid and can be analysed.

use raddle_predict::analysis::{Budget, TraceAnalysis};
use raddle_predict::std_format;
use raddle_vocab::policy::mix;

const TRACES: [&str; 2] = [
    "T0|fork(T1)|1\nT0|fork(T2)|2\nT1|acq(m)|3\nT1|w(x)|4\nT1|rel(m)|5\nT2|acq(m)|6\n\
     T2|r(x)|7\nT2|rel(m)|8\nT2|w(y)|9\n\
     T1|w(y)|10\nT0|join(T1)|11\nT0|join(T2)|12\n",
    "# locks in both orders\nT1|acq(a)|1\nT1|acq(b)|2\nT1|rel(b)|3\nT1|rel(a)|4\nT2|acq(b)|5\nT2|acq(a)|6\nT2|w(x)|7\n\
     T2|rel(a)|8\nT2|rel(b)|9\nT1|acq(a)|10\nT1|acq(a)|11\nT1|r(x)|12\nT1|rel(a)|13\n",
];

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = mix(self.0);
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Breaks a text in one of many ways.
fn broken(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (one, two) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(9) {
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
        5 => lines[one] = lines[one].replace(['1', '2'], "99999999999999999999999"),
        6 => lines[one] = lines[one].replace(['x', 'm', 'a'], &"((|".repeat(dice.below(50))),
        7 => lines[one] = "\u{0}\u{feff}é|".repeat(dice.below(2_000)),
        _ => lines[one] = lines[one].replace('T', "T T\t"),
    }
    lines.join(["\n", "\r\n", "\n\n"][dice.below(3)])
}

#[test]
fn broken_traces_are_refused_with_a_line_or_analysed() {
    let (mut refused, mut analysed) = (0, 0);
    for seed in 0..6000 {
        let mut dice = Dice(seed);
        let mut text = TRACES[dice.below(TRACES.len())].to_owned();
        for _ in 0..=dice.below(3) {
            if !text.trim().is_empty() {
                text = broken(&text, &mut dice);
            }
        }
        match std_format::read(&text) {
            Err(error) => {
                let lines = text.lines().count().max(1);
                assert!((1..=lines).contains(&error.line), "{error}\n{text}");
                assert!(!error.message.is_empty());
                refused += 1;
            }
            Ok(read) => {
                let analysis = TraceAnalysis::new(&read.trace, Budget { by_variable: true, ..Budget::default() });
                let keeper = analysis.keeper();
                let candidates = analysis.candidates();
                let races = analysis.races(&keeper, &candidates, |_, decision| decision);
                assert_eq!(races.len(), candidates.len());
                analysis.deadlocks(&keeper, &analysis.cycles(), |_, decision| decision);
                assert!(std_format::read(&std_format::write(&read.trace)).is_ok(), "{text}");
                analysed += 1;
            }
        }
    }
    println!("{refused} refused, {analysed} analysed");
    assert!(refused > 1000 && analysed > 1000, "{refused} refused, {analysed} analysed");
}

/// A trace that would take unbounded memory or time is refused, or its analysis is bounded.
#[test]
fn traces_that_are_too_large_are_refused() {
    let line = |number: usize, text: String| (number, text);
    for (expected, text) in [
        line(4_001, (0..5_000).map(|thread| format!("T{thread}|w(x)|1\n")).collect()),
        line(1_001, (0..2_000).map(|lock| format!("T1|acq(m{lock})|1\n")).collect()),
    ] {
        assert_eq!(std_format::read(&text).unwrap_err().line, expected);
    }
    let events: String = (0..60_000).map(|event| format!("T{}|w(x)|{event}\n", event % 2)).collect();
    let read = std_format::read(&events).unwrap();
    let analysis = TraceAnalysis::new(&read.trace, Budget { by_variable: true, ..Budget::default() });
    let races = &analysis.windows[0].races;
    assert!(!races.candidates.is_empty() && races.left_out > 1_000_000, "{} left out", races.left_out);
}
