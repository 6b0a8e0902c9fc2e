//! Abstract programs as C: POSIX threads and the compilers' atomic built-ins.
//!
//! Compiled with `-O0`, the program makes exactly the transitions of the abstract one, and no data
//! access that the abstract one does not make: registers and handles are locals whose address is
//! never taken. An optimising compiler leaves accesses out, unless they are volatile, and all that
//! does not reach a result ([`Style`]).

use std::fmt::Write as _;

use raddle_model::object::Patience;
use raddle_vocab::{MemOrder, MutexKind};

use super::heap;
use super::program::{AbstractOp, AbstractPlace, AbstractProgram, Expr, HANDLES, POINTERS, REGISTERS, RmwOp, Stmt};

/// A program in C.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The file.
    pub text: String,
    /// By place in the abstract program (the `pc` of its events and accesses): the line, from 1; 0
    /// where there is none.
    pub lines: Vec<u32>,
}

/// How programs are printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Variables are volatile: no compiler adds or removes an access.
    pub volatile: bool,
    /// What registers hold at the end of a thread is kept, and main exits with a status that
    /// depends on all that is kept and on all variables, if it has joined all threads.
    pub shows_end: bool,
}

/// Registers that are kept at the end of a thread: those that programs compute with.
const KEPT: usize = 5;

const HEAD: &str = "\
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define UNSEEN __attribute__((no_sanitize(\"thread\"), noinline)) static

void __VERIFIER_assume(int condition);
unsigned raddle_choose(unsigned values);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

/* A deadline that a wait may reach or not. */
static const struct timespec later = { 4102444800, 0 };

UNSEEN int rest(int a, int b) { return b > 0 ? a % b : 0; }
UNSEEN int element(int i, int n) { int r = i % n; return r < 0 ? r + n : r; }
UNSEEN pthread_t start(void *(*body)(void *), int arg)
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, (void *)(long)arg);
    return thread;
}
";

/// Prints a program.
#[must_use]
pub fn print(program: &AbstractProgram) -> Printed {
    print_as(program, Style::default())
}

/// Prints a program in a style.
#[must_use]
pub fn print_as(program: &AbstractProgram, style: Style) -> Printed {
    let mut printer = Printer { program, style, functions: Vec::new(), pc: 0 };
    for number in 0..program.bodies.len() {
        printer.body(number);
    }
    for number in 0..program.functions.len() {
        let mut lines = Vec::new();
        printer.block(&program.functions[number], &mut lines, 1, "return;");
        printer.line(&mut lines, 1, "return;".into());
        printer.function(format!("static void f{number}(int arg)"), "arg", lines);
    }
    let mut text = HEAD.to_string();
    declarations(program, style, &mut text);
    if style.shows_end {
        end_of_program(program, &mut text);
    }
    let mut lines = vec![0; printer.pc as usize + 1];
    let mut line = text.lines().count() as u32;
    for (source, pc) in printer.functions {
        line += 1;
        if let Some(pc) = pc {
            lines[pc as usize] = line;
        }
        text.push_str(&source);
        text.push('\n');
    }
    Printed { text, lines }
}

/// What keeps registers, and what makes a status of all that is there at the end.
fn end_of_program(program: &AbstractProgram, text: &mut String) {
    let threads = program.bodies.len();
    let _ = writeln!(text, "static int kept[{threads}][{KEPT}];");
    let _ = writeln!(text, "UNSEEN void keep(int *to, {})\n{{", registers("int r"));
    let _ = writeln!(text, "    int all[] = {{ {} }};", registers("r"));
    let _ = writeln!(text, "    for (int i = 0; i < {KEPT}; i++) to[i] = all[i];\n}}");
    text.push_str("UNSEEN int status(void)\n{\n    unsigned sum = 0;\n");
    for (id, var) in program.vars.iter().enumerate() {
        let element = if var.len == 1 { format!("v{id}") } else { format!("v{id}[i]") };
        let _ = writeln!(text, "    for (int i = 0; i < {}; i++) sum = sum * 31 + {element};", var.len);
    }
    let _ = writeln!(text, "    for (int t = 1; t < {threads}; t++)");
    let _ = writeln!(text, "        for (int i = 0; i < {KEPT}; i++) sum = sum * 37 + kept[t][i];");
    text.push_str("    return (sum ^ sum >> 7 ^ sum >> 14 ^ sum >> 21) & 127;\n}\n\n");
}

/// The registers that are kept, separated by commas.
fn registers(before: &str) -> String {
    (0..KEPT).map(|register| format!("{before}{register}")).collect::<Vec<_>>().join(", ")
}

/// Whether main creates all threads and joins them.
fn joins_all(program: &AbstractProgram) -> bool {
    let count = |is_it: fn(&AbstractOp) -> bool| {
        program.bodies[0].iter().filter(|stmt| matches!(stmt, Stmt::Op(op) if is_it(op))).count()
    };
    let threads = (1..program.bodies.len()).filter(|&body| !program.is_handler(body)).count();
    let created = count(|op| matches!(op, AbstractOp::Create { .. }));
    created == threads && count(|op| matches!(op, AbstractOp::Join(_))) == threads
}

/// The word before the type of a variable, if it has one.
fn volatile(style: Style) -> &'static str {
    if style.volatile { "volatile " } else { "" }
}

fn declarations(program: &AbstractProgram, style: Style, text: &mut String) {
    let volatile = volatile(style);
    text.push('\n');
    if program.has_handlers() {
        text.push_str("#include <signal.h>\nstatic pthread_t main_thread;\n");
    }
    let array = |len: usize| if len == 1 { String::new() } else { format!("[{len}]") };
    for (id, var) in program.vars.iter().enumerate() {
        let init = if var.len == 1 {
            format!("{}", var.init)
        } else {
            format!("{{ [0 ... {}] = {} }}", var.len - 1, var.init)
        };
        let _ = writeln!(text, "static {volatile}int v{id}{} = {init};", array(var.len));
    }
    for id in 0..program.links {
        let _ = writeln!(text, "static {volatile}int *{volatile}g{id} = NULL;");
    }
    for (id, mutex) in program.mutexes.iter().enumerate() {
        let init = match mutex.kind {
            MutexKind::Recursive => "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP",
            MutexKind::ErrorCheck => "PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP",
            MutexKind::Normal | MutexKind::Spin => "PTHREAD_MUTEX_INITIALIZER",
        };
        let init = if mutex.len == 1 { init.to_string() } else { format!("{{ [0 ... {}] = {init} }}", mutex.len - 1) };
        let _ = writeln!(text, "static pthread_mutex_t m{id}{} = {init};", array(mutex.len));
    }
    for id in 0..program.rwlocks {
        let kind = if program.writers_first { "WRITER_NONRECURSIVE_INITIALIZER_NP" } else { "INITIALIZER" };
        let _ = writeln!(text, "static pthread_rwlock_t l{id} = PTHREAD_RWLOCK_{kind};");
    }
    for id in 0..program.conds {
        let _ = writeln!(text, "static pthread_cond_t c{id} = PTHREAD_COND_INITIALIZER;");
    }
    for id in 0..program.sems.len() {
        let _ = writeln!(text, "static sem_t s{id};");
    }
    for id in 0..program.barriers.len() {
        let _ = writeln!(text, "static pthread_barrier_t b{id};");
    }
    for id in 0..program.onces {
        let _ = writeln!(text, "static pthread_once_t o{id} = PTHREAD_ONCE_INIT;");
    }
    for number in 1..program.bodies.len() {
        if program.is_handler(number) {
            let _ = writeln!(text, "static void body{number}(int arg);");
        } else {
            let _ = writeln!(text, "static void *body{number}(void *arg);");
        }
    }
    for number in 0..program.functions.len() {
        let _ = writeln!(text, "static void f{number}(int arg);");
    }
    text.push('\n');
}

/// A line of C and the place that it stands for.
type Line = (String, Option<u64>);

struct Printer<'a> {
    program: &'a AbstractProgram,
    style: Style,
    /// Functions that are complete.
    functions: Vec<Line>,
    /// Places so far, numbered as the interpreter does.
    pc: u64,
}

impl Printer<'_> {
    fn body(&mut self, number: usize) {
        let (head, leave) = if number == 0 {
            ("int main(void)".to_string(), "return 0;")
        } else {
            (format!("static void *body{number}(void *arg)"), "return NULL;")
        };
        let (head, leave) = if self.program.is_handler(number) {
            (format!("static void body{number}(int arg)"), "return;")
        } else {
            (head, leave)
        };
        let leave = &self.leaving(number, leave);
        let mut lines = Vec::new();
        if number == 0 && self.program.has_handlers() {
            lines.push(("    main_thread = pthread_self();".into(), None));
            for handler in (1..self.program.bodies.len()).filter(|&body| self.program.is_handler(body)) {
                lines.push((format!("    signal(SIGRTMIN + {handler}, body{handler});"), None));
            }
        }
        if number == 0 {
            for (id, value) in self.program.sems.iter().enumerate() {
                self.line(&mut lines, 1, format!("sem_init(&s{id}, 0, {value});"));
            }
            for (id, count) in self.program.barriers.iter().enumerate() {
                self.line(&mut lines, 1, format!("pthread_barrier_init(&b{id}, NULL, {count});"));
            }
        }
        self.block(&self.program.bodies[number], &mut lines, 1, leave);
        self.line(&mut lines, 1, leave.into());
        self.function(head, if number == 0 { "0" } else { "(int)(long)arg" }, lines);
    }

    /// The same statement, with what shows the end.
    fn leaving(&self, number: usize, leave: &str) -> String {
        match number {
            _ if !self.style.shows_end => leave.into(),
            0 if joins_all(self.program) => "return status();".into(),
            0 => leave.into(),
            _ => format!("{{ keep(kept[{number}], {}); {leave} }}", registers("r")),
        }
    }

    /// Completes a function.
    fn function(&mut self, head: String, argument: &str, mut lines: Vec<Line>) {
        self.functions.extend([(head, None), ("{".into(), None)]);
        self.functions.append(&mut locals(argument, volatile(self.style), &lines));
        self.functions.append(&mut lines);
        self.functions.extend([("}".into(), None), (String::new(), None)]);
    }

    /// Adds a line that stands for the next place.
    fn line(&mut self, lines: &mut Vec<Line>, depth: usize, text: String) {
        self.pc += 1;
        lines.push((format!("{}{text}", "    ".repeat(depth)), Some(self.pc)));
    }

    fn block(&mut self, block: &[Stmt], lines: &mut Vec<Line>, depth: usize, leave: &str) {
        let close = |lines: &mut Vec<Line>, text: &str| lines.push((format!("{}{text}", "    ".repeat(depth)), None));
        for stmt in block {
            match stmt {
                Stmt::Op(op) => {
                    let text = self.op(op, leave);
                    self.line(lines, depth, text);
                }
                Stmt::If(condition, then, otherwise) => {
                    self.line(lines, depth, format!("if ({}) {{", expr(condition)));
                    self.block(then, lines, depth + 1, leave);
                    close(lines, "} else {");
                    self.block(otherwise, lines, depth + 1, leave);
                    close(lines, "}");
                }
                Stmt::While(condition, body) => {
                    self.line(lines, depth, format!("while ({}) {{", expr(condition)));
                    self.block(body, lines, depth + 1, leave);
                    close(lines, "}");
                }
                Stmt::Once(once, body) => {
                    let name = format!("once{}", self.pc + 1);
                    self.line(lines, depth, format!("pthread_once(&o{once}, {name});"));
                    let mut inner = Vec::new();
                    self.block(body, &mut inner, 1, "return;");
                    self.function(format!("static void {name}(void)"), "0", inner);
                }
                Stmt::Call(function, argument) => {
                    self.line(lines, depth, format!("f{function}({});", expr(argument)));
                }
            }
        }
    }

    fn op(&self, op: &AbstractOp, leave: &str) -> String {
        let var = |place: &AbstractPlace| element('v', place, self.program.vars[place.id].len);
        let mutex = |place: &AbstractPlace| element('m', place, self.program.mutexes[place.id].len);
        match op {
            AbstractOp::Set(reg, value) => format!("r{} = {};", number(*reg), expr(value)),
            AbstractOp::Read(reg, place) => format!("r{} = {};", number(*reg), var(place)),
            AbstractOp::Write(place, value) => format!("{} = {};", var(place), expr(value)),
            AbstractOp::Load(reg, place, order) => load(*reg, &var(place), *order),
            AbstractOp::Store(place, value, order) => {
                format!("__atomic_store_n(&{}, {}, {});", var(place), expr(value), word(*order))
            }
            AbstractOp::Rmw(reg, place, how, operand, order) => {
                let name = match how {
                    RmwOp::Add => "fetch_add",
                    RmwOp::Exchange => "exchange_n",
                    RmwOp::Or => "fetch_or",
                };
                let (place, operand) = (var(place), expr(operand));
                format!("r{} = __atomic_{name}(&{place}, {operand}, {});", number(*reg), word(*order))
            }
            AbstractOp::Cas { got, place, expected, desired, order } => {
                cas(number(*got), &var(place), &expr(expected), &expr(desired), *order)
            }
            AbstractOp::Await(reg, place, condition, order) => {
                format!("do {} while (!{});", load(*reg, &var(place), *order), expr(condition))
            }
            AbstractOp::Fence(order) => format!("__atomic_thread_fence({});", word(*order)),
            AbstractOp::Lock(place) => format!("pthread_mutex_lock(&{});", mutex(place)),
            AbstractOp::LockIf(reg, place, patience) => {
                let names = ["pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_timedlock"];
                acquire(*reg, names, *patience, &mutex(place))
            }
            AbstractOp::Unlock(place) => format!("pthread_mutex_unlock(&{});", mutex(place)),
            AbstractOp::ReadLock(reg, id, patience) => {
                let names = ["pthread_rwlock_rdlock", "pthread_rwlock_tryrdlock", "pthread_rwlock_timedrdlock"];
                acquire(*reg, names, *patience, &format!("l{id}"))
            }
            AbstractOp::WriteLock(reg, id, patience) => {
                let names = ["pthread_rwlock_wrlock", "pthread_rwlock_trywrlock", "pthread_rwlock_timedwrlock"];
                acquire(*reg, names, *patience, &format!("l{id}"))
            }
            AbstractOp::RwUnlock(id) => format!("pthread_rwlock_unlock(&l{id});"),
            AbstractOp::Wait(reg, id, place, Patience::Block) => {
                format!("r{} = pthread_cond_wait(&c{id}, &{}) == 0;", number(*reg), mutex(place))
            }
            AbstractOp::Wait(reg, id, place, _) => {
                format!("r{} = pthread_cond_timedwait(&c{id}, &{}, &later) == 0;", number(*reg), mutex(place))
            }
            AbstractOp::Signal(id) => format!("pthread_cond_signal(&c{id});"),
            AbstractOp::Broadcast(id) => format!("pthread_cond_broadcast(&c{id});"),
            AbstractOp::SemWait(reg, id, patience) => {
                acquire(*reg, ["sem_wait", "sem_trywait", "sem_timedwait"], *patience, &format!("s{id}"))
            }
            AbstractOp::SemPost(id) => format!("sem_post(&s{id});"),
            AbstractOp::Barrier(reg, id) => {
                format!("r{} = pthread_barrier_wait(&b{id}) == PTHREAD_BARRIER_SERIAL_THREAD;", number(*reg))
            }
            AbstractOp::Create { body, .. } if self.program.is_handler(*body) => {
                format!("pthread_kill(main_thread, SIGRTMIN + {body});")
            }
            AbstractOp::Create { slot, body, arg } => {
                format!("h{} = start(body{body}, {});", usize::from(*slot) % HANDLES, expr(arg))
            }
            AbstractOp::Join(slot) => {
                let handle = usize::from(*slot) % HANDLES;
                format!("if (h{handle}) pthread_join(h{handle}, NULL);")
            }
            AbstractOp::Assert(condition) => format!("assert({});", expr(condition)),
            AbstractOp::Assume(condition) => format!("__VERIFIER_assume({});", expr(condition)),
            AbstractOp::HandlerBegin => "{".into(),
            AbstractOp::HandlerReturn => "}".into(),
            AbstractOp::SectionBegin => "__VERIFIER_atomic_begin();".into(),
            AbstractOp::SectionEnd => "__VERIFIER_atomic_end();".into(),
            AbstractOp::Choose(reg, values) => format!("r{} = (int)raddle_choose({values});", number(*reg)),
            AbstractOp::Return => leave.into(),
            AbstractOp::Allocate { into, large } => {
                format!("p{} = malloc({});", pointer(*into), if *large { heap::LARGE } else { heap::SMALL })
            }
            AbstractOp::Free(own) => format!("free((void *)p{});", pointer(*own)),
            AbstractOp::ReadBlock(reg, own) => format!("r{0} = p{1} ? *p{1} : 0;", number(*reg), pointer(*own)),
            AbstractOp::WriteBlock(own, value) => format!("if (p{0}) *p{0} = {1};", pointer(*own), expr(value)),
            AbstractOp::Fetch(own, link) => format!("p{} = g{link};", pointer(*own)),
            AbstractOp::Share(link, Some(own)) => format!("g{link} = p{};", pointer(*own)),
            AbstractOp::Share(link, None) => format!("g{link} = NULL;"),
            AbstractOp::Swap(own, link, order) => {
                format!("p{0} = __atomic_exchange_n(&g{link}, p{0}, {1});", pointer(*own), word(*order))
            }
            AbstractOp::Forget(own) => format!("p{} = NULL;", pointer(*own)),
        }
    }
}

/// Declares the registers and handles that the lines use.
fn locals(argument: &str, volatile: &str, lines: &[Line]) -> Vec<Line> {
    let used = |letter: char, number: usize| {
        let name = format!("{letter}{number}");
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        lines.iter().any(|(text, _)| {
            let mut places = text.match_indices(&name);
            places.any(|(at, _)| {
                !inside(text[..at].chars().next_back()) && !inside(text[at + name.len()..].chars().next())
            })
        })
    };
    let registers = (0..REGISTERS).filter(|&reg| used('r', reg));
    let initial = |reg: usize| if reg == 0 { argument } else { "0" };
    let registers = registers.map(|reg| format!("    int r{reg} = {};", initial(reg)));
    let handles = (0..HANDLES).filter(|&slot| used('h', slot)).map(|slot| format!("    pthread_t h{slot} = 0;"));
    let pointers = (0..POINTERS).filter(|&own| used('p', own));
    let pointers = pointers.map(|own| format!("    {volatile}int *p{own} = NULL;"));
    registers.chain(handles).chain(pointers).map(|text| (text, None)).collect()
}

fn pointer(own: u8) -> usize {
    usize::from(own) % POINTERS
}

fn number(reg: u8) -> usize {
    usize::from(reg) % REGISTERS
}

fn element(letter: char, place: &AbstractPlace, len: usize) -> String {
    match (len, &place.index) {
        (1, _) => format!("{letter}{}", place.id),
        (_, Expr::Const(index)) => format!("{letter}{}[{}]", place.id, index.rem_euclid(len as i32)),
        (_, index) => format!("{letter}{}[element({}, {len})]", place.id, expr(index)),
    }
}

fn load(reg: u8, place: &str, order: MemOrder) -> String {
    format!("r{} = __atomic_load_n(&{place}, {});", number(reg), word(order))
}

/// The form without a local for the expected value exists for sequential consistency only.
fn cas(got: usize, place: &str, expected: &str, desired: &str, order: MemOrder) -> String {
    if order == MemOrder::SeqCst {
        return format!("r{got} = __sync_bool_compare_and_swap(&{place}, {expected}, {desired});");
    }
    let failure = match order {
        MemOrder::Release => MemOrder::Relaxed,
        MemOrder::AcqRel => MemOrder::Acquire,
        other => other,
    };
    let orders = format!("{}, {}", word(order), word(failure));
    format!("{{ int e = {expected}; r{got} = __atomic_compare_exchange_n(&{place}, &e, {desired}, 0, {orders}); }}")
}

fn acquire(reg: u8, names: [&str; 3], patience: Patience, object: &str) -> String {
    let (name, deadline) = match patience {
        Patience::Block => (names[0], ""),
        Patience::Try => (names[1], ""),
        Patience::Timed => (names[2], ", &later"),
    };
    format!("r{} = {name}(&{object}{deadline}) == 0;", number(reg))
}

fn word(order: MemOrder) -> &'static str {
    match order {
        MemOrder::Relaxed => "__ATOMIC_RELAXED",
        MemOrder::Consume => "__ATOMIC_CONSUME",
        MemOrder::Acquire => "__ATOMIC_ACQUIRE",
        MemOrder::Release => "__ATOMIC_RELEASE",
        MemOrder::AcqRel => "__ATOMIC_ACQ_REL",
        MemOrder::SeqCst => "__ATOMIC_SEQ_CST",
    }
}

/// Sums and products wrap around, which signed ones in C do not.
fn expr(value: &Expr) -> String {
    match value {
        Expr::Const(value) => format!("({value})"),
        Expr::Reg(reg) => format!("r{}", number(*reg)),
        Expr::Add(a, b) => format!("(int)((unsigned){} + (unsigned){})", expr(a), expr(b)),
        Expr::Mul(a, b) => format!("(int)((unsigned){} * (unsigned){})", expr(a), expr(b)),
        Expr::Rem(a, b) => format!("rest({}, {})", expr(a), expr(b)),
        Expr::Eq(a, b) => format!("({} == {})", expr(a), expr(b)),
        Expr::Less(a, b) => format!("({} < {})", expr(a), expr(b)),
        Expr::Not(a) => format!("(!{})", expr(a)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Knobs, generate};
    use super::*;

    #[test]
    fn every_place_has_its_line() {
        for seed in 0..200 {
            let program = generate(seed, &Knobs::everything(3, 5));
            let printed = print(&program);
            let lines: Vec<&str> = printed.text.lines().collect();
            for (pc, &line) in printed.lines.iter().enumerate().skip(1) {
                assert!(line > 0 && !lines[line as usize - 1].trim().is_empty(), "seed {seed}: place {pc}");
            }
        }
    }

    #[test]
    fn operations_look_like_c() {
        let program = AbstractProgram::parallel(
            1,
            1,
            vec![vec![AbstractOp::Lock(AbstractPlace::of(0)).into(), AbstractOp::Read(1, AbstractPlace::of(0)).into()]],
        );
        let printed = print(&program);
        assert!(
            printed.text.contains("    pthread_mutex_lock(&m0);\n    r1 = v0;\n    return NULL;\n}"),
            "{}",
            printed.text
        );
        // Main: create, join, end; then the lock.
        let line = printed.text.lines().position(|line| line.contains("pthread_mutex_lock")).unwrap() + 1;
        assert_eq!(printed.lines[4], line as u32);
    }
}
