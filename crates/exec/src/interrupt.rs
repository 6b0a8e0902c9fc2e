//! Requests to stop. Ctrl-C, SIGTERM and SIGHUP set a flag that every wait checks, so that targets
//! are ended and what was found so far is still reported. A second signal ends the host at once;
//! its targets die with it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Status of a process that a second Ctrl-C ends, as shells report it.
const STATUS_AFTER_SECOND_SIGNAL: i32 = 130;

fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// Catches the signals from now on.
///
/// # Errors
/// If the system refuses the handlers.
pub fn install() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order the first signal finds the flag clear, and only the second one ends the
        // process.
        signal_hook::flag::register_conditional_shutdown(signal, STATUS_AFTER_SECOND_SIGNAL, Arc::clone(flag()))?;
        signal_hook::flag::register(signal, Arc::clone(flag()))?;
    }
    Ok(())
}

/// Leaves Ctrl-C to a debugger in the foreground: it must not end the host as well.
///
/// # Errors
/// If the system refuses the handler.
pub fn leave_to_debugger() -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// Whether the user asked to stop.
#[must_use]
pub fn requested() -> bool {
    flag().load(Ordering::Relaxed)
}
