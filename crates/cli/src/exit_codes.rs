//! The exit statuses of every command, in one place.
//!
//! | status | check | predict | replay | run | csp check |
//! |---|---|---|---|---|---|
//! | 0 | verified | - | the bug is gone on this path | the program's own status | all hold |
//! | 1 | an error was found | something was confirmed | reproduced | a finding | some fail |
//! | 2 | usage, build failure, broken input, bug in raddle, in every command | | | | |
//! | 3 | incomplete | nothing confirmed | diverged, infeasible | left its schedule | budget |
//!
//! `raddle cc` and `raddle c++` end with the compiler's own status, or with 2 where none was
//! started. `raddle doctor` ends with 0 if raddle works here and 1 if not. A second Ctrl-C ends any
//! command with 130.

/// Nothing is wrong.
pub const FINE: u8 = 0;
/// Something was found.
pub const FOUND: u8 = 1;
/// The command could not do what it was asked.
pub const UNUSABLE: u8 = 2;
/// The answer is open.
pub const OPEN: u8 = 3;
