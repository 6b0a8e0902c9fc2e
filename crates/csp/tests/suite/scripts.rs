//! Whole scripts, from text to verdicts.

use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_csp::cspm::{AssertOutcome, AssertionVerdict, check_file, draw, parse};
use raddle_csp::{CheckError, CheckStop, Counterexample, LimitReached, Limits, LtsState, Violation};

fn check(source: &str) -> Vec<AssertOutcome> {
    check_file(source, &Limits::default()).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// `h` holds, `f` fails, `?` is unknown, `!` is broken.
fn verdicts(source: &str) -> String {
    let letter = |outcome: &AssertOutcome| match &outcome.verdict {
        AssertionVerdict::Holds => 'h',
        AssertionVerdict::Fails(_) => 'f',
        AssertionVerdict::Unknown(_) => '?',
        AssertionVerdict::Broken(error) => panic!("{error}\n{source}"),
    };
    check(source).iter().map(letter).collect()
}

fn counterexample(outcome: &AssertOutcome) -> &Counterexample {
    match &outcome.verdict {
        AssertionVerdict::Fails(Some(found)) => found,
        other => panic!("expected a counterexample, found {other:?}"),
    }
}

fn events(found: &Counterexample) -> Vec<String> {
    found.events().map(ToString::to_string).collect()
}

/// The message of a script that is wrong, wherever that is noticed.
fn problem(source: &str) -> String {
    match check_file(source, &Limits::default()) {
        Err(error) => error.to_string(),
        Ok(outcomes) => match &outcomes[0].verdict {
            AssertionVerdict::Broken(error) => error.to_string(),
            other => panic!("expected an error, found {other:?}"),
        },
    }
}

#[test]
fn the_paper_finds_the_race_on_y_and_none_on_x() {
    let outcomes = check(include_str!("models/listing_1_1.csp"));
    assert_eq!(outcomes.len(), 2);
    assert_eq!(outcomes[0].verdict, AssertionVerdict::Holds);
    let found = counterexample(&outcomes[1]);
    assert_eq!(found.trace().to_string(), "<race>");
    let all = events(found);
    // Either of the two racing writes may come first; nothing else has a choice.
    assert_eq!(all[..3], ["lock.t2.m", "write.t2.x", "unlock.t2.m"]);
    let mut racing = all[3..5].to_vec();
    racing.sort();
    assert_eq!(racing, ["write.t1.y", "write.t2.y"]);
    assert_eq!(all[5..], ["race"]);
    // The paper's witness is the synchronising operations of that trace.
    let witness: Vec<&String> = all.iter().filter(|event| event.contains("lock")).collect();
    assert_eq!(witness, ["lock.t2.m", "unlock.t2.m"]);
}

#[test]
fn outcomes_print_verdict_and_counterexample() {
    let outcomes = check(include_str!("models/listing_1_1.csp"));
    assert_eq!(outcomes[0].to_string(), "38:1: assert STOP [T= CHECK(t1, t2, x): holds");
    let text = outcomes[1].to_string();
    assert!(text.starts_with("39:1: assert STOP [T= CHECK(t1, t2, y): fails\n  trace <race>\n"), "{text}");
    let steps: Vec<&str> = text.lines().skip(2).take(3).map(str::trim).collect();
    assert!(steps[0].starts_with("1  [lock.t2.m]") && steps[2].starts_with("3  [unlock.t2.m]"), "{text}");
}

#[test]
fn forks_and_joins_order_what_they_should() {
    let outcomes = check(include_str!("models/threads.csp"));
    assert_eq!(outcomes[0].verdict, AssertionVerdict::Holds);
    assert_eq!(outcomes[1].verdict, AssertionVerdict::Holds);
    let race = outcomes[0].refutation.as_ref().expect("the denied claim is refuted");
    let all = events(race);
    assert_eq!(all[..4], ["start.main", "write.main.v", "fork.main.worker", "lock.main.m"]);
}

#[test]
fn every_model_prints_and_parses_back() {
    for source in [include_str!("models/listing_1_1.csp"), include_str!("models/threads.csp")] {
        let script = parse(source).expect("parses");
        let printed = script.to_string();
        assert_eq!(parse(&printed).expect("parses again"), script);
        assert_eq!(verdicts(&printed), verdicts(source));
    }
}

#[test]
fn inputs_outputs_and_parameters() {
    assert_eq!(
        verdicts(
            "datatype D = A | B.{0..1}
             channel c : {0..2}.D
             channel d : D
             COPY = c?i?x -> d!x -> COPY
             SPEC = c.0.A -> d.A -> STOP
             assert COPY [T= SPEC
             assert SPEC [T= COPY
             assert COPY [T= c?i:{1..2}!B.0 -> d.B.0 -> SPEC
             assert COPY [T= c?i!B?n -> d.B.n -> STOP
             assert COPY [T= c?i.B.n -> d.B.n -> STOP
             assert COPY [T= c?i.B.n -> d.B.(1-n) -> STOP
             assert COPY [T= c?all -> STOP
             assert COPY [T= c$i:{0,1}?x -> d!x -> STOP"
        ),
        "hfhhhfhh"
    );
}

/// Types need not hold all combinations: what is left of a value that has begun follows from the
/// set it is taken from.
#[test]
fn values_that_have_begun() {
    assert_eq!(
        verdicts(
            "datatype Z = A.{0, 1}.{0, 1} | E
             datatype Y = X.{A.0.1, A.1.0}
             datatype W = V.Pairs
             Pairs = {x.y | x <- {0..1}, y <- {0..2}}
             channel c : Y.Bool
             channel d : W
             channel ok
             yes(b) = b & ok -> STOP
             assert not STOP [T= yes(extensions(X.A) == {0.1, 1.0} and extensions(X.A.0) == {1})
             assert not STOP [T= yes(productions(X.A.1) == {X.A.1.0} and productions(X) == Y)
             assert not STOP [T= yes({| d.V.0 |} == {d.V.0.0, d.V.0.1, d.V.0.2})
             assert not STOP [T= yes({|c.X.A.0|} == {c.X.A.0.1.true, c.X.A.0.1.false})
             assert c.X.A.0.1.true -> STOP [T= c.X.A.0?x!true -> STOP
             assert ([] b : Bool @ c.X.A.0.1.b -> STOP [] c.X.A.1.0.b -> STOP) [T= c.X.A?x?y?b -> STOP
             assert c?y?b -> STOP [T= c?X.A.m.n?b -> STOP
             assert STOP [T= c?X.E?b -> STOP
             assert d?w -> STOP [T= d.V?x?y -> (if x == y then STOP else STOP)"
        ),
        "hhhhhhhhh"
    );
}

#[test]
fn buffers_and_sequences() {
    let source = "
        N = 3
        channel left, right : {0..1}
        BUFF(s) = #s < N & left?x -> BUFF(s^<x>) [] not null(s) & right!head(s) -> BUFF(tail(s))
        BUFFS(<>) = left?x -> BUFFS(<x>)
        BUFFS(<x>^s) = right!x -> BUFFS(s) [] (if #s < N - 1 then left?y -> BUFFS(<x>^s^<y>) else STOP)
        COPY = left?x -> right!x -> COPY
        channel mid : {0..1}
        TWO = (COPY[[right <- mid]] [| {| mid |} |] COPY[[left <- mid]]) \\ {| mid |}
        assert BUFF(<>) [T= BUFFS(<>)
        assert BUFFS(<>) [T= BUFF(<>)
        assert BUFF(<>) [T= TWO
        assert TWO [T= BUFF(<>)
        assert TWO :[deadlock free]
        assert TWO :[divergence free]
        assert BUFF(<>) [T= right?x -> STOP";
    assert_eq!(verdicts(source), "hhhfhhf");
    let outcomes = check(source);
    // The chain holds two, the specification three.
    assert_eq!(counterexample(&outcomes[3]).visible().count(), 3);
}

#[test]
fn operators_of_every_kind() {
    let source = "
        channel a, b, c
        assert (a -> SKIP ; b -> SKIP) [T= a -> b -> SKIP
        assert a -> b -> STOP [T= a -> SKIP ; b -> STOP
        assert (a -> STOP) /\\ (b -> STOP) [T= a -> b -> STOP
        assert a -> STOP [T= (a -> STOP) /\\ (b -> STOP)
        assert ([] x : {a, b} @ x -> STOP) [T= b -> STOP
        assert (|~| x : {a, b} @ x -> STOP) [T= a -> STOP [] b -> STOP
        assert (||| x : {a, b} @ x -> SKIP) [T= b -> a -> SKIP
        assert ([| {b} |] x : {a, c} @ x -> b -> STOP) [T= c -> a -> b -> STOP
        assert (|| x : {a, c} @ [{x, b}] x -> b -> STOP) [T= c -> b -> STOP
        assert (; x : <a, b, c> @ x -> SKIP) [T= a -> b -> c -> SKIP
        assert (a -> b -> STOP) [{a} || {b}] (b -> STOP) [T= b -> a -> STOP
        assert (a -> b -> STOP) [| {a} |> (c -> STOP) [T= a -> c -> STOP
        assert (a -> STOP) [> (b -> STOP) [T= b -> STOP
        assert (a -> b -> STOP) \\ {a} [T= b -> STOP
        assert (a -> b -> STOP)[[a <- b, a <- c]] [T= c -> b -> STOP
        assert CHAOS({a, b}) [T= RUN({a, b})
        assert not RUN({a}) [T= CHAOS({a, b})
        assert CHAOS({a}) :[deadlock free]
        assert RUN({a}) \\ {a} :[divergence free]
        assert not DIV :[divergence free]
        assert SKIP :[deadlock free [F]]";
    assert_eq!(verdicts(source), "hhhfhhhhfhhhhhhhhffhh");
}

#[test]
fn values_functions_and_scopes() {
    // Every line is an assertion that the guard lets through only if its condition is true.
    let conditions = [
        "7 / 2 == 3 and (-7) / 2 == -4 and (-7) % 2 == 1 and 7 % (-2) == -1 and -7 / 2 == -3",
        "union({1, 2}, {2, 3}) == {1..3} and inter({1, 2}, {2, 3}) == {2} and diff({1, 2}, {2}) == {1}",
        "Union({{1}, {2}}) == {1, 2} and Inter({{1, 2}, {2}}) == {2}",
        "card({1, 1, 2}) == 2 and member(1, {1}) and empty({}) and not empty({1})",
        "Set({1, 2}) == {{}, {1}, {2}, {1, 2}} and {1} < {1, 2} and <1> <= <1, 2> and not <2> <= <1, 2>",
        "head(<1, 2>) == 1 and tail(<1, 2>) == <2> and null(<>) and elem(2, <1, 2>) and #<1, 1> == 2",
        "concat(<<1>, <>, <2>>) == <1, 2> and set(<2, 1, 2>) == {1, 2} and seq({2, 1}) == <1, 2>",
        "{x + y | x <- {1, 2}, y <- {10}, x != 1} == {12} and <x | (x, true) <- <(1, true), (2, false)>> == <1>",
        "let y = 3 f(z) = y + z within f(4) == 7",
        "(\\ p, q @ p - q)(5, 3) == 2",
        "apply(double, 4) == 8 and fact(10) == 3628800",
        "swap((1, 2)) == (2, 1) and size(Leaf) == 0 and size(Node.Leaf.2) == 3",
        "{| c.0 |} == {c.0.true, c.0.false} and extensions(c) == {x.y | x <- {0..1}, y <- Bool}",
        "Pairs == {(0, false), (0, true), (1, false), (1, true)} and card(Tree) == 4",
        "if 1 < 2 then true else head(<>) == 1",
        "ev(16) and not ev(7) and down(50) and let f(n) = if n == 0 then 1 else f(n - 1) within f(9) == 1",
    ];
    let mut source = "
        channel ok
        channel c : {0..1}.Bool
        nametype Pairs = ({0..1}, Bool)
        datatype Flat = Leaf
        datatype Tree = Tip | Node.Flat.{1..3}
        double(n) = 2 * n
        apply(f, n) = f(n)
        fact(0) = 1
        fact(n) = n * fact(n - 1)
        swap((p, q)) = (q, p)
        size(Leaf) = 0
        size(Node.t.n) = size(t) + n + 1
        ev(0) = true
        ev(n) = od(n - 1)
        od(0) = false
        od(n) = ev(n - 1)
        down(n) = if n == 0 then true else down(n - 1)\n"
        .to_owned();
    for condition in conditions {
        source.push_str(&format!("assert not STOP [T= ({condition}) & ok -> STOP\n"));
    }
    for (condition, outcome) in conditions.iter().zip(check(&source)) {
        assert_eq!(outcome.verdict, AssertionVerdict::Holds, "{condition}");
    }
}

#[test]
fn processes_are_values_and_recursion_is_local() {
    let source = "
        transparent normal
        channel a, b
        twice(P) = P ; P
        choose(x) = if x then a -> SKIP else b -> SKIP
        LOOP = let X = a -> Y
                   Y = b -> X
               within X
        ALIAS = LOOP
        COUNT(n) = n < 3 & a -> COUNT(n + 1) [] n > 0 & b -> COUNT(n - 1)
        assert a -> a -> SKIP [T= twice(a -> SKIP)
        assert twice(choose(true)) [T= a -> a -> SKIP
        assert LOOP [T= a -> b -> a -> STOP
        assert normal(ALIAS) [T= LOOP
        assert COUNT(0) [T= LOOP
        assert LOOP [T= COUNT(0)
        assert COUNT(0) :[deadlock free]";
    assert_eq!(verdicts(source), "hhhhhfh");
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    for (source, message) in [
        ("P = Q\nassert P [T= P", "1:5: `Q` is not defined"),
        ("channel a\nchannel a", "2:1: `a` is already declared at 1:1"),
        ("P = STOP\nQ = STOP\nP = SKIP", "3:1: `P` is already declared at 1:1"),
        ("f(x, x) = 1", "1:6: `x` is bound twice"),
        ("f(x) = 1\nf(x, y) = 2", "2:1: the clauses of `f` differ in their number of parameters"),
        ("f(s^t) = 1", "1:3: only one part of a concatenation pattern may have an unknown length"),
        ("channel c : {0..1}\nassert STOP [T= c.2 -> STOP", "2:17: `2` is not a value of `c`: {0, 1}"),
        (
            "channel c : {0..1}.Bool\nassert STOP [T= c.1 -> STOP",
            "2:17: `c.1` is not a complete event: 1 fields are missing",
        ),
        ("assert STOP [T= 1 -> STOP", "1:17: `1` is an integer, not an event"),
        ("assert STOP [T= 1", "1:17: expected a process, found an integer: 1"),
        ("channel a\nP(0) = a -> STOP\nassert STOP [T= P(1)", "3:18: no clause of `P` matches (1)"),
        ("P(x) = STOP\nassert STOP [T= P(1, 2)", "2:18: `P` takes 1 arguments and is given 2"),
        ("assert STOP [T= (1 / 0 == 1) & STOP", "1:20: division by zero"),
        ("x = x + 1\nassert STOP [T= (x == 1) & STOP", "1:5: `x` is defined by itself"),
        ("datatype T = L | N.T\nchannel c : T\nassert STOP [T= c?x -> STOP", "1:1: `N` has infinitely many values"),
        ("assert STOP [T= STOP \\ {1}", "1:24: `1` is an integer, not an event"),
        ("channel a\nassert STOP [T= if a then STOP else STOP", "2:20: expected a boolean, found a name: a"),
        ("assert STOP [T= (head(<>) == 1) & STOP", "1:22: `head` of an empty sequence"),
        ("P = P\nassert P [T= P", "1:5: `P` is defined by itself"),
        ("channel a\nP = P [] a -> STOP\nassert STOP [T= P", "P recurses without an event before the recursive call"),
    ] {
        assert_eq!(problem(source), message, "{source}");
    }
}

#[test]
fn unbounded_models_end_with_a_clear_message() {
    let limits = Limits { states: 20_000, cells: 2_000_000, stop: None };
    for (source, part) in [
        ("P(n) = a -> P(n + 1)\nassert P(0) :[deadlock free]", "the budget of 20000 states"),
        ("P(s) = a -> P(s^<1>)\nassert P(<>) :[deadlock free]", "the memory budget of 2000000 cells"),
        ("P = a -> (P ||| P)\nassert P :[deadlock free]", "budget of"),
        ("P = a -> (P ; P)\nassert P :[deadlock free]", "budget of"),
        ("P = a -> (P /\\ b -> STOP)\nassert RUN({a, b}) [T= P", "budget of"),
        ("P(n) = a -> P(n + 1)\nassert P(0) \\ {a} [T= STOP ||| P(0)", "budget of"),
        ("P(n) = if n < 0 then STOP else P(n + 1)\nassert P(0) :[deadlock free]", "operators deep"),
        ("f(n) = {x | x <- {1}, y <- f(n + 1)}\nassert (f(0) == {}) & STOP [T= STOP", "nested calls"),
        ("assert (let f(n) = <(1, f(n))> within f(0) == <>) & STOP [T= STOP", "nested calls"),
        ("f(n) = f(n + 1)\nassert (f(0) == 1) & STOP [T= STOP", "nested calls"),
    ] {
        let source = format!("channel a, b\n{source}");
        let outcomes = check_file(&source, &limits).expect("is well formed");
        match &outcomes[0].verdict {
            AssertionVerdict::Unknown(limit) => {
                assert!(limit.to_string().contains(part), "{source}\n{limit}");
            }
            other => panic!("{source}\n{other:?}"),
        }
    }
}

#[test]
fn a_check_can_be_cancelled() {
    // Each spends its time elsewhere: in states, in one expression, in the combinations of one
    // step, in one silent closure.
    for source in [
        "channel a\nP(n) = a -> P(n + 1)\nassert STOP [T= P(0) \\ {a}",
        "f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1)\nassert STOP [T= (f(60) == 0) & STOP",
        "channel a : {0..20}\nP = [] n : {0..7} @ a.n -> R(n)\nR(n) = a.n -> R(n)\nQ = P[[a.n <- a.0 | n <- {0..7}]]
         assert RUN({|a|}) [T= [| {|a|} |] n : {1..20} @ (Q ; a.n -> STOP)",
        "channel a\nP(n) = a -> P(n + 1)\nassert P(0) \\ {a} [T= STOP",
    ] {
        for cause in [CheckStop::Time, CheckStop::Memory, CheckStop::Interrupt] {
            let asked = AtomicUsize::new(0);
            let stop = || (asked.fetch_add(1, Ordering::Relaxed) >= 50_000).then_some(cause);
            let limits = Limits { stop: Some(&stop), ..Limits::default() };
            let outcomes = check_file(source, &limits).expect("is well formed");
            let AssertionVerdict::Unknown(LimitReached::Stopped { cause: given, .. }) = &outcomes[0].verdict else {
                panic!("{source}\n{}", outcomes[0]);
            };
            assert_eq!(*given, cause);
            let asked = asked.into_inner();
            assert!(asked < 50_010, "{source}: went on for {asked} questions");
        }
    }
}

#[test]
fn division_rounds_down_and_remainders_have_the_sign_of_the_divisor() {
    // As in FDR's evaluator: `div` and `mod` of Haskell.
    let cases =
        [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-6, 2, -3, 0), (6, -2, -3, 0), (0, -5, 0, 0)];
    for (first, second, quotient, rest) in cases {
        let source = format!(
            "channel a\nx = ({first})\ny = ({second})\n\
             assert STOP [T= (x / y == {quotient} and x % y == {rest}) & a -> STOP"
        );
        assert_eq!(verdicts(&source), "f", "{first} by {second}");
    }
    // A minus binds like a difference, looser than a quotient.
    assert_eq!(verdicts("channel a\nassert STOP [T= (-7 / 2 == -3 and -7 % 2 == -1) & a -> STOP"), "f");
    assert_eq!(
        verdicts("channel a\nleast = -9223372036854775807 - 1\nassert STOP [T= (least % (-1) == 0) & a -> STOP"),
        "f"
    );
    assert!(problem("assert STOP [T= ((-9223372036854775807 - 1) / (-1) == 0) & STOP").contains("does not fit"));
}

/// The states and transitions of the drawing: `0 -a-> 1`.
fn drawn(source: &str, process: Option<&str>, limits: &Limits<'_>) -> (Vec<LtsState>, Vec<String>) {
    let lts = draw(source, process, limits).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let arrows = lts.transitions.iter().map(|step| format!("{} -{}-> {}", step.from, step.action, step.to));
    (lts.states.clone(), arrows.collect())
}

#[test]
fn transition_systems_have_the_states_and_steps_of_the_process() {
    use LtsState::{Cut, Deadlock, Ordinary, Terminated};
    let source = "channel a, b, c\nP = a -> (b -> SKIP [] c -> STOP)\nQ(n) = a -> Q(n + 1)
                  assert P \\ {a} :[deadlock free]";
    let all = Limits::default();
    let (states, arrows) = drawn(source, Some("P"), &all);
    assert_eq!(arrows, ["0 -a-> 1", "1 -b-> 2", "1 -c-> 3", "2 -✓-> 4"]);
    assert_eq!(states, [Ordinary, Ordinary, Ordinary, Deadlock, Terminated]);
    // Without a name, the process of the first assertion.
    assert_eq!(drawn(source, None, &all).1[0], "0 -[a]-> 1");
    assert_eq!(drawn(source, Some("P |~| STOP"), &all).1[..2], ["0 -τ-> 1", "0 -τ-> 2"]);
    // Twelve interleavings of two chains, and no state twice.
    let (states, arrows) = drawn(source, Some("(a -> a -> STOP) ||| (b -> c -> b -> STOP)"), &all);
    assert_eq!((states.len(), arrows.len()), (12, 17));
    let few = Limits { states: 3, ..Limits::default() };
    assert_eq!(
        drawn(source, Some("Q(0)"), &few),
        (vec![Ordinary, Ordinary, Cut], vec!["0 -a-> 1".into(), "1 -a-> 2".into()])
    );
    for (process, part) in
        [("R", "`R` is not defined"), ("P +", "in the process"), ("P P", "an operator or the end"), ("3", "")]
    {
        let error = draw(source, Some(process), &all).expect_err(process).to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = draw("channel a\nP = a -> P\nP2 = STOP", None, &all).expect_err("names no process").to_string();
    assert!(error.ends_with("defined are P, P2"), "{error}");
}

#[test]
fn drawings_are_graphs_of_graphviz() {
    let source = "channel a, b\nP = a -> ((b -> SKIP)\\{b}) [] b -> STOP";
    let text = draw(source, Some("P"), &Limits::default()).expect("ends").to_string();
    for line in [
        "digraph \"P\" {",
        "  start -> s0;",
        "  s0 -> s1 [label=\"a\"];",
        "  s1 -> s3 [label=\"τ\", style=dashed, tooltip=\"b\"];",
        "  s3 -> s4 [label=\"✓\"];",
        "  s4 [label=\"Ω\", shape=doublecircle, tooltip=\"terminated\"];",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.contains("s2 [label=\"2\", style=filled"), "{text}");
}

#[test]
fn counterexamples_say_who_takes_part() {
    let outcomes = check(
        "channel lock, unlock : {1..2}.{1..2}
         MUTEX(m) = lock?t!m -> unlock.t.m -> MUTEX(m)
         T(t) = lock.t.t -> lock.t.(3 - t) -> unlock.t.t -> unlock.t.(3 - t) -> SKIP
         THREADS = T(1) ||| T(2)
         MUTEXES = MUTEX(1) ||| MUTEX(2)
         SYSTEM = THREADS [| {| lock, unlock |} |] MUTEXES
         assert SYSTEM :[deadlock free]
         channel a, b, c
         assert a -> (b -> STOP [] c -> STOP) [T= a -> a -> STOP
         L = a -> L
         assert b -> ((L [| {a} |] L) \\ {a}) :[divergence free]
         assert (b -> L [| {a} |] L) \\ {a} :[divergence free]",
    );
    let text = outcomes[0].to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).skip(2).collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["1", "lock.1.1", "T(1),", "MUTEX(1)"], "{text}");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["2", "lock.2.2", "T(2),", "MUTEX(2)"], "{text}");
    for line in [
        "T(1) waits for lock.1.2",
        "T(2) waits for lock.2.1",
        "MUTEX(1) waits for unlock.1.1",
        "MUTEX(2) waits for unlock.2.2",
    ] {
        assert!(lines.contains(&line), "{line}\n{text}");
    }
    assert!(outcomes[1].to_string().ends_with("not allowed; the specification allows b, c"), "{}", outcomes[1]);
    assert!(outcomes[2].to_string().ends_with("  1  b\n       then for ever\n    2  [a]"), "{}", outcomes[2]);
    assert!(
        outcomes[3].to_string().ends_with("    1  b  b -> ..\n       then for ever\n    2  [a]  L, b -> .."),
        "{}",
        outcomes[3]
    );
}

#[test]
fn deadlocks_and_divergences_come_with_their_trace() {
    let outcomes = check(
        "channel take, drop : {0..1}.{0..1}
         FORK(f) = take?p!f -> drop.p.f -> FORK(f)
         PHIL(p) = take.p.p -> take.p.(1 - p) -> drop.p.p -> drop.p.(1 - p) -> PHIL(p)
         TABLE = (||| p : {0..1} @ PHIL(p)) [| {| take, drop |} |] (||| f : {0..1} @ FORK(f))
         channel a, b
         assert TABLE :[deadlock free]
         assert a -> RUN({b}) \\ {b} :[divergence free]",
    );
    let dinner = counterexample(&outcomes[0]);
    assert_eq!(dinner.violation, Violation::Deadlock);
    let mut taken = events(dinner);
    taken.sort();
    assert_eq!(taken, ["take.0.0", "take.1.1"]);
    let busy = counterexample(&outcomes[1]);
    assert_eq!(busy.to_string(), "trace <a>, then for ever <[b]>");
}

#[test]
fn errors_inside_one_assertion_leave_the_others_alone() {
    let outcomes = check("channel c : {0..1}\nassert STOP [T= c.7 -> STOP\nassert STOP [T= STOP");
    assert!(matches!(&outcomes[0].verdict, AssertionVerdict::Broken(CheckError::Source(_))));
    assert_eq!(outcomes[1].verdict, AssertionVerdict::Holds);
}
