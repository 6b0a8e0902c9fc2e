//! A witness in gdb, with the commands over the threads of the program.

use std::fs::File;

use raddle_testkit::tools::require;

use crate::common::{Place, finish, raddle};

/// gdb reads its commands from standard input where there is no terminal.
fn debugged(place: &Place, words: &[&str], commands: &str) -> String {
    require("gdb");
    let input = place.write("commands", format!("{commands}\nkill\nquit\n"));
    let mut command = place.command(raddle());
    command.args(["replay", "r1", "--gdb"]).args(words).stdin(File::open(input).unwrap());
    let done = finish(&mut command);
    assert_eq!(place.left_behind(), Vec::<String>::new());
    done.all()
}

#[test]
fn gdb_stops_right_before_the_first_access_and_knows_the_threads() {
    let (place, _) = super::checked(&["--quiet"]);
    let said = debugged(&place, &[], "raddle where\nraddle where T0\nraddle switch T0\nbacktrace\nraddle threads");
    assert!(said.contains("* T1     at an access           withdraw at"), "{said}");
    assert!(said.contains("bank.c:18"), "{said}");
    assert!(said.contains("before join") && said.contains("main at"), "{said}");
    assert!(said.contains("T0 in main at") && said.contains("bank.c:34"), "{said}");
    assert!(said.contains("T2     has not started"), "{said}");
}

#[test]
fn gdb_goes_from_event_to_event() {
    let (place, _) = super::checked(&["--quiet"]);
    let said = debugged(&place, &["--break-at", "3"], "raddle next\nraddle next\nraddle switch T9\nraddle where");
    assert!(said.contains("stopped before event 3"), "{said}");
    assert!(said.contains("event 4") && said.contains("event 5"), "{said}");
    assert!(said.contains("there is no thread T9; there are T0, T1, T2"), "{said}");
}
