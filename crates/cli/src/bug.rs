//! What is printed when raddle itself panics.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::thread;

use crate::error::say;

/// Makes every panic, of any thread, print what a report of the bug needs.
pub fn install_hook() {
    let words: Vec<OsString> = std::env::args_os().collect();
    panic::set_hook(Box::new(move |info| {
        let backtrace = Backtrace::capture();
        say(&describe(info, &words));
        if backtrace.status() == BacktraceStatus::Captured {
            say(&backtrace.to_string());
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>, words: &[OsString]) -> String {
    let message = info.payload_as_str().unwrap_or("a panic without a message");
    let place = info.location().map_or_else(|| "unknown".into(), ToString::to_string);
    let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    format!(
        "raddle: bug in raddle: {message}\n  \
         place    {place}\n  \
         thread   {}\n  \
         version  {}\n  \
         command  {}\n\
         Please report it with these lines and, if you can, the program. RADDLE_OPTIONS and raddle.toml matter, too.\n\
         RUST_BACKTRACE=1 shows how raddle got there.",
        thread::current().name().unwrap_or("unnamed"),
        env!("CARGO_PKG_VERSION"),
        command.join(" "),
    )
}
