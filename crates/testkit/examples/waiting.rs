//! Writes programs that wait busily, as C text: `waiting FIRST COUNT DIRECTORY`. The first line of each
//! says what is true of it.

use std::path::PathBuf;

use raddle_testkit::waiting::{generate, oracle, print};

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (first, count) = (number(), number());
    let directory = PathBuf::from(words.next().expect("a directory"));
    for seed in first..first + count {
        let program = generate(seed);
        if let Some(oracle::Truth { fails, stuck }) = oracle::truth(&program) {
            let text = format!("// fails {fails} stuck {stuck}\n{}", print(&program));
            std::fs::write(directory.join(format!("p{seed}.c")), text).expect("a file");
        }
    }
}
