//! Requests to stop. Ctrl-C, SIGTERM and SIGHUP set a flag that every wait checks, so that targets
//! are ended and what was found so far is still reported. A second signal ends the host at once;
//! its targets die with it. Signals that come together are one request: `timeout` and terminals
//! send to the process and to its group.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Status of a process that a second Ctrl-C ends, as shells report it.
const STATUS_AFTER_SECOND_SIGNAL: i32 = 130;
/// Signals within this time after the first one are the same request.
const TOGETHER: Duration = Duration::from_millis(500);

fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// Catches the signals from now on.
///
/// # Errors
/// If the system refuses the handlers.
pub fn install() -> io::Result<()> {
    let (mut first, tell) = UnixStream::pair()?;
    let is_impatient = Arc::<AtomicBool>::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let impatient = Arc::clone(&is_impatient);
        signal_hook::flag::register_conditional_shutdown(signal, STATUS_AFTER_SECOND_SIGNAL, impatient)?;
        signal_hook::flag::register(signal, Arc::clone(flag()))?;
        signal_hook::low_level::pipe::register(signal, tell.try_clone()?)?;
    }
    thread::Builder::new().name("signals".into()).spawn(move || {
        if first.read_exact(&mut [0]).is_ok() {
            thread::sleep(TOGETHER);
            is_impatient.store(true, Ordering::Relaxed);
        }
    })?;
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
