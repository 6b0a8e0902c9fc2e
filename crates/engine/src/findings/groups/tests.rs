use raddle_model::finding::{Created, ObjectInfo, Wait};

use super::*;

fn place(line: u32) -> Place {
    Place { file: Some("q.c".into()), line: Some(line), column: Some(line % 7 + 1), function: None }
}

/// An access; threads other than main were created by main in line 90 and the number of the thread.
fn access(thread: &str, op: &str, line: u32, locks: &[&str]) -> AccessReport {
    let number: u32 = thread[1..].parse().unwrap();
    let created = (number > 0).then(|| Created { by: "T0".into(), place: place(90 + number) });
    let locks = locks.iter().map(|lock| (*lock).to_string()).collect();
    AccessReport { thread: thread.into(), op: op.into(), place: place(line), locks, created, ..AccessReport::default() }
}

fn race(id: &str, variable: &str, accesses: [AccessReport; 2]) -> Finding {
    let name = variable.split(['.', '[']).next().map(Into::into);
    let object = ObjectInfo { kind: ObjectKind::Global, name, size: None, offset: 0, allocated: None };
    Finding {
        id: id.into(),
        message: format!("race on {variable}"),
        variable: Some(variable.into()),
        object: Some(object),
        detail: Some("read-write".into()),
        witness_kind: Some(WitnessKind::Adjacent),
        executions_before: 3,
        ..raddle_testkit::finding::race(accesses.into())
    }
}

/// A race between a free by main and a use by T1, of a block from this line.
fn end(id: &str, allocated: u32, freed: u32, used: u32) -> Finding {
    let mut found = race(id, "block", [access("T0", "free", freed, &[]), access("T1", "read", used, &[])]);
    found.detail = Some("use-after-free".into());
    found.object = Some(block(allocated));
    found
}

fn block(allocated: u32) -> ObjectInfo {
    ObjectInfo { kind: ObjectKind::Heap, name: None, size: Some(40), offset: 0, allocated: Some(place(allocated)) }
}

fn failure(id: &str, kind: Kind, detail: &str, access: AccessReport) -> Finding {
    let base = race(id, "x", [access.clone(), access.clone()]);
    let message = format!("{detail} in line {:?}", access.place.line);
    Finding {
        kind,
        detail: Some(detail.into()),
        message,
        accesses: vec![access],
        object: None,
        variable: None,
        witness_kind: None,
        ..base
    }
}

fn stood(wait: u64, since: u32) -> Standing {
    Standing { wait, since, is_last: false, is_atomic: false }
}

/// Main had last waited at `wait`.
fn main_stood(wait: u64, since: u32) -> Circumstances {
    Circumstances { sides: vec![stood(wait, since), stood(0, 1)], behind: Vec::new() }
}

fn behind(sets: &[&[&str]]) -> Circumstances {
    let set = |ids: &&[&str]| ids.iter().map(|id| (*id).to_string()).collect();
    Circumstances { sides: Vec::new(), behind: sets.iter().map(set).collect() }
}

/// Ids of followers with those of their headlines; the same whatever the order of the findings.
fn follows(findings: Vec<Finding>, facts: &[(&str, Circumstances)]) -> Vec<(String, String)> {
    let facts: CircumstancesById = facts.iter().map(|(id, facts)| ((*id).to_string(), facts.clone())).collect();
    let assigned = |mut findings: Vec<Finding>| {
        assign(&mut findings, &facts);
        let mut pairs: Vec<(String, String)> =
            findings.into_iter().filter_map(|finding| Some((finding.id, finding.group?))).collect();
        pairs.sort();
        pairs
    };
    let expected = assigned(findings.clone());
    let mut other = findings;
    for _ in 0..other.len() {
        other.rotate_left(1);
        assert_eq!(assigned(other.clone()), expected);
    }
    other.reverse();
    assert_eq!(assigned(other), expected);
    expected
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(one, other)| ((*one).to_string(), (*other).to_string())).collect()
}

#[test]
fn ends_behind_one_wait_are_one_cause_and_the_earliest_is_the_headline() {
    let findings = || vec![end("r1", 10, 48, 60), end("r2", 20, 34, 61), end("r3", 30, 39, 62)];
    let same = [("r1", main_stood(7, 30)), ("r2", main_stood(7, 2)), ("r3", main_stood(7, 9))];
    assert_eq!(follows(findings(), &same), pairs(&[("r1", "r2"), ("r3", "r2")]));
    // Main has waited in between: for what, is another question.
    let other = [("r1", main_stood(8, 30)), ("r2", main_stood(7, 2)), ("r3", main_stood(7, 9))];
    assert_eq!(follows(findings(), &other), pairs(&[("r3", "r2")]));
    // Another thread uses the block.
    let mut third = findings();
    third[2].accesses[1] = access("T2", "read", 62, &[]);
    assert_eq!(follows(third, &same), pairs(&[("r1", "r2")]));
}

#[test]
fn a_write_to_what_is_freed_next_belongs_to_the_free() {
    let mut write = race("r1", "block.next", [access("T0", "write", 35, &[]), access("T1", "read", 60, &[])]);
    write.object = Some(block(10));
    let mut elsewhere = write.clone();
    (elsewhere.id, elsewhere.object) = ("r3".into(), Some(block(11)));
    let findings = vec![write, end("r2", 10, 48, 61), elsewhere];
    let facts = [("r1", main_stood(7, 1)), ("r2", main_stood(7, 5)), ("r3", main_stood(7, 1))];
    assert_eq!(follows(findings, &facts), pairs(&[("r1", "r2")]));
}

#[test]
fn a_creator_that_never_waits_again_lacks_one_join() {
    let read =
        |id: &str, name: &str, line| race(id, name, [access("T0", "read", line, &[]), access("T1", "write", 5, &[])]);
    let never =
        Circumstances { sides: vec![Standing { is_last: true, ..stood(7, 3) }, stood(0, 1)], behind: Vec::new() };
    let findings = || vec![read("r1", "x", 20), read("r2", "y", 21)];
    let all = [("r1", never.clone()), ("r2", never)];
    assert_eq!(follows(findings(), &all), pairs(&[("r2", "r1")]));
    // It waits later on, so both may be about locks.
    let waits = [("r1", main_stood(7, 3)), ("r2", main_stood(7, 4))];
    assert_eq!(follows(findings(), &waits), []);
    let mut assigned = findings();
    assign(&mut assigned, &all.into_iter().map(|(id, facts)| (id.to_string(), facts)).collect());
    let cause = "T1 may still run when main reads what it uses: nothing makes main wait before that";
    assert_eq!(assigned[0].cause.as_deref(), Some(cause));
    assert_eq!(assigned[1].cause, None);
}

#[test]
fn one_freed_block_is_one_cause() {
    let mut late = failure("h1", Kind::Memory, "use-after-free", access("T1", "read", 70, &[]));
    late.accesses.push(access("T0", "free", 48, &[]));
    late.object = Some(block(10));
    let mut other = late.clone();
    (other.id, other.object) = ("h2".into(), Some(block(11)));
    assert_eq!(follows(vec![end("r1", 10, 48, 60), late, other], &[]), pairs(&[("h1", "r1")]));
}

fn two(id: &str, variable: &str, lines: [u32; 2], locks: [&[&str]; 2]) -> Finding {
    race(id, variable, [access("T1", "write", lines[0], locks[0]), access("T2", "read", lines[1], locks[1])])
}

#[test]
fn one_object_with_one_discipline_is_one_cause() {
    let none: [&[&str]; 2] = [&[], &[]];
    let findings = vec![
        two("r1", "s.a", [1, 2], [&[], &["m"]]),
        two("r2", "s.b", [1, 3], [&[], &["m"]]),
        two("r3", "s.c[2]", [1, 4], none),
        two("r4", "t", [5, 6], none),
    ];
    assert_eq!(follows(findings.clone(), &[]), pairs(&[("r2", "r1"), ("r3", "r1")]));
    let mut assigned = findings;
    assign(&mut assigned, &CircumstancesById::new());
    assert_eq!(assigned[0].cause.as_deref(), Some("not every use of `s` holds m"));
}

#[test]
fn fields_with_different_locks_are_two_causes() {
    let findings = vec![
        two("r1", "s.a", [1, 2], [&[], &["m"]]),
        two("r2", "s.a", [7, 2], [&[], &["m"]]),
        two("r3", "s.b", [3, 4], [&[], &["n"]]),
        two("r4", "s.b", [8, 4], [&[], &["n"]]),
        // Nothing tells which of the two locks it lacks.
        two("r5", "s.c", [5, 6], [&[], &[]]),
    ];
    assert_eq!(follows(findings, &[]), pairs(&[("r2", "r1"), ("r4", "r3")]));
}

#[test]
fn variables_of_their_own_are_causes_of_their_own() {
    let findings = vec![two("r1", "x", [1, 2], [&[], &[]]), two("r2", "y", [1, 2], [&[], &[]])];
    assert_eq!(follows(findings, &[]), []);
}

#[test]
fn the_place_that_lacks_the_lock_is_the_headline() {
    let findings = vec![
        two("r1", "x", [1, 2], [&["m"], &[]]),
        two("r2", "x", [3, 9], [&["m"], &[]]),
        two("r3", "x", [4, 9], [&["m"], &[]]),
    ];
    assert_eq!(follows(findings, &[]), pairs(&[("r1", "r2"), ("r3", "r2")]));
}

#[test]
fn cycles_over_the_same_locks_are_one_cause() {
    let cycle = |id: &str, lines: [u32; 2], locks: [&str; 2]| {
        let mut found = two(id, "m", lines, [&[], &[]]);
        (found.kind, found.detail, found.object) = (Kind::Deadlock, Some("cycle".into()), None);
        for (access, lock) in found.accesses.iter_mut().zip(locks) {
            access.waits = Some(Wait { object: lock.into(), held_by: Vec::new() });
        }
        found
    };
    let findings = vec![
        cycle("d1", [1, 2], ["a", "b"]),
        cycle("d2", [3, 4], ["b", "a"]),
        cycle("d3", [5, 6], ["a", "c"]),
        cycle("d4", [7, 8], ["heap#1", "heap#2"]),
        cycle("d5", [9, 10], ["heap#1", "heap#2"]),
    ];
    assert_eq!(follows(findings, &[]), pairs(&[("d2", "d1")]));
}

#[test]
fn uses_of_one_object_that_was_never_initialised_are_one_cause() {
    let misuse = |id: &str, line, name: &str| {
        let mut found = failure(id, Kind::Misuse, "mutex-uninitialised", access("T1", "lock", line, &[]));
        found.object = race("r1", name, [access("T1", "x", 1, &[]), access("T2", "x", 1, &[])]).object;
        found
    };
    let findings = vec![misuse("m1", 1, "m"), misuse("m2", 2, "m"), misuse("m3", 3, "n")];
    assert_eq!(follows(findings, &[]), pairs(&[("m2", "m1")]));
}

#[test]
fn a_failure_follows_from_what_lies_behind_each_of_its_executions() {
    let none: [&[&str]; 2] = [&[], &[]];
    let findings = |before| {
        let mut crash = failure("c1", Kind::Crash, "SIGSEGV", access("T2", "SIGSEGV", 50, &[]));
        crash.executions_before = before;
        vec![two("r1", "x", [1, 2], none), two("r2", "x", [3, 4], none), two("r3", "y", [5, 6], none), crash]
    };
    // One of the races on x is always there, that on y is not.
    let facts = [("c1", behind(&[&["r1", "r3"], &["r2"]]))];
    assert_eq!(follows(findings(3), &facts), pairs(&[("c1", "r1"), ("r2", "r1")]));
    // It may be that it always fails.
    assert_eq!(follows(findings(0), &facts), pairs(&[("r2", "r1")]));
    // Two causes are possible.
    assert_eq!(follows(findings(3), &[("c1", behind(&[&["r1", "r3"]]))]), pairs(&[("r2", "r1")]));
    // Once there was nothing behind it.
    assert_eq!(follows(findings(3), &[("c1", behind(&[&["r1"], &[]]))]), pairs(&[("r2", "r1")]));
    // A race with an access in the line that crashes explains it best, even in the first execution.
    let mut near = findings(0);
    near[2].accesses[1].place = place(50);
    assert_eq!(follows(near, &[("c1", behind(&[&["r1", "r3"]]))]), pairs(&[("c1", "r3"), ("r2", "r1")]));
}

#[test]
fn races_that_depend_on_each_other_follow_from_what_explains_all_of_them() {
    let dependent = |id: &str, lines| {
        let mut found = two(id, "z", lines, [&["m"], &["m"]]);
        found.witness_kind = Some(WitnessKind::Unordered);
        found
    };
    let findings = || vec![end("r1", 10, 48, 60), dependent("r2", [1, 2]), dependent("r3", [3, 4])];
    let stood = ("r1", main_stood(7, 1));
    let facts = [stood.clone(), ("r2", behind(&[&["r1"]])), ("r3", behind(&[&["r1", "r2"]]))];
    assert_eq!(follows(findings(), &facts), pairs(&[("r2", "r1"), ("r3", "r1")]));
    // Adjacent accesses need no other race. Those on one object are one cause still.
    let mut adjacent = findings();
    adjacent[1].witness_kind = Some(WitnessKind::Adjacent);
    adjacent[2].witness_kind = Some(WitnessKind::Adjacent);
    assert_eq!(follows(adjacent, &facts), pairs(&[("r3", "r2")]));
}

#[test]
fn a_crash_in_a_wrong_access_follows_from_it() {
    let error = failure("h1", Kind::Memory, "out-of-bounds", access("T1", "read", 70, &[]));
    let crash = |id: &str, line| failure(id, Kind::Crash, "SIGSEGV", access("T1", "SIGSEGV", line, &[]));
    let findings = vec![error, crash("c1", 70), crash("c2", 71)];
    assert_eq!(follows(findings, &[]), pairs(&[("c1", "h1")]));
}

#[test]
fn warnings_follow_from_errors_and_never_lead_them() {
    let warning = |id: &str, detail: &str, line| Finding {
        severity: Severity::Warning,
        ..failure(id, Kind::Misuse, detail, access("T0", "create", line, &[]))
    };
    let findings = vec![
        warning("w1", "main-returns-early", 99),
        warning("w2", "never-joined", 91),
        warning("w3", "never-joined", 92),
        end("r1", 10, 48, 60),
    ];
    assert_eq!(follows(findings, &[("r1", main_stood(7, 1))]), pairs(&[("w1", "r1"), ("w2", "r1")]));
}

#[test]
fn without_its_headline_a_follower_is_a_headline() {
    let findings = vec![end("r1", 10, 48, 60), end("r3", 30, 39, 62)];
    let facts = [("r1", main_stood(7, 30)), ("r2", main_stood(7, 2)), ("r3", main_stood(7, 9))];
    assert_eq!(follows(findings, &facts), pairs(&[("r1", "r3")]));
}

fn holding(mut access: AccessReport, line: u32, shared: bool) -> AccessReport {
    access.held = vec![HeldLock { lock: "m".into(), shared, place: place(line) }];
    access.locks = vec!["m".into()];
    access
}

#[test]
fn writes_under_one_hold_in_shared_mode_are_one_cause() {
    let writes = |line, held| holding(access("T1", "write", line, &[]), held, true);
    let reads = |line, held| holding(access("T2", "read", line, &[]), held, true);
    let of_a_block = |id: &str, accesses| Finding { object: Some(block(5)), ..race(id, "block", accesses) };
    let findings =
        || vec![of_a_block("r1", [writes(10, 8), reads(20, 18)]), race("r2", "x", [writes(11, 8), reads(21, 19)])];
    let facts = [("r1", main_stood(0, 1)), ("r2", main_stood(0, 1))];
    // What has a name is the headline.
    assert_eq!(follows(findings(), &facts), pairs(&[("r1", "r2")]));
    // Acquired in two places, it is wrong in two.
    let mut elsewhere = findings();
    elsewhere[1].accesses[0] = writes(11, 9);
    assert_eq!(follows(elsewhere, &facts), []);
    // The one that writes holds the lock as it should.
    let mut exclusive = findings();
    exclusive[1].accesses[0] = holding(access("T1", "write", 11, &[]), 8, false);
    assert_eq!(follows(exclusive, &facts), []);
}

#[test]
fn a_count_that_does_not_order_is_said_to_be_one() {
    let cause = |is_atomic: bool| {
        let mut findings = vec![end("r1", 10, 48, 60), end("r2", 10, 48, 61)];
        let mut facts = main_stood(7, 30);
        facts.sides[0].is_atomic = is_atomic;
        let facts = ["r1", "r2"].map(|id| (id.to_string(), facts.clone())).into_iter().collect();
        assign(&mut findings, &facts);
        findings.into_iter().find_map(|finding| finding.cause).unwrap()
    };
    let before = "T1 may still run when main frees what it uses: ";
    assert_eq!(cause(false), format!("{before}nothing makes main wait before that"));
    assert_eq!(cause(true), format!("{before}the atomic operation before that does not order it behind these uses"));
}
