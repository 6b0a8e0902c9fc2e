//! Random programs whose outcome depends on clocks, as C text.
//!
//! Threads read clocks, sleep, wait with time-outs, hand over by locks and atomic operations, and
//! keep what they have found, or only a part of it. At its end main reduces what was kept, and what
//! the clock shows then, to a few *ends*, and a false assertion on a line of its own tells which
//! one it is: the findings of a search are the ends that it has seen.
//!
//! All data is behind locks, so there are no races, and nothing waits for ever.

use core::fmt::Write;

use raddle_vocab::policy::mix;

use crate::generate::Rng;

/// Ends that are told apart.
const ENDS: usize = 16;
/// Pieces of shared data, each with a lock.
const SLOTS: usize = 2;

const HEAD: &str = "\
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#define BASE 1700000000L
#define SECOND 1000000000L
static pthread_mutex_t m[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static atomic_long a;
static long x[2], y, kept[8], order;
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (t.tv_sec - BASE) * SECOND + t.tv_nsec;
}
static void *orders(void *number)
{
    pthread_mutex_lock(&m[1]);
    order = order * 4 + (long)number;
    pthread_mutex_unlock(&m[1]);
    return 0;
}
static struct timespec in(long span)
{
    long at = now() + span;
    return (struct timespec){ BASE + at / SECOND, at % SECOND };
}
";

/// Statements of main.
const START_ORDERS: &str = "    for (long i = 1; i < 4; i++)\n        pthread_create(&o[i], 0, orders, (void *)i);\n";

/// The program of a seed.
#[must_use]
pub fn print(seed: u64) -> String {
    let rng = &mut Rng::new(mix(seed ^ 0x636c_6f63));
    let mut text = HEAD.to_string();
    // One or two phases, so that clocks are read when all else is forgotten.
    let phases: Vec<usize> = (0..1 + rng.below(2)).map(|_| 2 + usize::from(rng.below(4) == 0)).collect();
    let reads_in_first = rng.below(3) > 0;
    let mut thread = 0;
    for (phase, &threads) in phases.iter().enumerate() {
        for _ in 0..threads {
            let most = if threads > 2 { 2 } else { 3 };
            let reads = reads_in_first || phase > 0;
            let steps: Vec<String> = (0..most - rng.below(2)).map(|_| step(rng, reads)).collect();
            _ = write!(text, "static void *t{thread}(void *unused)\n{{\n    long v = 0, r = 0;\n");
            steps.iter().for_each(|step| _ = writeln!(text, "    {step}"));
            let keep = ["r", "r + v", "v", "r & 1"][rng.below(4)];
            _ = write!(text, "    kept[{thread}] = {keep};\n    return unused;\n}}\n");
            thread += 1;
        }
    }
    text += "static void end(long which)\n{\n";
    (0..ENDS).for_each(|end| _ = writeln!(text, "    assert(which != {end});"));
    text += "}\nint main(void)\n{\n    pthread_t t[8], o[4];\n    sem_init(&s, 0, 0);\n";
    // Threads whose order counts, behind the last phase or beside it. What only one of their orders
    // shows is missed if the states before them are taken for one.
    let is_ordered = rng.below(3) > 0;
    let beside = (is_ordered && rng.below(3) == 0).then_some(phases.len() - 1);
    let mut first = 0;
    for (phase, &threads) in phases.iter().enumerate() {
        let is_beside = beside == Some(phase);
        let all = first..first + threads;
        all.clone().for_each(|at| _ = writeln!(text, "    pthread_create(&t[{at}], 0, t{at}, 0);"));
        if is_beside {
            text += START_ORDERS;
        }
        all.clone().for_each(|at| _ = writeln!(text, "    pthread_join(t[{at}], 0);"));
        let is_last = all.end == thread;
        if (is_ordered || !is_last) && !is_beside && rng.below(2) == 0 {
            all.for_each(|at| _ = writeln!(text, "    kept[{at}] = 0;"));
            text += "    x[0] = x[1] = y = 0;\n    atomic_store(&a, 0);\n";
        }
        first += threads;
    }
    if is_ordered && beside.is_none() {
        text += START_ORDERS;
    }
    if is_ordered {
        text += "    for (long i = 1; i < 4; i++)\n        pthread_join(o[i], 0);\n";
    }
    let unit = rng.pick(&[1, 1_000, 1_000_000]);
    let of_time = ["0", "now()", "now() > 1500000"][if is_ordered { 1 + rng.below(2) } else { rng.below(3) }];
    let of_data = ["x[0] * 3 + x[1] * 7 + y + atomic_load(&a)", "0"][rng.below(2)];
    _ = writeln!(text, "    unsigned long h = ({of_time} / {unit}) * 11 + {of_data} + order * 13;");
    let unit = rng.pick(&[1, 500, 1_000_000]);
    _ = writeln!(text, "    for (int i = 0; i < {thread}; i++)\n        h = h * 31 + kept[i] / {unit};");
    _ = writeln!(text, "    end((h * 0x9e3779b97f4a7c15ul) >> 60);\n    return 0;\n}}");
    text
}

/// A statement of a thread, which reads clocks or does not.
fn step(rng: &mut Rng, reads: bool) -> String {
    let slot = rng.below(SLOTS);
    let number = rng.below(3);
    let span = rng.pick(&[1, 1_000, 2_000]);
    let wait = rng.pick(&[500, 1_500_000, 3_000_000]);
    let (lock, unlock) = (format!("pthread_mutex_lock(&m[{slot}]);"), format!("pthread_mutex_unlock(&m[{slot}]);"));
    let condition = ["v > 1000", "v & 1", "r", "!v"][rng.below(4)];
    let kinds = if reads { 18 } else { 9 };
    match rng.below(kinds) {
        0 => format!("{lock} x[{slot}] = {number}; {unlock}"),
        1 => format!("{lock} x[{slot}]++; {unlock}"),
        2 => format!("{lock} v = x[{slot}]; {unlock}"),
        3 => format!("{lock} if (x[{slot}] == {number}) usleep({span}); x[{slot}] ^= 1; {unlock}"),
        4 => format!("usleep({span});"),
        5 => format!("if ({condition}) usleep({span});"),
        6 => format!("v = atomic_fetch_add(&a, {}); if (v == {number}) usleep({span});", 1 + number),
        7 => format!("{lock} x[{slot}]++; {unlock} {lock} if (x[{slot}] > {number}) usleep({span}); {unlock}"),
        8 => "sem_post(&s);".to_string(),
        9 => format!("v = now(); {lock} x[{slot}] = v; {unlock}"),
        10 => format!("{lock} v = now() - x[{slot}]; r |= v > {span}000; {unlock}"),
        11 => format!("{{ long b = now(); {lock} x[{slot}]++; {unlock} r += now() - b > {span}000; }}"),
        12 => format!(
            "{{ struct timespec u = in({wait}); if (!pthread_mutex_timedlock(&m[{slot}], &u)) \
             {{ x[{slot}]++; usleep({span}); {unlock} }} else r += now() / 1000; }}"
        ),
        13 => format!(
            "{{ struct timespec u = in({wait}); v = sem_timedwait(&s, &u); \
             if (v) r += now() / 1000; else usleep({span}); }}"
        ),
        14 => format!(
            "{{ struct timespec u = in({wait}); pthread_mutex_lock(&m[0]); \
             if (!x[0]) v = pthread_cond_timedwait(&c, &m[0], &u); x[0] = {number}; pthread_mutex_unlock(&m[0]); }}"
        ),
        15 => "pthread_mutex_lock(&m[0]); x[0] = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m[0]);".to_string(),
        16 => [
            "pthread_rwlock_rdlock(&w); v = y; pthread_rwlock_unlock(&w);",
            "pthread_rwlock_wrlock(&w); y = now(); pthread_rwlock_unlock(&w);",
        ][rng.below(2)]
        .to_string(),
        _ => [
            "atomic_store(&a, now()); v = 0;".to_string(),
            "v = now() - atomic_load(&a); r |= v < 0;".to_string(),
            format!("for (int i = 0; i < 2 && now() < {wait}; i++) {{ {lock} x[{slot}]++; {unlock} usleep({span}); }}"),
            format!(
                "{{ struct timespec u = in({wait}); pthread_mutex_lock(&m[0]); \
                 while (!x[0]) if (pthread_cond_timedwait(&c, &m[0], &u)) break; v = x[0]; \
                 pthread_mutex_unlock(&m[0]); }}"
            ),
        ][rng.below(4)]
        .clone(),
    }
}
