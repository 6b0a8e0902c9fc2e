//! The programs as C: POSIX threads and the atomic operations of C11.
//!
//! Plain data is volatile: no compiler adds or removes an access. What registers and locations hold
//! at the end decides how the program exits. Main reads atomic locations plainly then.

use std::fmt::Write as _;

use raddle_vocab::MemOrder;

use super::program::{Ins, Val, WeakProgram};
use super::target::Left;

/// Registers that are looked at in the end.
const KEPT: usize = 8;
/// Locations of each kind.
const ATOMICS: usize = 3;
const PAIR: usize = 2;

const HEAD: &str = "\
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#define EXCHANGE_IF atomic_compare_exchange_strong_explicit

static atomic_ulong x[3];
static volatile unsigned long data[2];
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static sem_t semaphore[2];
static unsigned long kept[4][8];
";

/// A program in C.
#[must_use]
pub fn print(program: &WeakProgram) -> String {
    let mut text = HEAD.to_string();
    for (thread, code) in program.iter().enumerate() {
        let _ = writeln!(text, "\nstatic void *thread{thread}(void *arg) {{\n    unsigned long r[8] = {{0}};");
        for (at, ins) in code.iter().enumerate() {
            let _ = writeln!(text, "l{at}:;\n    {}", instruction(at, ins));
        }
        let _ = writeln!(text, "l{}:;", code.len());
        for register in 0..KEPT {
            let _ = writeln!(text, "    kept[{thread}][{register}] = r[{register}];");
        }
        text += "    return arg;\n}\n";
    }
    text += "\nint main(void) {\n    pthread_t thread[4];\n";
    text += "    for (int at = 0; at < 2; at++)\n        sem_init(&semaphore[at], 0, 0);\n";
    for thread in 0..program.len() {
        let _ = writeln!(text, "    pthread_create(&thread[{thread}], NULL, thread{thread}, NULL);");
    }
    let threads = program.len();
    let _ = writeln!(text, "    for (int at = 0; at < {threads}; at++)\n        pthread_join(thread[at], NULL);");
    text += "    unsigned long all = 0;\n";
    let _ = writeln!(text, "    for (int at = 0; at < {threads}; at++)\n        for (int n = 0; n < 8; n++)");
    text += "            all = all * 31 + kept[at][n];\n";
    text += "    for (int at = 0; at < 3; at++)\n        all = all * 31 + *(volatile unsigned long *)&x[at];\n";
    text += "    for (int at = 0; at < 2; at++)\n        all = all * 31 + data[at];\n";
    text += "    return (int)(all % 127 + 1);\n}\n";
    text
}

/// The status with which a run of the program exits that leaves this.
#[must_use]
pub fn exit_status(left: &Left) -> i64 {
    let registers = left.registers.iter().flat_map(|registers| &registers[..KEPT]);
    let data = left.values.len() - PAIR;
    let all = registers.chain(&left.values[..ATOMICS]).chain(&left.values[data..]);
    (all.fold(0u64, |all, value| all.wrapping_mul(31).wrapping_add(*value)) % 127 + 1) as i64
}

fn order(order: MemOrder) -> &'static str {
    match order {
        MemOrder::Relaxed => "memory_order_relaxed",
        MemOrder::Consume => "memory_order_consume",
        MemOrder::Acquire => "memory_order_acquire",
        MemOrder::Release => "memory_order_release",
        MemOrder::AcqRel => "memory_order_acq_rel",
        MemOrder::SeqCst => "memory_order_seq_cst",
    }
}

fn value(val: Val) -> String {
    match val {
        Val::Const(value) => format!("{value}ul"),
        Val::Reg(register, more) => format!("r[{register}] + {more}"),
    }
}

fn instruction(at: usize, ins: &Ins) -> String {
    match *ins {
        Ins::Write(loc, val, o) => format!("atomic_store_explicit(&x[{loc}], {}, {});", value(val), order(o)),
        Ins::Read(r, loc, o) => format!("r[{r}] = atomic_load_explicit(&x[{loc}], {});", order(o)),
        Ins::Add(r, loc, more, o) => format!("r[{r}] = atomic_fetch_add_explicit(&x[{loc}], {more}, {});", order(o)),
        Ins::Swap(r, loc, val, o) => {
            format!("r[{r}] = atomic_exchange_explicit(&x[{loc}], {}, {});", value(val), order(o))
        }
        Ins::Cas(r, loc, expected, new, success, failure) => format!(
            "{{ unsigned long expected = {}; EXCHANGE_IF(&x[{loc}], &expected, {}, {}, {}); r[{r}] = expected; }}",
            value(expected),
            value(new),
            order(success),
            order(failure)
        ),
        Ins::Fence(o) => format!("atomic_thread_fence({});", order(o)),
        Ins::If(r, wanted, skipped) => format!("if (r[{r}] != {wanted}) goto l{};", at + 1 + skipped),
        Ins::Lock(mutex) => format!("pthread_mutex_lock(&mutex[{mutex}]);"),
        Ins::Unlock(mutex) => format!("pthread_mutex_unlock(&mutex[{mutex}]);"),
        Ins::TryLock(r, mutex) => format!("r[{r}] = pthread_mutex_trylock(&mutex[{mutex}]) != 0;"),
        Ins::Take(semaphore) => format!("sem_wait(&semaphore[{semaphore}]);"),
        Ins::Post(semaphore) => format!("sem_post(&semaphore[{semaphore}]);"),
        Ins::Await(r, loc, wanted, o) => {
            format!("while ((r[{r}] = atomic_load_explicit(&x[{loc}], {})) != {wanted});", order(o))
        }
        Ins::AwaitUpdate(r, loc, wanted, o) => {
            format!("while ((r[{r}] = atomic_fetch_add_explicit(&x[{loc}], 0, {})) != {wanted});", order(o))
        }
        Ins::Store(data, val) => format!("data[{data}] = {};", value(val)),
        Ins::Load(r, data) => format!("r[{r}] = data[{data}];"),
    }
}
