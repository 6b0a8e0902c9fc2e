//! Bodies of the fuzz targets. Each takes bytes as they may come from outside and passes them
//! through the code that reads such input. It may refuse them; it must not panic, hang or use up
//! memory.
//!
//! | target | input | reader |
//! |---|---|---|
//! | `records` | words that a target wrote into the shared memory | `exec::decode` |
//! | `recording` | a schedule, witness or trace file | `exec::recording` |
//! | `cspm` | a CSPm script | `csp::cspm` |
//! | `std_trace` | a trace in the STD format | `predict::std_format` |
//! | `command_line` | a compiler's command line | `cc::plan` |
//! | `scripts` | a script of a client or peer | `exec::scripts` |
//! | `journal` | the journal of an interrupted search | `journal`, `explore::saved` |
//! | `tasks` | tasks and records of a shared search | `cluster::tree`, `explore::optimal::items` |
//! | `messages` | what host and agent send to each other | `remote::frame`, `exec::remote` |
//! | `suppressions` | a suppression file, and a name to match | `report::suppress` |
//!
//! `fuzz/` runs them with libFuzzer (`./x fuzz`). The test of this crate runs them on the files in
//! `fuzz/seeds` and on damaged copies of those, so that they compile and hold in every test run.
#![forbid(unsafe_code)]

mod command_line;
mod cspm;
mod journal;
mod messages;
mod recording;
mod records;
mod scripts;
mod std_trace;
mod suppressions;
mod tasks;

pub use command_line::command_line;
pub use cspm::cspm;
pub use journal::journal;
pub use messages::messages;
pub use recording::recording;
pub use records::records;
pub use scripts::scripts;
pub use std_trace::std_trace;
pub use suppressions::suppressions;
pub use tasks::tasks;

/// Takes any bytes.
pub type Body = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: [(&str, Body); 10] = [
    ("records", records),
    ("recording", recording),
    ("cspm", cspm),
    ("std_trace", std_trace),
    ("command_line", command_line),
    ("scripts", scripts),
    ("suppressions", suppressions),
    ("journal", journal),
    ("tasks", tasks),
    ("messages", messages),
];
