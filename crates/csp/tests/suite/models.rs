//! Models that a program builds, without text.

use raddle_csp::cspm::{AssertionVerdict, ExportError, check_file, export};
use raddle_csp::{
    CheckError, EventId, LimitReached, Limits, Model, ProcId, ProcessProperty, Violation, check, refines,
};

fn event(model: &mut Model, name: &str) -> EventId {
    model.event_on(name, &[])
}

#[test]
fn a_recursion_is_declared_then_defined() {
    let mut model = Model::new();
    let (up, down) = (event(&mut model, "up"), event(&mut model, "down"));
    let switch = model.declare("Switch");
    let again = model.call(switch);
    let body = model.prefixes(&[up, down], again);
    model.define(switch, body);
    let stop = model.stop();
    let allowed = model.prefixes(&[up, down, up], stop);
    assert!(refines(&mut model, again, allowed, &Limits::default()).expect("ends").holds());
    let report = refines(&mut model, allowed, again, &Limits::default()).expect("ends");
    let found = report.counterexample.expect("the switch goes on");
    assert_eq!(found.trace().to_string(), "<up, down, up, down>");
}

/// Each worker of a search builds and checks a model of its own.
#[test]
fn models_move_between_threads() {
    fn movable<T: Send + Sync>() {}
    movable::<Model>();
    movable::<raddle_csp::CheckResult>();
    let mut model = Model::new();
    let a = event(&mut model, "a");
    let stop = model.stop();
    let process = model.prefix(a, stop);
    let found = std::thread::spawn(move || {
        let report = refines(&mut model, stop, process, &Limits::default()).expect("ends");
        let found = report.counterexample.expect("not allowed");
        found.events().map(|name| model.find_event(name)).collect::<Vec<_>>()
    });
    assert_eq!(found.join().expect("does not panic"), [Some(a)]);
}

#[test]
fn what_is_missing_is_named() {
    let mut model = Model::new();
    let missing = model.declare("Missing");
    let call = model.call(missing);
    let result = check(&mut model, call, ProcessProperty::DeadlockFree, &Limits::default());
    assert_eq!(result, Err(CheckError::Undefined("Missing".to_owned())));
    let circle = model.declare("Circle");
    let call = model.call(circle);
    let a = event(&mut model, "a");
    let stop = model.stop();
    let other = model.prefix(a, stop);
    let body = model.external([call, other]);
    model.define(circle, body);
    let result = check(&mut model, call, ProcessProperty::DeadlockFree, &Limits::default());
    assert_eq!(result, Err(CheckError::Unguarded("Circle".to_owned())));
}

#[test]
fn nesting_that_no_stack_holds_is_a_limit() {
    let mut model = Model::new();
    let a = event(&mut model, "a");
    let stop = model.stop();
    let mut process = model.prefix(a, stop);
    for _ in 0..100_000 {
        process = model.interrupt(process, stop);
    }
    let result = check(&mut model, process, ProcessProperty::DeadlockFree, &Limits::default());
    assert!(matches!(result, Err(CheckError::Limit(LimitReached::Depth { .. }))), "{result:?}");
}

/// One component for every lock, and a thread that acquires them in turn.
fn locks(model: &mut Model, threads: usize, count: usize) -> ProcId {
    let mut events = vec![Vec::new(); threads];
    let mut components = Vec::new();
    for lock in 0..count {
        let mutex = model.declare(format!("Mutex{lock}"));
        let free = model.call(mutex);
        let mut alphabet = Vec::new();
        let mut branches = Vec::new();
        for (thread, own) in events.iter_mut().enumerate() {
            let fields = [(thread as i64).into(), (lock as i64).into()];
            let (take, give) = (model.event_on("lock", &fields), model.event_on("unlock", &fields));
            own.extend([take, give]);
            alphabet.extend([take, give]);
            branches.push((take, model.prefix(give, free)));
        }
        let body = model.menu(branches);
        model.define(mutex, body);
        components.push((model.set(alphabet), free));
    }
    for own in events {
        let skip = model.stop();
        components.push((model.set(own.iter().copied()), model.prefixes(&own, skip)));
    }
    model.alphabetised(components)
}

#[test]
fn many_components_cost_little() {
    let mut model = Model::new();
    // 100,000 mutexes and a single thread: 200,001 states in a row, each a vector of 100,001
    // components.
    let system = locks(&mut model, 1, 100_000);
    let report = check(&mut model, system, ProcessProperty::DeadlockFree, &Limits::default()).expect("ends");
    let found = report.counterexample.expect("the thread comes to its end");
    assert_eq!(found.violation, Violation::Deadlock);
    assert_eq!(found.steps.len(), 200_000);
    assert_eq!(report.states, 200_001);
}

#[test]
fn states_of_independent_threads_multiply() {
    let mut model = Model::new();
    // Two threads at n locks each: a lock excludes the two from being inside together, so of the
    // (2n + 1)^2 pairs of positions the n are missing in which both hold the same lock.
    let system = locks(&mut model, 2, 100);
    let report = check(&mut model, system, ProcessProperty::DeadlockFree, &Limits::default()).expect("ends");
    assert_eq!(report.states, 201 * 201 - 100);
}

#[test]
fn equal_processes_are_counted_not_told_apart() {
    let mut model = Model::new();
    let (a, b) = (event(&mut model, "a"), event(&mut model, "b"));
    let stop = model.stop();
    let one = model.prefixes(&[a, b], stop);
    // 60 processes with three states each: the number of ways to distribute 60 over 3 states.
    let all = model.interleave(vec![one; 60]);
    let report = check(&mut model, all, ProcessProperty::DeadlockFree, &Limits::default()).expect("ends");
    assert_eq!(report.states, 61 * 62 / 2);
}

#[test]
fn a_budget_is_kept() {
    let mut model = Model::new();
    let system = locks(&mut model, 2, 100);
    let limits = Limits { states: 1_000, ..Limits::default() };
    let result = check(&mut model, system, ProcessProperty::DeadlockFree, &limits);
    assert!(matches!(result, Err(CheckError::Limit(LimitReached::States { budget: 1_000, .. }))), "{result:?}");
}

#[test]
fn a_built_model_becomes_a_script() {
    let mut model = Model::new();
    let race = event(&mut model, "race");
    let system = locks(&mut model, 2, 2);
    let all: Vec<EventId> = model.events().filter(|&event| event != race).collect();
    let set = model.set(all.iter().copied());
    let hidden = model.hide(system, set);
    let stop = model.stop();
    let watcher = model.declare("WATCH");
    let again = model.call(watcher);
    let mut branches: Vec<_> = all.iter().map(|&event| (event, again)).collect();
    branches.push((race, stop));
    let body = model.menu(branches);
    model.define(watcher, body);
    let claims = [(hidden, ProcessProperty::Refines { specification: stop }), (again, ProcessProperty::DeadlockFree)];
    let text = export(&model, &claims, &[]).expect("has text").to_string();
    let expected = "channel race
channel lock, unlock : {0..1}.{0..1}

ALPHABET(0) = {lock.0.0, lock.1.0, unlock.0.0, unlock.1.0}
ALPHABET(1) = {lock.0.1, lock.1.1, unlock.0.1, unlock.1.1}
ALPHABET(2) = {lock.0.0, lock.0.1, unlock.0.0, unlock.0.1}
ALPHABET(3) = {lock.1.0, lock.1.1, unlock.1.0, unlock.1.1}
COMPONENT(0) = Mutex0
COMPONENT(1) = Mutex1
COMPONENT(2) = lock.0.0 -> unlock.0.0 -> lock.0.1 -> unlock.0.1 -> STOP
COMPONENT(3) = lock.1.0 -> unlock.1.0 -> lock.1.1 -> unlock.1.1 -> STOP
EVENTS = {|lock, unlock|}
P = ( || i:{0..3} @ [ALPHABET(i)] COMPONENT(i)) \\ EVENTS
WATCH = race -> STOP [] ([] e:{|lock, unlock|} @ e -> WATCH)
Mutex0 = lock.0.0 -> unlock.0.0 -> Mutex0 [] lock.1.0 -> unlock.1.0 -> Mutex0
Mutex1 = lock.0.1 -> unlock.0.1 -> Mutex1 [] lock.1.1 -> unlock.1.1 -> Mutex1

assert STOP [T= P
assert WATCH :[deadlock free [F]]
";
    assert_eq!(text, expected);
    let outcomes = check_file(&text, &Limits::default()).expect("is well formed");
    assert_eq!(outcomes[0].verdict, AssertionVerdict::Holds);
    assert!(matches!(outcomes[1].verdict, AssertionVerdict::Fails(_)));
}

#[test]
fn types_follow_from_the_events() {
    let mut model = Model::new();
    let stop = model.stop();
    let mut names: Vec<EventId> = Vec::new();
    for (thread, lock) in [("t1", "m"), ("t2", "m"), ("t1", "0xbeef")] {
        names.push(model.event_on("lock", &[thread.into(), lock.into()]));
    }
    names.push(model.event_on("start", &["t2".into()]));
    names.push(model.event_on("level", &[(-3).into()]));
    let process = model.prefixes(&names, stop);
    let claims = [(process, ProcessProperty::Refines { specification: process })];
    let text = export(&model, &claims, &[("Thread", &["t1", "t2"])]).expect("has text").to_string();
    assert_eq!(
        text,
        "datatype Thread = t1 | t2
datatype Lock_2 = n0xbeef | m

channel lock : Thread.Lock_2
channel start : {t2}
channel level : { -3}

P = lock.t1.m -> lock.t2.m -> lock.t1.n0xbeef -> start.t2 -> level.-3 -> STOP

assert P [T= P
"
    );
    assert_eq!(check_file(&text, &Limits::default()).expect("is well formed")[0].verdict, AssertionVerdict::Holds);
}

#[test]
fn what_has_no_text_is_refused() {
    let mut model = Model::new();
    let missing = model.declare("Missing");
    let call = model.call(missing);
    let claim = [(call, ProcessProperty::DeadlockFree)];
    assert_eq!(export(&model, &claim, &[]), Err(ExportError::Undefined("Missing".to_owned())));
    model.event_on("c", &[1.into()]);
    model.event_on("c", &["x".into()]);
    let mixed = ExportError::MixedField { channel: "c".into(), field: 1 };
    assert_eq!(export(&model, &[], &[]), Err(mixed));
    model.event_on("c", &[]);
    assert_eq!(export(&model, &[], &[]), Err(ExportError::FieldCount("c".into())));
}

#[test]
fn a_long_thread_is_exported_and_read_back() {
    let mut model = Model::new();
    let events: Vec<EventId> = (0..20_000).map(|at| model.event_on("e", &[(at % 100).into()])).collect();
    let stop = model.stop();
    // Prefixes and choices in turn nest as deep as the thread is long.
    let mut thread = stop;
    for pair in events.chunks(2).rev() {
        let end = model.prefix(pair[1], stop);
        let next = model.prefix(pair[0], thread);
        thread = model.external([next, end]);
    }
    let straight = model.prefixes(&events, stop);
    let claims = [(straight, ProcessProperty::DeadlockFree), (thread, ProcessProperty::DeadlockFree)];
    let text = export(&model, &claims, &[]).expect("has text").to_string();
    let outcomes = check_file(&text, &Limits::default()).expect("is well formed");
    assert_eq!(outcomes[0].states, 20_001);
    assert!(outcomes.iter().all(|outcome| matches!(outcome.verdict, AssertionVerdict::Fails(_))));
}
