//! What the kernel says in `/proc` about processes and memory.

use std::path::Path;
use std::time::Duration;

use crate::native::watchdog::Activity;

/// Bytes of memory that a process has for itself; 0 if it is gone.
pub(crate) fn own_memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    kilobytes(&status, "RssAnon:").saturating_mul(1024)
}

/// Whether a process is runnable, and for how long its first thread, which makes the runs, has
/// computed. `None` if it is gone.
pub(crate) fn activity(id: u32) -> Option<Activity> {
    Some(Activity { runnable: state(id)? == 'R', computed: scheduled(&id.to_string())?.computed })
}

/// How often a process is looked at that is to stop, and the time between.
const LOOKS: (u32, Duration) = (50, Duration::from_millis(2));

/// The address of the instruction at which a process of ours computes, which is stopped for that
/// and does not go on. `None` if it is in a system call, or the kernel does not say it.
pub(crate) fn instruction(id: u32) -> Option<u64> {
    crate::process::stop(id);
    let has_stopped = |_| {
        let is_there = state(id).is_none_or(|state| matches!(state, 'T' | 't'));
        if !is_there {
            std::thread::sleep(LOOKS.1);
        }
        is_there
    };
    (0..LOOKS.0).any(has_stopped);
    counter(&std::fs::read_to_string(format!("/proc/{id}/syscall")).ok()?)
}

/// The program counter of a process that is in no system call: its stack pointer comes before it.
fn counter(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let (call, counter) = (words.next()?, words.nth(1)?);
    (call == "-1").then(|| u64::from_str_radix(counter.strip_prefix("0x")?, 16).ok()).flatten()
}

/// Times of a process or thread from the kernel's scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scheduled {
    /// For how long it has computed.
    pub computed: Duration,
    /// For how long it was runnable but had no CPU.
    pub waited: Duration,
}

/// Times of the first thread of a process, or of `thread-self`. `None` if it is gone or the kernel
/// does not keep them.
pub(crate) fn scheduled(process: &str) -> Option<Scheduled> {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    let mut times = text.split_whitespace().map_while(|word| word.parse().ok().map(Duration::from_nanos));
    Some(Scheduled { computed: times.next()?, waited: times.next()? })
}

/// The kernel's letter for the state of a process; `None` if it is gone.
pub(crate) fn state(id: u32) -> Option<char> {
    statistics(&id.to_string())?.chars().next()
}

/// Number of the CPU that this thread runs on. Read from `/proc`, because `getcpu` of rustix reads
/// a page of the kernel that valgrind does not map.
pub(crate) fn present_cpu() -> Option<usize> {
    /// Counted from the state on.
    const FIELD: usize = 36;
    statistics("thread-self")?.split_whitespace().nth(FIELD)?.parse().ok()
}

/// The fields of `/proc/*/stat` from the state on; `None` if the process is gone.
fn statistics(process: &str) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    // The name before the state, in parentheses, may contain anything.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    Some(String::from_utf8_lossy(stat.get(end + 2..)?).into_owned())
}

/// Three quarters of the available memory; `None` if the kernel does not say how much there is.
pub(crate) fn sensible_memory_limit() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of_machine = Some(kilobytes(&text, "MemAvailable:").saturating_mul(1024)).filter(|&bytes| bytes > 0);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_container = left_in_groups(&groups, Path::new("/sys/fs/cgroup"));
    of_machine.into_iter().chain(of_container).min().map(|available| available / 4 * 3)
}

/// Bytes that the process may still use by the limits of its control groups, which containers set.
fn left_in_groups(groups: &str, root: &Path) -> Option<u64> {
    let mut left = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // The second version of control groups has one tree, the first one a tree for each
        // controller.
        let names = match controllers {
            "" => ("", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let tree = root.join(names.0);
        // In a container the path may be that of the machine: then the root is the container's own.
        let mut group = Some(tree.join(path.trim_start_matches('/')));
        while let Some(directory) = group.filter(|directory| directory.starts_with(&tree)) {
            let number =
                |name: &str| -> Option<u64> { std::fs::read_to_string(directory.join(name)).ok()?.trim().parse().ok() };
            if let Some(limit) = number(names.1) {
                let free = limit.saturating_sub(number(names.2).unwrap_or(0));
                left = Some(left.map_or(free, |least: u64| least.min(free)));
            }
            group = directory.parent().map(Path::to_path_buf);
        }
    }
    left
}

/// The number after a word in one of the kernel's tables.
fn kilobytes(table: &str, word: &str) -> u64 {
    let line = table.lines().find_map(|line| line.strip_prefix(word));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn a_process_that_computes_has_a_program_counter() {
        assert_eq!(counter("-1 0x7ffe8 0x55551139\n"), Some(0x5555_1139));
        assert_eq!(counter("0 0x3 0x7ffe0 0x1 0x0 0x0 0x0 0x7ffe8 0x55551139\n"), None, "in a system call");
        assert_eq!(counter("running\n"), None);
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let begun = Instant::now();
        let met = loop {
            match instruction(child.id()) {
                None if begun.elapsed() < Duration::from_secs(10) => {
                    let go_on = Command::new("kill").args(["-CONT", &child.id().to_string()]).status();
                    assert!(go_on.unwrap().success());
                }
                met => break met,
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(met.is_some_and(|at| at > 4096));
    }

    #[test]
    fn memory_is_measured() {
        assert!(own_memory(std::process::id()) > 4096);
        assert_eq!(own_memory(0), 0);
        assert!(sensible_memory_limit().is_some_and(|limit| limit > 1 << 20));
    }

    #[test]
    fn limits_of_containers_count() {
        let root = tempfile::tempdir().unwrap();
        let write = |group: &str, files: [(&str, &str); 2]| {
            std::fs::create_dir_all(root.path().join(group)).unwrap();
            for (name, text) in files {
                std::fs::write(root.path().join(group).join(name), text).unwrap();
            }
        };
        let left = |groups: &str| left_in_groups(groups, root.path());
        assert_eq!(left("0::/a/b\n"), None);
        write("a", [("memory.max", "5000\n"), ("memory.current", "1000\n")]);
        write("a/b", [("memory.max", "max\n"), ("memory.current", "10\n")]);
        assert_eq!(left("0::/a/b\n"), Some(4000), "a group above has the limit");
        write("a/b", [("memory.max", "300\n"), ("memory.current", "400\n")]);
        assert_eq!(left("0::/a/b\n"), Some(0));
        assert_eq!(left("0::/../../elsewhere\n"), None);
        write("memory/x", [("memory.limit_in_bytes", "700\n"), ("memory.usage_in_bytes", "200\n")]);
        assert_eq!(left("5:cpu,memory:/x\n4:pids:/a\n"), Some(500));
        assert_eq!(left("nonsense\n::\n"), None);
    }

    #[test]
    fn computing_is_told_from_sleeping() {
        let own = activity(std::process::id()).unwrap();
        assert!(own.computed > Duration::ZERO);
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        // It computes while it starts, with pauses.
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut runnable = true;
        while runnable && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            runnable = activity(sleeper.id()).unwrap().runnable;
        }
        assert!(!runnable);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(activity(sleeper.id()), None);
    }
}
