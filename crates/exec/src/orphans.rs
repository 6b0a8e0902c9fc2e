//! Finds processes that a target left behind.
//!
//! A target and the processes it starts normally share a process group, which is killed as a whole.
//! A daemon (new session, parent gone) leaves that group. The host therefore is a *subreaper*: such
//! processes become its own children, where it finds them by a variable in their environment and
//! ends them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::procfs;

/// How long a process may be without an environment while it starts its program.
const STARTING: Duration = Duration::from_millis(500);

/// Targets that are under control: children of the host that look like orphans but are not.
static ALIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn alive() -> MutexGuard<'static, BTreeSet<i32>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the host inherit orphans; where the kernel cannot, process groups still do most of the
/// work.
pub(crate) fn become_subreaper() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    });
}

/// Starts a process and registers it. No sweep can run in between.
pub(crate) fn register<T, E>(start: impl FnOnce() -> Result<T, E>, pid: impl FnOnce(&T) -> i32) -> Result<T, E> {
    let mut known = alive();
    let started = start()?;
    known.insert(pid(&started));
    Ok(started)
}

/// Forgets a target whose processes have ended, and ends the processes that it left behind. `mark`
/// is what the environment of every process of that target contains.
pub(crate) fn sweep(pid: i32, mark: &OsString) {
    let mut known = alive();
    known.remove(&pid);
    // An orphan's own children become ours when it dies, so repeat until there is none. The bound
    // is for fork bombs.
    for _ in 0..64 {
        let orphans: Vec<Pid> = children().into_iter().filter(|child| is_orphan(*child, &known, mark)).collect();
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let _ = rustix::process::kill_process(orphan, Signal::KILL);
            let _ = rustix::process::waitpid(Some(orphan), WaitOptions::empty());
        }
    }
}

/// Forgets a target whose process has ended.
pub(crate) fn forget(pid: i32) {
    alive().remove(&pid);
}

/// Ends every process that this one has started, with what these have started: for a host that is
/// about to exit.
pub fn end_children() {
    become_subreaper();
    // The children of a process that dies become ours.
    for _ in 0..64 {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = rustix::process::kill_process(child, Signal::KILL);
            let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// Kills every process that this one has started. Who started them collects them.
pub fn kill_children() {
    for child in children() {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
}

fn is_orphan(child: Pid, known: &BTreeSet<i32>, mark: &OsString) -> bool {
    if known.contains(&child.as_raw_nonzero().get()) {
        return false;
    }
    environment(child).split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
}

/// The environment of a child. A process that is just executing its program has none for a moment,
/// so it is read again while the process lives, for as long as that may take on a busy machine.
fn environment(child: Pid) -> Vec<u8> {
    let id = child.as_raw_nonzero().get().unsigned_abs();
    let deadline = Instant::now() + STARTING;
    loop {
        let found = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let lives = procfs::state(id).is_some_and(|state| state != 'Z');
        if !found.is_empty() || !lives || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Children of this process, of all its threads.
pub(crate) fn children() -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let mut found = Vec::new();
    for list in lists {
        found.extend(list.split_whitespace().filter_map(|word| word.parse().ok()).filter_map(Pid::from_raw));
    }
    found
}
