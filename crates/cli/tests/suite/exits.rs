//! Random programs whose threads end the process in all ways and share its handlers, against brute
//! force over an interpreter that knows what the C library does: the exit statuses that are no
//! success, and the checks in handlers that can fail, have to be the same, whatever the search.
//!
//! The interpreter ends with the first end of the process, as a real process does. In raddle's runs
//! threads go on behind it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use raddle_testkit::effort::{chosen_seeds, sample};
use raddle_vocab::policy::mix;
use serde_json::Value;

use crate::common::{Place, finish, for_each, raddle};

/// Programs that are compared with `--more`, times ten; a third of them otherwise.
const PROGRAMS: u64 = 40;
/// The first seed.
const FIRST: u64 = 1;
const VARIABLES: usize = 2;
/// Exhaustive search of a program with more schedules is left out.
const SCHEDULES: &str = "3000";

#[derive(Clone, Copy)]
enum Act {
    Store(usize, u8),
    Exit(u8),
    QuickExit(u8),
    ExitNow(u8),
    Register(usize),
    RegisterQuick(usize),
    /// Goes on with the next act only if the variable has this value.
    If(usize, u8),
}

#[derive(Clone, Copy)]
enum HandlerAct {
    Store(usize, u8),
    /// Fails if the variable has this value.
    Check(usize, u8),
}

struct Program {
    /// Main comes first.
    threads: Vec<Vec<Act>>,
    handlers: Vec<Vec<HandlerAct>>,
    /// Whether main joins the other threads before it returns.
    joins: bool,
    /// What main returns.
    status: u8,
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15));
        (self.0 >> 20) % bound
    }

    fn place(&mut self) -> (usize, u8) {
        (self.below(VARIABLES as u64) as usize, self.below(3) as u8)
    }
}

fn generate(seed: u64) -> Program {
    let mut draw = Draw(mix(seed));
    let handlers: Vec<Vec<HandlerAct>> = (0..1 + draw.below(3))
        .map(|_| {
            (0..1 + draw.below(2))
                .map(|_| match (draw.below(3), draw.place()) {
                    (0, (variable, value)) => HandlerAct::Store(variable, value),
                    (_, (variable, value)) => HandlerAct::Check(variable, value),
                })
                .collect()
        })
        .collect();
    let mut status = 0;
    let mut next_status = |draw: &mut Draw| {
        status += 1;
        if draw.below(3) == 0 { 0 } else { status }
    };
    let count = 2 + draw.below(2);
    let mut threads: Vec<Vec<Act>> = (0..count)
        .map(|_| {
            let mut acts = Vec::new();
            for _ in 0..1 + draw.below(3) {
                let (variable, value) = draw.place();
                if draw.below(4) == 0 {
                    acts.push(Act::If(draw.below(VARIABLES as u64) as usize, draw.below(3) as u8));
                }
                let handler = draw.below(handlers.len() as u64) as usize;
                acts.push(match draw.below(12) {
                    0..=4 => Act::Store(variable, value),
                    5 | 6 => Act::Exit(next_status(&mut draw)),
                    7 => Act::QuickExit(next_status(&mut draw)),
                    8 => Act::ExitNow(next_status(&mut draw)),
                    9 | 10 => Act::Register(handler),
                    _ => Act::RegisterQuick(handler),
                });
            }
            acts
        })
        .collect();
    let first = draw.below(handlers.len() as u64) as usize;
    threads[0].insert(0, Act::Register(first));
    let joins = draw.below(2) == 0;
    Program { threads, handlers, joins, status: next_status(&mut draw) }
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Act(usize),
    /// It takes the next handler.
    Takes {
        quick: bool,
        status: u8,
    },
    Handler {
        quick: bool,
        status: u8,
        handler: usize,
        act: usize,
    },
    /// It has taken all handlers.
    Ends(u8),
    Done,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    variables: [u8; VARIABLES],
    threads: Vec<At>,
    /// Handlers of `exit` and of `quick_exit`.
    lists: [Vec<usize>; 2],
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    Status(u8),
    /// The check fails that is this act of this handler.
    Check(usize, usize),
}

impl Program {
    /// Everything that can go wrong: all orders are tried.
    fn truth(&self) -> BTreeSet<Wrong> {
        let mut first = vec![At::Done; self.threads.len()];
        first[0] = At::Act(0);
        let start = State { variables: [0; VARIABLES], threads: first, lists: [Vec::new(), Vec::new()] };
        // The first act of main registers a handler before the other threads are created.
        let mut start = self.step(&start, 0, &mut BTreeSet::new()).expect("a registration");
        start.threads[1..].fill(At::Act(0));
        let (mut met, mut open, mut wrong) = (BTreeSet::from([start.clone()]), vec![start], BTreeSet::new());
        while let Some(state) = open.pop() {
            for thread in 0..self.threads.len() {
                if let Some(next) = self.step(&state, thread, &mut wrong).filter(|next| !met.contains(next)) {
                    met.insert(next.clone());
                    open.push(next);
                }
            }
        }
        wrong
    }

    /// The state behind the next step of a thread; none if it makes none, or the process ends.
    fn step(&self, state: &State, thread: usize, wrong: &mut BTreeSet<Wrong>) -> Option<State> {
        let mut next = state.clone();
        let end = |status: u8, wrong: &mut BTreeSet<Wrong>| {
            wrong.extend((status != 0).then_some(Wrong::Status(status)));
            None
        };
        let to = match state.threads[thread] {
            At::Done => return None,
            At::Ends(status) => return end(status, wrong),
            At::Takes { quick, status } => match next.lists[usize::from(quick)].pop() {
                Some(handler) => At::Handler { quick, status, handler, act: 0 },
                None => At::Ends(status),
            },
            At::Handler { quick, status, handler, act } => match self.handlers[handler].get(act) {
                None => At::Takes { quick, status },
                Some(&made) => {
                    match made {
                        HandlerAct::Store(variable, value) => next.variables[variable] = value,
                        HandlerAct::Check(variable, value) if next.variables[variable] == value => {
                            wrong.insert(Wrong::Check(handler, act));
                            return None;
                        }
                        HandlerAct::Check(..) => {}
                    }
                    At::Handler { quick, status, handler, act: act + 1 }
                }
            },
            At::Act(at) => match self.threads[thread].get(at) {
                None if thread > 0 => At::Done,
                None if self.joins && state.threads[1..].iter().any(|other| *other != At::Done) => return None,
                None => At::Takes { quick: false, status: self.status },
                Some(&act) => match act {
                    Act::Exit(status) => At::Takes { quick: false, status },
                    Act::QuickExit(status) => At::Takes { quick: true, status },
                    Act::ExitNow(status) => return end(status, wrong),
                    _ => At::Act(at + next.perform(act)),
                },
            },
        };
        next.threads[thread] = to;
        Some(next)
    }

    /// The program in C, and the line of each check.
    fn print(&self) -> (String, Vec<(u64, Wrong)>) {
        let mut text = String::from(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
             #include <unistd.h>\n",
        );
        let mut lines = Vec::new();
        for variable in 0..VARIABLES {
            let _ = writeln!(text, "static atomic_int v{variable};");
        }
        for (handler, acts) in self.handlers.iter().enumerate() {
            let _ = writeln!(text, "static void h{handler}(void) {{");
            for (act, made) in acts.iter().enumerate() {
                let _ = match made {
                    HandlerAct::Store(variable, value) => writeln!(text, "    v{variable} = {value};"),
                    HandlerAct::Check(variable, value) => {
                        lines.push((text.lines().count() as u64 + 1, Wrong::Check(handler, act)));
                        writeln!(text, "    assert(v{variable} != {value});")
                    }
                };
            }
            text.push_str("}\n");
        }
        for (thread, acts) in self.threads.iter().enumerate().skip(1) {
            let _ = writeln!(text, "static void *t{thread}(void *arg) {{");
            acts.iter().for_each(|act| text.push_str(&act.print()));
            text.push_str("    return arg;\n}\n");
        }
        let _ = writeln!(text, "int main(void) {{\n    pthread_t all[{}];", self.threads.len());
        let (first, rest) = self.threads[0].split_first().expect("main registers a handler");
        text.push_str(&first.print());
        for thread in 1..self.threads.len() {
            let _ = writeln!(text, "    pthread_create(&all[{thread}], 0, t{thread}, 0);");
        }
        rest.iter().for_each(|act| text.push_str(&act.print()));
        for thread in (1..self.threads.len()).filter(|_| self.joins) {
            let _ = writeln!(text, "    pthread_join(all[{thread}], 0);");
        }
        let _ = writeln!(text, "    return {};\n}}", self.status);
        (text, lines)
    }
}

impl Act {
    fn print(self) -> String {
        match self {
            Act::Store(variable, value) => format!("    v{variable} = {value};\n"),
            Act::Exit(status) => format!("    exit({status});\n"),
            Act::QuickExit(status) => format!("    quick_exit({status});\n"),
            Act::ExitNow(status) => format!("    _exit({status});\n"),
            Act::Register(handler) => format!("    atexit(h{handler});\n"),
            Act::RegisterQuick(handler) => format!("    at_quick_exit(h{handler});\n"),
            Act::If(variable, value) => format!("    if (v{variable} == {value})\n"),
        }
    }
}

impl State {
    /// Does what an act does that ends nothing; how many acts further the thread is.
    fn perform(&mut self, act: Act) -> usize {
        match act {
            Act::Store(variable, value) => self.variables[variable] = value,
            Act::Register(handler) => self.lists[0].push(handler),
            Act::RegisterQuick(handler) => self.lists[1].push(handler),
            Act::If(variable, value) if self.variables[variable] != value => return 2,
            Act::If(..) | Act::Exit(_) | Act::QuickExit(_) | Act::ExitNow(_) => {}
        }
        1
    }
}

/// What a search has found; nothing if it has met the bound on executions.
fn found(place: &Place, options: &[&str], lines: &[(u64, Wrong)]) -> Result<Option<BTreeSet<Wrong>>, String> {
    let words = [&["check", "--json", "-", "--quiet"], options, &["./program"]].concat();
    let done = place.raddle(words);
    let report: Value = serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.all()))?;
    match report["reason"]["code"].as_str() {
        None => {}
        Some("max-executions") => return Ok(None),
        Some(_) => return Err(format!("{options:?}: {}", report["reason"])),
    }
    let mut all = BTreeSet::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        if finding["severity"] != "error" {
            continue;
        }
        let line = finding["accesses"][0]["place"]["line"].as_u64();
        let status = finding["message"].as_str().and_then(|text| text.rsplit(' ').next()?.parse().ok());
        all.insert(match finding["detail"].as_str() {
            Some("exit-status") => Wrong::Status(status.ok_or_else(|| finding.to_string())?),
            _ => lines.iter().find(|(at, _)| Some(*at) == line).ok_or_else(|| finding.to_string())?.1,
        });
    }
    Ok(Some(all))
}

fn compare(seed: u64) -> Result<(), String> {
    let program = generate(seed);
    let (truth, (text, lines)) = (program.truth(), program.print());
    let wrong = |what: &str, found: &dyn std::fmt::Debug| format!("seed {seed}: {what}: {found:?}\n{text}");
    let place = Place::new();
    place.write("program.c", &text);
    let compiler = ["gcc", "clang-19"][(seed % 2) as usize];
    let words = ["cc", "-g", "-pthread", "-w", "program.c", "-o", "program"];
    let built = finish(place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    if !built.status.success() {
        return Err(wrong("build", &built.all()));
    }
    let searches: [&[&str]; 4] = [
        &["--strategy", "optimal"],
        &["--strategy", "stateful"],
        &[],
        &["--strategy", "dfs", "--max-executions", SCHEDULES],
    ];
    for options in searches {
        match found(&place, options, &lines).map_err(|error| wrong("report", &error))? {
            Some(found) if found != truth => return Err(wrong(&options.join(" "), &(&found, &truth))),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn ends_of_the_process_come_in_every_order() {
    let seeds: Vec<u64> = chosen_seeds().unwrap_or(FIRST..FIRST + sample(PROGRAMS)).collect();
    for_each(&seeds, |&seed| compare(seed));
}
