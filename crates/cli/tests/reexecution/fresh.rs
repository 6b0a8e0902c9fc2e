//! Every run finds the process as a new one would be: the programs of `tests/programs/fresh` look
//! around, and then leave a mess.

use std::path::Path;

use libtest_mimic::Failed;
use raddle_exec::{NativeTarget, Output, RestoreMode};
use raddle_model::{Execution, Request, Target};
use raddle_vocab::policy::Policy;

use crate::common::{self, Place};

/// Runs in one process, or one after the other in processes of their own.
const RUNS: u64 = 20;

/// Files that the programs expect in their working directory.
const FILES: [(&str, &str); 4] =
    [("early.txt", "early"), ("grown.txt", "four"), ("log.txt", "before"), ("map.txt", "mapped")];
/// So many are in the directory `many`.
const MANY: usize = 300;

/// All runs of a program end with status 0, and none leaves anything behind.
pub fn check(source: &Path) -> Result<(), Failed> {
    let place = Place::new();
    for (name, text) in FILES {
        place.write(name, text);
    }
    std::fs::create_dir(place.path("many"))?;
    for number in 0..MANY {
        place.write(&format!("many/{number}"), "");
    }
    let input = place.write("input", "abc");
    let program = common::built_around("gcc", source, &["-std=gnu11".into(), "-O0".into()])?;
    for mode in [RestoreMode::Snapshot, RestoreMode::Fork] {
        let mut options = raddle_engine::Program::new(&program).target_options().expect("a runtime");
        options.mode = mode;
        options.output = Output::Discard;
        options.stdin = Some(input.clone());
        options.env = vec![("PWD".into(), place.path(".").canonicalize()?.into())];
        options.directory = Some(place.path("."));
        let mut target = NativeTarget::start(options)?;
        let mut execution = Execution::empty();
        for seed in 0..RUNS {
            let policy = Policy::Random { seed };
            target.submit(Request { schedule: Vec::new(), policy, max_events: 1_000_000 });
            target.finish(&mut execution)?;
            if execution.exit != Some(0) || !execution.incidents.is_empty() {
                return Err(format!("{mode:?}, run {seed}: {:?}, {:?}", execution.exit, execution.incidents).into());
            }
        }
    }
    for (name, text) in FILES {
        if std::fs::read_to_string(place.path(name))? != text {
            return Err(format!("{name} was changed").into());
        }
    }
    let made = std::fs::read_dir(place.path("."))?.count();
    if made == FILES.len() + 2 { Ok(()) } else { Err("files were left behind".into()) }
}
