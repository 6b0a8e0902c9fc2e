//! How long this process and its children were ready to compute but had no processor: so much
//! longer takes what they do, on a busy machine.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::orphans::children;
use crate::procfs::scheduled;

/// Measures it. Where the kernel does not keep these times, nothing is found.
#[derive(Debug, Default)]
pub struct Starvation {
    /// What each thread had waited when it was looked at last, by its name below `/proc`.
    known: BTreeMap<String, Duration>,
}

impl Starvation {
    /// What all threads together waited since the last call. Those that were not there then do not
    /// count yet.
    pub fn grown(&mut self) -> Duration {
        let own = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let own = own.map(|thread| format!("self/task/{}", thread.file_name().to_string_lossy()));
        // A target computes in its first thread.
        let children = children().into_iter().map(|child| child.as_raw_nonzero().to_string());
        let waited = |name: String| scheduled(&name).map(|times| (name, times.waited));
        let now: BTreeMap<String, Duration> = own.chain(children).filter_map(waited).collect();
        let before = std::mem::replace(&mut self.known, now);
        let grown = |(name, waited): (&String, &Duration)| Some(waited.saturating_sub(*before.get(name)?));
        self.known.iter().filter_map(grown).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    /// A child that shares a processor with another waits for it.
    #[test]
    fn children_that_share_a_processor_wait() {
        let cpu = crate::procfs::present_cpu().unwrap().to_string();
        let spin = || Command::new("taskset").args(["-c", &cpu, "sh", "-c", "while :; do :; done"]).spawn().unwrap();
        let (mut one, mut other) = (spin(), spin());
        let mut starvation = Starvation::default();
        let (mut waited, deadline) = (Duration::ZERO, Instant::now() + Duration::from_secs(60));
        while waited < Duration::from_millis(50) && Instant::now() < deadline {
            waited += starvation.grown();
            std::thread::sleep(Duration::from_millis(20));
        }
        for child in [&mut one, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(waited >= Duration::from_millis(50), "{waited:?}");
    }
}
