//! The native target against a fake program that misbehaves in every way it can.

mod fake;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fake::seed;
use libtest_mimic::{Arguments, Failed, Trial};
use raddle_exec::{NativeTarget, Options, RestoreMode, StartError};
use raddle_model::{Choice, Execution, IncidentKind, Operation as _, PendingState, Request, Target, TargetError};
use raddle_vocab::policy::Policy;
use raddle_vocab::{Failure, OpKind, RunStatus};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

fn main() {
    if std::env::var_os(raddle_wire::ENV_DESCRIPTOR).is_some() {
        fake::main();
    }
    let tests: &[(&'static str, fn())] = &[
        ("results_come_in_order_whatever_the_batches", results_come_in_order),
        ("a_dying_target_costs_one_run", a_dying_target_costs_one_run),
        ("an_accident_is_repeated_and_named", an_accident_is_repeated_and_named),
        ("a_hang_is_ended_by_the_watchdog", a_hang_is_ended),
        ("sleep_in_the_kernel_is_no_crash", sleep_is_no_crash),
        ("too_much_memory_is_a_crash", too_much_memory_is_a_crash),
        ("needs_are_met_by_a_new_target", needs_are_met),
        ("long_traces_get_room_up_to_the_bound", long_traces_get_room),
        ("nonsense_in_the_file_is_survived", nonsense_is_survived),
        ("a_dead_worker_of_fork_mode_is_a_crash", a_dead_worker_is_a_crash),
        ("an_exit_behind_our_back_is_named", an_exit_is_named),
        ("no_process_is_left_behind", no_process_is_left_behind),
        ("targets_that_do_not_start_say_why", targets_that_do_not_start),
        ("limits_survive_a_restart", limits_survive),
        ("more_threads_than_possible_is_an_error", too_many_threads),
        ("nothing_under_way_is_an_error", nothing_under_way),
        ("taking_turns_pins_to_one_cpu", taking_turns_pins_to_one_cpu),
        ("a_busy_cpu_is_unpinned", a_busy_cpu_is_unpinned),
    ];
    let trial = |&(name, test): &(&'static str, fn())| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    let trials = tests.iter().map(trial);
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// Nothing that ends by itself takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> Options {
    let mut options = Options::new(std::env::current_exe().unwrap());
    options.trace_bytes = 1 << 20;
    options.max_trace_bytes = 1 << 21;
    options.hang_timeout = PATIENCE;
    options.start_timeout = PATIENCE;
    options
}

fn start() -> NativeTarget {
    NativeTarget::start_unchecked(options()).unwrap()
}

fn with_marker(marker: &Path) -> Options {
    let mut options = options();
    options.env.push((fake::MARKER.into(), marker.into()));
    options
}

/// A run that misbehaves; `steps` comes back as its number of transitions.
fn request(seed: u64, steps: usize) -> Request {
    Request { schedule: vec![Choice::of(0); steps], policy: Policy::Random { seed }, max_events: 1000 }
}

fn one(target: &mut NativeTarget, seed: u64) -> Execution {
    let mut execution = Execution::empty();
    target.run(request(seed, 3).into(), &mut execution).unwrap();
    execution
}

fn steps(execution: &Execution) -> usize {
    execution.events.iter().filter(|event| event.op.kind() == OpKind::AtomicStore).count()
}

fn crashed(execution: &Execution) -> bool {
    execution.status == RunStatus::Damaged
        && execution.incidents.len() == 1
        && execution.incidents[0].kind == IncidentKind::Failure(Failure::Signal)
        && execution.pending[0].state == PendingState::Failed
}

fn results_come_in_order() {
    let mut target = start();
    let mut execution = Execution::empty();
    // More and more at once, up to several batches; afterwards one in, one out.
    for burst in [1, 2, 63, 64, 65, 128, 300] {
        for n in 0..burst {
            target.submit(request(seed::FINE, n % 50));
        }
        for n in 0..burst {
            target.finish(&mut execution).unwrap();
            assert_eq!((steps(&execution), execution.status), (n % 50, RunStatus::Rest));
        }
    }
    let window = target.window();
    for n in 0..1000 {
        target.submit(request(seed::FINE, n % 7));
        if n >= window {
            target.finish(&mut execution).unwrap();
            assert_eq!(steps(&execution), (n - window) % 7);
        }
    }
    assert_eq!(target.statistics().starts, 1);
}

fn a_dying_target_costs_one_run() {
    let mut target = start();
    let mut execution = Execution::empty();
    for n in 0..200 {
        let seed = if n % 70 == 10 { seed::CRASH } else { seed::FINE };
        target.submit(request(seed, n % 40));
    }
    for n in 0..200 {
        target.finish(&mut execution).unwrap();
        // What the dead run recorded is there as well.
        assert_eq!(steps(&execution), n % 40, "run {n}");
        assert_eq!(crashed(&execution), n % 70 == 10, "run {n}");
    }
    // Once at first, and twice for each of the three crashes: the second crash shows that the run
    // is at fault.
    assert_eq!(target.statistics().starts, 7);
    assert!(target.limits().is_empty(), "{:?}", target.limits());
}

fn an_accident_is_repeated_and_named() {
    for seed in [seed::CRASH_ONCE, seed::BAD_TRACE_ONCE] {
        let directory = tempfile::tempdir().unwrap();
        let mut target = NativeTarget::start_unchecked(with_marker(&directory.path().join("marker"))).unwrap();
        let mut execution = Execution::empty();
        for n in 0..100 {
            target.submit(request(if n == 50 { seed } else { seed::FINE }, n % 40));
        }
        for n in 0..100 {
            target.finish(&mut execution).unwrap();
            assert_eq!((steps(&execution), execution.status), (n % 40, RunStatus::Rest), "run {n}");
        }
        assert!(target.limits().iter().any(|limit| limit.contains("repeated")), "{:?}", target.limits());
    }
}

fn a_hang_is_ended() {
    let mut options = options();
    options.hang_timeout = Duration::from_millis(500);
    let mut target = NativeTarget::start_unchecked(options).unwrap();
    let execution = one(&mut target, seed::HANG);
    assert!(crashed(&execution));
    assert_eq!((execution.incidents[0].arg, steps(&execution)), (libc::SIGXCPU as u64, 3));
    // Where it was met differs each time, and is no part of the execution.
    let met = target.detail().incidents.last().and_then(|stack| stack.first());
    assert!(met.is_some_and(|&at| at > 4096), "{met:?}");
    assert_eq!(one(&mut target, seed::FINE).status, RunStatus::Rest);
}

fn sleep_is_no_crash() {
    let mut options = options();
    options.hang_timeout = Duration::from_millis(500);
    let mut target = NativeTarget::start_unchecked(options).unwrap();
    let execution = one(&mut target, seed::SLEEP);
    assert_eq!((execution.status, execution.incidents.len(), steps(&execution)), (RunStatus::Damaged, 0, 3));
    assert!(target.limits().iter().any(|limit| limit.contains("in the kernel")), "{:?}", target.limits());
    assert_eq!(one(&mut target, seed::FINE).status, RunStatus::Rest);
}

fn too_much_memory_is_a_crash() {
    let mut options = options();
    options.memory_limit = Some(100 << 20);
    let mut target = NativeTarget::start_unchecked(options).unwrap();
    let execution = one(&mut target, seed::DEVOUR);
    assert!(crashed(&execution) && execution.incidents[0].text.contains("100 MB"), "{execution:?}");
    assert_eq!(one(&mut target, seed::FINE).status, RunStatus::Rest);
}

fn needs_are_met() {
    let mut target = start();
    let mut execution = Execution::empty();
    for n in 0..100 {
        target.submit(request(
            if n == 30 {
                seed::NEED_POOL
            } else if n == 60 {
                seed::NEED_FRESH
            } else {
                seed::FINE
            },
            n,
        ));
    }
    for n in 0..100 {
        target.finish(&mut execution).unwrap();
        assert_eq!((steps(&execution), execution.status), (n, RunStatus::Rest), "run {n}");
    }
    assert_eq!((target.options().pool, target.options().mode), (64, RestoreMode::Fork));
}

fn long_traces_get_room() {
    let mut small = options();
    small.trace_bytes = 1 << 16;
    let mut target = NativeTarget::start_unchecked(small.clone()).unwrap();
    let mut execution = Execution::empty();
    for n in 0..20 {
        target.submit(request(if n % 2 == 0 { seed::LONG_TRACE } else { seed::FINE }, n));
    }
    for n in 0..20 {
        target.finish(&mut execution).unwrap();
        assert_eq!((steps(&execution), execution.status), (n, RunStatus::Rest), "run {n}");
        assert_eq!(execution.events.len() * 6 >= fake::LONG_WORDS - 12, n % 2 == 0);
    }
    assert_eq!(target.options().trace_bytes, 1 << 20);
    small.max_trace_bytes = 1 << 17;
    let mut target = NativeTarget::start_unchecked(small).unwrap();
    target.run(request(seed::FINE, 1).into(), &mut execution).unwrap();
    target.submit(request(seed::LONG_TRACE, 1));
    // The cut trace of the fake ends in the middle, without the states of its threads.
    target.finish(&mut execution).unwrap();
    assert_eq!(target.options().trace_bytes, 1 << 17);
    assert!(execution.events.len() > 1000);
    let limits = target.limits();
    assert!(limits.iter().any(|limit| limit.contains("its trace is longer than the memory")), "{limits:?}");
}

fn nonsense_is_survived() {
    let mut target = start();
    for seed in [seed::BAD_STATUS, seed::BAD_TRACE, seed::SCRIBBLE] {
        let execution = one(&mut target, seed);
        assert!(crashed(&execution), "{seed}: {execution:?}");
        assert!(execution.incidents[0].text.contains("records"), "{:?}", execution.incidents);
        assert_eq!(one(&mut target, seed::FINE).status, RunStatus::Rest);
    }
    assert_eq!(one(&mut target, seed::SHRINK).status, RunStatus::Rest);
}

fn a_dead_worker_is_a_crash() {
    let mut target = start();
    let execution = one(&mut target, seed::DEAD_WORKER);
    assert!(crashed(&execution), "{execution:?}");
    assert_eq!((execution.incidents[0].arg, steps(&execution)), (11, 3));
}

fn an_exit_is_named() {
    let mut target = start();
    let execution = one(&mut target, seed::EXIT);
    assert_eq!((execution.status, execution.exit, execution.incidents.len()), (RunStatus::Damaged, Some(5), 0));
    assert!(target.limits()[0].contains("exited with status 5"), "{:?}", target.limits());
    // No earlier run can have caused a fault in the first run of a process: it is not repeated.
    assert_eq!(target.statistics().starts, 2);
}

fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Processes that belong to this test, by their environment.
fn marked(marker: &Path) -> Vec<PathBuf> {
    let wanted = format!("{}={}", fake::MARKER, marker.display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.map(|entry| entry.path())
        .filter(|path| {
            std::fs::read(path.join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&wanted))
        })
        .collect()
}

fn no_process_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let marker = directory.path().join("child");
    let mut target = NativeTarget::start_unchecked(with_marker(&marker)).unwrap();
    assert_eq!(one(&mut target, seed::LEAVE_CHILDREN).status, RunStatus::Rest);
    let child: i32 = std::fs::read_to_string(&marker).unwrap().parse().unwrap();
    assert!(alive(child));
    // The target, its child and the daemon. The daemon has no environment for a moment while it
    // executes its program.
    let deadline = Instant::now() + PATIENCE;
    while marked(&marker).len() < 3 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(marked(&marker).len(), 3);
    drop(target);
    assert!(!alive(child));
    assert_eq!(marked(&marker), Vec::<PathBuf>::new());
}

fn targets_that_do_not_start() {
    let failing = |how: &str| {
        let mut options = options();
        if how == "hang" {
            options.start_timeout = Duration::from_millis(300);
        }
        options.env.push((fake::STARTUP.into(), how.into()));
        NativeTarget::start_unchecked(options).unwrap_err()
    };
    let death = failing("exit").to_string();
    assert!(death.contains("status 4") && death.contains("no such library"), "{death}");
    assert!(matches!(failing("hang"), StartError::Timeout(..)));
    assert!(matches!(failing("version"), StartError::VersionDiffers { runtime: 77, .. }));
    assert!(matches!(failing("refuse"), StartError::RuntimeFailed(..)));
    let absent = NativeTarget::start_unchecked(Options::new("/no/such/program")).unwrap_err();
    assert!(matches!(absent, StartError::Exec(..)), "{absent}");
    let mut input = options();
    input.stdin = Some("/no/such/input".into());
    assert!(matches!(NativeTarget::start_unchecked(input).unwrap_err(), StartError::Stdin(..)));
    let foreign = NativeTarget::start(options()).unwrap_err();
    assert!(matches!(foreign, StartError::NotBuiltWithRaddle(..)));
}

fn limits_survive() {
    let mut target = start();
    one(&mut target, seed::LIMITS);
    one(&mut target, seed::CRASH);
    assert!(target.limits()[0].contains("socket"), "{:?}", target.limits());
}

fn too_many_threads() {
    let mut target = start();
    target.submit(request(seed::ENDLESS_THREADS, 1));
    let error = target.finish(&mut Execution::empty()).unwrap_err();
    assert!(matches!(&error, TargetError::Lost(text) if text.contains("256")), "{error}");
}

fn nothing_under_way() {
    assert!(matches!(start().finish(&mut Execution::empty()), Err(TargetError::Lost(_))));
}

/// Makes runs until the CPUs that this thread may use satisfy the condition.
fn take_turns_until(target: &mut NativeTarget, condition: impl Fn(&CpuSet) -> bool) {
    let begun = Instant::now();
    while !condition(&sched_getaffinity(None).unwrap()) {
        assert!(begun.elapsed() < PATIENCE, "the thread is not pinned, or not unpinned");
        one(target, seed::FINE);
    }
}

fn taking_turns_pins_to_one_cpu() {
    let all = sched_getaffinity(None).unwrap();
    let cpus_of = |target: &NativeTarget| {
        let id = target.process_id().and_then(|id| Pid::from_raw(id.cast_signed()));
        sched_getaffinity(Some(id.unwrap())).unwrap()
    };
    let mut target = start();
    target.take_turns();
    take_turns_until(&mut target, |own| own.count() == 1);
    let own = sched_getaffinity(None).unwrap();
    assert_eq!(cpus_of(&target), own);
    // Another target is not pinned to the same CPU, and starting it does not unpin this thread.
    let other = start();
    assert_eq!(cpus_of(&other), all);
    assert_eq!(sched_getaffinity(None).unwrap(), own);
    drop(target);
    assert_eq!(sched_getaffinity(None).unwrap(), all);
}

fn a_busy_cpu_is_unpinned() {
    let all = sched_getaffinity(None).unwrap();
    let mut target = start();
    target.take_turns();
    take_turns_until(&mut target, |own| own.count() == 1);
    let cpu = sched_getaffinity(None).unwrap();
    let (over, begun) = (AtomicBool::new(all.count() == 1), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                sched_setaffinity(None, &cpu).unwrap();
                while !over.load(Ordering::Relaxed) && begun.elapsed() < 2 * PATIENCE {
                    std::hint::spin_loop();
                }
            });
        }
        take_turns_until(&mut target, |own| *own == all);
        over.store(true, Ordering::Relaxed);
    });
}
