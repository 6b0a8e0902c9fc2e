//! A target without a program: it follows the protocol and misbehaves on demand.
//!
//! The seed of a run's policy says what it does. Its schedule comes back as the events of its
//! trace.

use std::mem::offset_of;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::MmapRaw;
use raddle_exec::shared;
use raddle_vocab::{MemOrder, OpKind, Outcome, RunStatus};
use raddle_wire::record::{self, flag};
use raddle_wire::{Config, Control, ENV_DESCRIPTOR, Job, MAX_JOBS, Segment, limit, mode, state};
use rustix::thread::futex;

/// Misbehaviour, as seeds.
pub mod seed {
    pub const FINE: u64 = 0;
    pub const CRASH: u64 = 1;
    pub const HANG: u64 = 2;
    pub const NEED_POOL: u64 = 3;
    pub const NEED_FRESH: u64 = 4;
    pub const LONG_TRACE: u64 = 5;
    pub const BAD_STATUS: u64 = 6;
    pub const BAD_TRACE: u64 = 7;
    pub const SCRIBBLE: u64 = 8;
    pub const EXIT: u64 = 9;
    pub const CRASH_ONCE: u64 = 10;
    pub const ENDLESS_THREADS: u64 = 11;
    pub const LEAVE_CHILDREN: u64 = 12;
    pub const BAD_TRACE_ONCE: u64 = 13;
    pub const LIMITS: u64 = 14;
    pub const SHRINK: u64 = 15;
    pub const DEAD_WORKER: u64 = 16;
    pub const DEVOUR: u64 = 17;
    pub const SLEEP: u64 = 18;
}

/// Words that a long trace takes.
pub const LONG_WORDS: usize = 60_000;

struct File {
    map: MmapRaw,
    descriptor: std::fs::File,
}

impl File {
    fn open() -> Self {
        let number = std::env::var(ENV_DESCRIPTOR).unwrap().parse().unwrap();
        // SAFETY: the host made the descriptor for this process, which takes it only once.
        let descriptor = unsafe { std::fs::File::from_raw_fd(number) };
        File { map: MmapRaw::map_raw(&descriptor).unwrap(), descriptor }
    }

    fn word32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: offsets come from the layout of the file and lie inside the mapping, which lives
        // as long as `self`.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) }
    }

    fn word64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(offset).cast()) }
    }

    fn read(&self, offset: usize, words: usize) -> Vec<u64> {
        (0..words).map(|n| self.word64(offset + n * 8).load(Ordering::Relaxed)).collect()
    }

    fn write(&self, offset: usize, words: &[u64]) {
        for (n, &word) in words.iter().enumerate() {
            self.word64(offset + n * 8).store(word, Ordering::Relaxed);
        }
    }

    fn config32(&self, offset: usize) -> u32 {
        self.word32(offset_of!(Control, config) + offset).load(Ordering::Relaxed)
    }
}

/// Set in the environment to misbehave before the first job.
pub const STARTUP: &str = "RADDLE_FAKE_STARTUP";
/// A file that exists if something happened before.
pub const MARKER: &str = "RADDLE_FAKE_MARKER";

fn start_up(file: &File) {
    let set = |offset: usize, value: u32| file.word32(offset).store(value, Ordering::Release);
    let version = offset_of!(Control, runtime_version);
    match std::env::var(STARTUP).as_deref() {
        Ok("exit") => {
            eprintln!("no such library");
            std::process::exit(4)
        }
        Ok("hang") => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        Ok("version") => set(version, 77),
        Ok("refuse") => {
            set(version, raddle_wire::PROTOCOL_VERSION);
            file.write(offset_of!(Control, message).next_multiple_of(8), &[u64::from_le_bytes(*b"because!")]);
            set(offset_of!(Control, state), state::FAILED);
        }
        _ => {
            set(version, raddle_wire::PROTOCOL_VERSION);
            set(offset_of!(Control, state), state::READY);
        }
    }
    futex::wake(file.word32(offset_of!(Control, state)), futex::Flags::empty(), 1).unwrap();
}

/// The target's main loop.
pub fn main() -> ! {
    let file = File::open();
    start_up(&file);
    let submitted = file.word32(offset_of!(Control, submitted));
    let completed = file.word32(offset_of!(Control, completed));
    loop {
        let done = completed.load(Ordering::Relaxed);
        while submitted.load(Ordering::Acquire) == done {
            if file.word32(offset_of!(Control, stop)).load(Ordering::Relaxed) != 0 {
                std::process::exit(0);
            }
            let _ = futex::wait(submitted, futex::Flags::empty(), done, None);
        }
        batch(&file, done);
        completed.store(done.wrapping_add(1), Ordering::Release);
        futex::wake(completed, futex::Flags::empty(), 1).unwrap();
    }
}

fn batch(file: &File, number: u32) {
    let words = size_of::<Job>() / 8;
    let mut used = 0;
    let jobs_done = file.word32(offset_of!(Control, jobs_done));
    jobs_done.store(0, Ordering::Relaxed);
    for index in 0..MAX_JOBS {
        let at = raddle_wire::jobs_offset(number) + index * size_of::<Job>();
        let mut job = shared::job_from_words(&file.read(at, words));
        if job.max_events == 0 {
            return;
        }
        job.trace_start = used;
        run(file, number, &mut job);
        used += job.trace_bytes;
        file.write(at, &shared::job_words(&job));
        jobs_done.store(index as u32 + 1, Ordering::Release);
    }
}

fn step(kind: OpKind, flags: u8, value: u64) -> [u64; 6] {
    let extra = record::step_extra(MemOrder::SeqCst as u8, Outcome::Done as u8, 3);
    [record::header(kind as u8, flags, 0, 0), 0x1000, record::pack_pc(0x2000, extra), 0, value, 0]
}

fn run(file: &File, number: u32, job: &mut Job) {
    let arena = file.word64(offset_of!(Control, config) + offset_of!(Config, trace_bytes)).load(Ordering::Relaxed);
    let start = raddle_wire::trace_offset(number, arena as usize) + job.trace_start as usize;
    let room = (arena - job.trace_start) as usize / 8;
    let mut trace = Vec::from(step(OpKind::ThreadStart, 0, 0));
    for n in 0..job.segments as usize {
        let at = raddle_wire::segments_offset(number) + (job.first_segment as usize + n) * size_of::<Segment>();
        let words = file.read(at, 2);
        let segment = shared::segment_from_words([words[0], words[1]]);
        for _ in 0..segment.steps {
            trace.extend(step(OpKind::AtomicStore, 0, segment.tid.into()));
        }
    }
    job.status = RunStatus::Rest as u32;
    job.exited = 1;
    job.code = std::process::id() as i32;
    // What was recorded so far is in the file when something goes wrong.
    file.write(start, &trace[..trace.len().min(room)]);
    misbehave(file, job, &mut trace);
    trace.extend(step(OpKind::ThreadEnd, flag::PENDING | flag::ENDED, 0));
    if trace.len() > room {
        trace.truncate(room);
        job.status = RunStatus::TraceFull as u32;
    }
    file.write(start, &trace);
    if job.status == RunStatus::Damaged as u32 {
        trace.clear();
    }
    job.trace_bytes = trace.len() as u64 * 8;
}

/// Whether this is the first time, for the whole test.
fn first_time() -> bool {
    let marker = std::env::var(MARKER).unwrap();
    std::fs::OpenOptions::new().write(true).create_new(true).open(marker).is_ok()
}

fn die() -> ! {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    unreachable!()
}

fn misbehave(file: &File, job: &mut Job, trace: &mut Vec<u64>) {
    let fork = file.config32(offset_of!(Config, mode)) == mode::FORK;
    let pool = file.config32(offset_of!(Config, pool));
    match job.policy_seed {
        seed::CRASH => die(),
        seed::CRASH_ONCE if first_time() => die(),
        seed::HANG => loop {
            std::hint::spin_loop();
        },
        seed::SLEEP => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        seed::NEED_POOL if pool < 40 => (job.status, job.code) = (RunStatus::NeedPool as u32, 40),
        seed::ENDLESS_THREADS => (job.status, job.code) = (RunStatus::NeedPool as u32, pool as i32 * 2),
        seed::NEED_FRESH if !fork => job.status = RunStatus::NeedFresh as u32,
        seed::LONG_TRACE => {
            while trace.len() < LONG_WORDS {
                trace.extend(step(OpKind::AtomicLoad, 0, 0));
            }
        }
        seed::BAD_STATUS => job.status = 1000,
        seed::BAD_TRACE => trace.push(0xff),
        seed::BAD_TRACE_ONCE if first_time() => trace.push(0xff),
        seed::SCRIBBLE => {
            for offset in (0..4096).step_by(8) {
                file.word64(offset).store(0x6666_6666_6666_6666, Ordering::Relaxed);
            }
            // Until the host sees it.
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
        seed::EXIT => std::process::exit(5),
        seed::LEAVE_CHILDREN => leave_children(),
        seed::LIMITS => {
            file.word64(offset_of!(Control, limits)).fetch_or(limit::SOCKET, Ordering::Relaxed);
        }
        seed::SHRINK => assert!(file.descriptor.set_len(0).is_err()),
        seed::DEAD_WORKER => (job.status, job.code) = (RunStatus::Damaged as u32, 11),
        seed::DEVOUR => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1u8; 1 << 20]);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        _ => {}
    }
}

/// Starts a process in our group, and a daemon in a session of its own whose parent is gone.
fn leave_children() {
    let sleeper = |setsid: bool| {
        let mut command = std::process::Command::new(if setsid { "setsid" } else { "sleep" });
        if setsid {
            command.args(["sh", "-c", "sleep 1000 & exit 0"]);
        } else {
            command.arg("1000");
        }
        command.spawn().unwrap()
    };
    let child = sleeper(false);
    let mut daemon = sleeper(true);
    daemon.wait().unwrap();
    std::fs::write(std::env::var(MARKER).unwrap(), child.id().to_string()).unwrap();
    std::mem::forget(child);
}
