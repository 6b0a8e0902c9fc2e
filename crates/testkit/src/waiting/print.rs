//! Programs that wait busily, as C text.

use std::fmt::Write;

use super::{Counter, GivesUp, Look, Noise, Outlook, Step, WORDS, Waiter, WaitingProgram};

/// A way to count rounds: what is needed before the loop, and an expression that counts one more
/// and says how many there were. `counts[WAITER]` is a waiter's own entry.
pub const COUNTERS: [(&str, &str); 20] = [
    ("int n = 0;", "++n"),
    ("", "++caller->first"),
    ("", "++caller->far"),
    ("int *n = calloc(1, sizeof *n);", "++*n"),
    ("", "++of_thread"),
    ("", "++counts[WAITER]"),
    ("", "printed(caller->text)"),
    ("", "(int)strlen(strcat(caller->text, \"x\"))"),
    ("", "drawn(&caller->seed)"),
    ("", "specific()"),
    ("", "masked()"),
    ("pthread_setname_np(pthread_self(), \"a\");", "named()"),
    ("", "copied(&counts[WAITER])"),
    ("umask(0);", "umasked()"),
    ("int first = dup(0);", "dup(0) - first"),
    ("int file = memfd_create(\"counter\", 0);", "(int)lseek(file, 1, SEEK_CUR)"),
    // Pointers to frames, in all places where a pointer can be.
    ("int own = 0; int *volatile n = &own;", "++*n"),
    ("where[WAITER] = &caller->first;", "counted(&where[WAITER])"),
    ("int **n = malloc(sizeof *n); *n = &caller->far;", "counted(n)"),
    (
        "int **n = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); *n = &caller->first;",
        "counted(n)",
    ),
];

/// Those that leave all that they change in memory.
pub const COUNTERS_IN_MEMORY: [usize; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 18];

/// Those that belong to the whole process.
pub const PROCESS_WIDE: [usize; 3] = [13, 14, 15];

/// Calls and statements without an effect.
pub const CALLS: [&str; 14] = [
    "usleep(1);",
    "sched_yield();",
    "nanosleep(&(struct timespec){ 0, 1000 }, NULL);",
    "getpid();",
    "{ struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now); }",
    "{ char text[16]; snprintf(text, sizeof text, \"%d\", 7); }",
    "{ unsigned seed = 1; rand_r(&seed); }",
    "poll(NULL, 0, 0);",
    "atomic_thread_fence(memory_order_seq_cst);",
    "if (memcmp(caller->pad, \"ab\", 2) == 0) abort();",
    "if (strlen(caller->pad) > 0) abort();",
    "if (pthread_equal(pthread_self(), creator)) abort();",
    "__builtin_ia32_pause();",
    "poll(NULL, 0, 1);",
];

/// Those that change nothing outside of memory, and do not ask for the time.
pub const CALLS_IN_MEMORY: [usize; 8] = [1, 5, 6, 8, 9, 10, 11, 12];

const PRELUDE: &str = r#"#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct caller { int first; char pad[9000]; int far; unsigned seed; char text[64]; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_changed = PTHREAD_COND_INITIALIZER;
static sem_t posts;
static int ends[2], data, guarded, served;
static atomic_int spin, tickets, turn;
static pthread_t creator;
static pthread_key_t key;
static __thread int of_thread;
static int counts[8], *where[8];

static __attribute__((noinline)) int counted(int **at)
{
    return ++**at;
}

static inline int printed(char *text)
{
    snprintf(text, 16, "%d", atoi(text) + 1);
    return atoi(text);
}

static inline int drawn(unsigned *seed)
{
    unsigned from = 0;
    int draws = 0;
    for (rand_r(seed); from != *seed; draws++)
        rand_r(&from);
    return draws;
}

static inline int specific(void)
{
    pthread_setspecific(key, (char *)pthread_getspecific(key) + 1);
    return (int)(long)pthread_getspecific(key);
}

static inline int masked(void)
{
    sigset_t set;
    int blocked = 1;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    while (sigismember(&set, SIGRTMIN + blocked))
        blocked++;
    sigaddset(&set, SIGRTMIN + blocked);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    return blocked;
}

static inline int named(void)
{
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    name[0]++;
    pthread_setname_np(pthread_self(), name);
    return name[0] - 'a';
}

static __attribute__((noinline)) int copied(void *at)
{
    int count;
    memcpy(&count, at, sizeof count);
    count++;
    memcpy(at, &count, sizeof count);
    return count;
}

static inline int umasked(void)
{
    mode_t before = umask(0);
    umask(before + 1);
    return (int)before + 1;
}

static inline int is_over(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begun->tv_sec >= 1;
}

static inline void in_a_second(struct timespec *until)
{
    clock_gettime(CLOCK_REALTIME, until);
    until->tv_sec++;
}
"#;

/// The text of a program.
#[must_use]
pub fn print(program: &WaitingProgram) -> String {
    let mut text = String::from(PRELUDE);
    // Compilers drop loops that wait for what is known never to change.
    let words: Vec<String> = (0..WORDS).map(|word| format!("w{word}")).collect();
    let _ = writeln!(text, "atomic_int {};", words.join(", "));
    for (index, waiter) in program.waiters.iter().enumerate() {
        waiting(&mut text, index, waiter);
    }
    for (index, steps) in program.workers.iter().enumerate() {
        let _ = writeln!(text, "\nstatic void *work{index}(void *arg)\n{{");
        steps.iter().for_each(|&step| text.push_str(&statement(step)));
        text.push_str("    return arg;\n}\n");
    }
    main_function(&mut text, program);
    text
}

fn statement(step: Step) -> String {
    match step {
        Step::Set(word) => format!("    w{word} = 1;\n"),
        Step::Clear(word) => format!("    w{word} = 0;\n"),
        Step::SetData => {
            "    pthread_mutex_lock(&lock);\n    data = 1;\n    pthread_cond_broadcast(&is_changed);\n    \
                          pthread_mutex_unlock(&lock);\n"
                .into()
        }
        Step::HoldAndSet(word) => {
            format!("    pthread_mutex_lock(&lock);\n    w{word} = 1;\n    pthread_mutex_unlock(&lock);\n")
        }
        Step::Post => "    sem_post(&posts);\n".into(),
        Step::Raise(word) => {
            format!("    {{ int now = w{word}; while (!atomic_compare_exchange_strong(&w{word}, &now, now + 1)); }}\n")
        }
        Step::SpinAndSet(word) => {
            format!("    while (atomic_exchange(&spin, 1));\n    guarded++;\n    w{word} = 1;\n    spin = 0;\n")
        }
        Step::TakeTurn => {
            "    { int mine = atomic_fetch_add(&tickets, 1);\n    while (turn != mine);\n    served++;\n    \
                           turn = mine + 1; }\n"
                .into()
        }
        Step::Send => "    if (write(ends[1], \"x\", 1) != 1) abort();\n".into(),
    }
}

/// A condition that is true if the round has found what it looks for.
fn found(look: Look) -> String {
    match look {
        Look::Word(word) => format!("w{word}"),
        Look::Equals(word, value) => format!("w{word} == {value}"),
        Look::Both(one, other) => format!("w{one} && w{other}"),
        Look::Swap(word) => format!("atomic_compare_exchange_strong(&w{word}, &(int){{ 1 }}, 2)"),
        Look::Data => "({ pthread_mutex_lock(&lock); int found = data; pthread_mutex_unlock(&lock); found; })".into(),
        Look::TryLock => "pthread_mutex_trylock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0".into(),
        Look::TryWait => "sem_trywait(&posts) == 0".into(),
        Look::TimedWait => {
            "({ struct timespec until; in_a_second(&until); sem_timedwait(&posts, &until) == 0; })".into()
        }
        Look::TimedCond => "data".into(),
        Look::Poll(milliseconds) => {
            format!("({{ struct pollfd entry = {{ ends[0], POLLIN, 0 }}; poll(&entry, 1, {milliseconds}) == 1; }})")
        }
    }
}

fn waiting(text: &mut String, index: usize, waiter: &Waiter) {
    let (setup, over) = match waiter.patience {
        None => (String::new(), String::new()),
        Some(GivesUp { counter: Counter::Deadline, .. }) => (
            "    struct timespec begun;\n    clock_gettime(CLOCK_MONOTONIC, &begun);\n".into(),
            "is_over(&begun)".into(),
        ),
        Some(GivesUp { counter: Counter::Kept(kind), rounds }) => {
            let (setup, count) = COUNTERS[kind];
            let own = |part: &str| part.replace("WAITER", &index.to_string());
            (format!("    {}\n", own(setup)), format!("{} >= {rounds}", own(count)))
        }
    };
    let holds = waiter.look == Look::TimedCond;
    let _ = writeln!(text, "\nstatic __attribute__((noinline)) int loop{index}(struct caller *caller)\n{{");
    text.push_str("    int gave_up = 0;\n    (void)caller;\n");
    text.push_str(&setup);
    if holds {
        text.push_str("    pthread_mutex_lock(&lock);\n");
    }
    let _ = writeln!(text, "    while (!({})) {{", found(waiter.look));
    if holds {
        text.push_str("        struct timespec until;\n        in_a_second(&until);\n");
        text.push_str("        pthread_cond_timedwait(&is_changed, &lock, &until);\n");
    }
    waiter.noise.iter().for_each(|&noise| body(text, noise));
    if !over.is_empty() {
        let _ = writeln!(text, "        if ({over}) {{\n            gave_up = 1;\n            break;\n        }}");
    }
    text.push_str("    }\n");
    if holds {
        text.push_str("    pthread_mutex_unlock(&lock);\n");
    }
    let _ = writeln!(text, "    return gave_up;\n}}\n\nstatic void *wait{index}(void *arg)\n{{");
    text.push_str("    struct caller caller;\n    memset(&caller, 0, sizeof caller);\n");
    let _ = writeln!(text, "    int gave_up = loop{index}(&caller);");
    match waiter.claim {
        Outlook::Nothing => text.push_str("    (void)gave_up;\n"),
        Outlook::Found => text.push_str("    assert(!gave_up);\n"),
        Outlook::Unset(word) => {
            let _ = writeln!(text, "    (void)gave_up;\n    assert(w{word} == 0);");
        }
    }
    text.push_str("    return arg;\n}\n");
}

fn body(text: &mut String, noise: Noise) {
    let _ = match noise {
        Noise::Reads(word, times) => {
            writeln!(text, "        for (int i = 0; i < {times}; i++)\n            atomic_load(&w{word});")
        }
        Noise::InnerLoop(word) => {
            writeln!(text, "        for (int i = 0; i < 3 && !atomic_load(&w{word}); i++)\n            ;")
        }
        Noise::EmptySection => {
            writeln!(text, "        pthread_mutex_lock(&lock);\n        pthread_mutex_unlock(&lock);")
        }
        Noise::Call(call) => writeln!(text, "        {}", CALLS[call]),
    };
}

fn main_function(text: &mut String, program: &WaitingProgram) {
    let functions: Vec<String> = (0..program.waiters.len())
        .map(|index| format!("wait{index}"))
        .chain((0..program.workers.len()).map(|index| format!("work{index}")))
        .collect();
    let count = functions.len();
    let _ = writeln!(text, "\nint main(void)\n{{\n    pthread_t threads[{count}];");
    text.push_str("    creator = pthread_self();\n    pthread_key_create(&key, NULL);\n    sem_init(&posts, 0, 0);\n");
    let uses_pipe = program.waiters.iter().any(|waiter| matches!(waiter.look, Look::Poll(_)))
        || program.workers.iter().flatten().any(|&step| step == Step::Send);
    if uses_pipe {
        text.push_str("    if (pipe(ends) != 0) abort();\n");
    }
    for (index, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "    pthread_create(&threads[{index}], NULL, {function}, NULL);");
    }
    for index in 0..count {
        let _ = writeln!(text, "    pthread_join(threads[{index}], NULL);");
    }
    text.push_str("    return 0;\n}\n");
}
