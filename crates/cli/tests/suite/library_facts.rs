//! Static facts about library functions cover what the runtime records: a race on the buffer of a
//! call that the first execution does not make is found by the strategies that prune.

use crate::common::analyser::analyser;
use crate::common::{Place, finish, for_each, raddle};
use raddle_testkit::effort::is_more;
use serde_json::Value;

/// Calls with one buffer, `shared`, that they read or write. For each group of files in the
/// runtime, with the functions that the analyser knows and others.
const CALLS: &[&str] = &[
    // Copies and searches.
    "memcpy(own, shared, 8)",
    "memcpy(shared, own, 8)",
    "memmove(shared, own, 24)",
    "memset(shared, 1, 8)",
    "result = memcmp(shared, own, 8)",
    "result = bcmp(shared, own, 8)",
    "bzero(shared, 8)",
    "strcpy(shared, own)",
    "strcpy(own, shared)",
    "strncpy(shared, own, 8)",
    "strcat(shared, own)",
    "strncat(own, shared, 8)",
    "stpcpy(shared, own)",
    "mempcpy(shared, own, 8)",
    "result = strlen(shared)",
    "result = strnlen(shared, 8)",
    "result = strcmp(shared, own)",
    "result = strncmp(own, shared, 8)",
    "result = strchr(shared, 'x') != 0",
    "result = strrchr(shared, 'x') != 0",
    "result = strstr(shared, \"x\") != 0",
    "result = memchr(shared, 1, 8) != 0",
    "free(strdup(shared))",
    "free(strndup(shared, 8))",
    "result = strcasecmp(shared, own)",
    "result = strncasecmp(own, shared, 8)",
    "result = strspn(shared, own)",
    "result = strpbrk(shared, own) != 0",
    "char *at = own; strtok_r(shared, own, &at)",
    "strtok_r(own, own, (char **)shared)",
    "result = wcslen((wchar_t *)shared)",
    "wmemset((wchar_t *)shared, 1, 2)",
    "qsort(shared, 2, 4, compare)",
    // Numbers and times.
    "result = atoi(shared)",
    "result = atol(shared)",
    "result = atof(shared) != 0",
    "result = strtol(shared, 0, 10)",
    "result = strtol(own, (char **)shared, 10)",
    "result = strtoul(own, (char **)shared, 10)",
    "result = strtod(own, (char **)shared) != 0",
    "result = strtoll(own, (char **)shared, 10)",
    "time_t zero = 0; gmtime_r(&zero, (struct tm *)shared)",
    "struct tm parts; gmtime_r((time_t *)shared, &parts)",
    "struct tm parts = {0}; strftime(shared, 64, \"%Y\", &parts)",
    "strftime(own, 64, \"%Y\", (struct tm *)shared)",
    "result = rand_r((unsigned *)shared)",
    "result = frexp(3, (int *)shared) != 0",
    "time((time_t *)shared)",
    "clock_gettime(CLOCK_MONOTONIC, (struct timespec *)shared)",
    "gettimeofday((struct timeval *)shared, 0)",
    // Printing and scanning.
    "printf(\"%s\", shared)",
    "int count; printf(\"%s%n\", shared, &count)",
    "printf(\"%n\", (int *)shared)",
    "fprintf(stdout, \"%s\", shared)",
    "fprintf(stderr, \"%n\", (int *)shared)",
    "sprintf(shared, \"%d\", 1)",
    "sprintf(own, \"%s\", shared)",
    "sprintf(own, \"%n\", (int *)shared)",
    "snprintf(shared, 8, \"%d\", 1)",
    "snprintf(own, 8, \"%s\", shared)",
    "snprintf(own, 8, \"%n\", (int *)shared)",
    "print_list(own, \"%s\", shared)",
    "puts(shared)",
    "fputs(shared, stdout)",
    "fwrite(shared, 1, 8, stdout)",
    "perror(shared)",
    "result = sscanf(shared, \"%d\", &value)",
    "result = sscanf(\"1\", \"%d\", (int *)shared)",
    // Descriptors and files.
    "result = write(1, shared, 1)",
    "result = pipe((int *)shared)",
    "struct stat about; result = stat(shared, &about)",
    "result = stat(\"/\", (struct stat *)shared)",
    "result = read(open(\"/dev/zero\", O_RDONLY), shared, 8)",
    "result = getcwd(shared, 64) != 0",
    // Environment.
    "result = getenv(shared) != 0",
    // Threads.
    "pthread_join(other, (void **)shared); joined = 1",
    "pthread_create((pthread_t *)shared, 0, nothing, 0); pthread_join(*(pthread_t *)shared, 0)",
    "pthread_attr_init((pthread_attr_t *)shared)",
    "pthread_mutexattr_init((pthread_mutexattr_t *)shared)",
    "sem_t semaphore; sem_init(&semaphore, 0, 1); sem_getvalue(&semaphore, (int *)shared); sem_destroy(&semaphore)",
    "pthread_key_create((pthread_key_t *)shared, 0)",
];

/// The first thread to run is main, which then makes no call. In the other order the call is not
/// ordered with the write of the other thread.
const PROGRAM: &str = "\
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static char shared[256] __attribute__((aligned(16)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ready;

void *nothing(void *argument) { return argument; }
int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
void print_list(char *into, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(into, 8, format, list);
    va_end(list);
}

static void *announce(void *argument)
{
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
    shared[0] = 0;
    return 0;
}

static void *watch(void *argument)
{
    pthread_t other = *(pthread_t *)argument;
    char own[256] = {0};
    int value = 0, joined = 0;
    long result = 0;
    (void)own, (void)value, (void)joined, (void)result, (void)other;
    pthread_mutex_lock(&mutex);
    int is_ready = ready;
    pthread_mutex_unlock(&mutex);
    if (is_ready) {
        CALL;
    }
    return 0;
}

int main(void)
{
    pthread_t first, other, ended;
    pthread_create(&ended, 0, nothing, 0);
    pthread_create(&first, 0, watch, &ended);
    pthread_create(&other, 0, announce, 0);
    pthread_join(first, 0);
    pthread_join(other, 0);
    return 0;
}
";

/// Compares the strategies for one call.
fn compare(call: &str) -> Result<(), String> {
    let place = Place::new();
    place.write("program.c", PROGRAM.replace("CALL", call));
    let mut compiler = place.command(raddle());
    compiler.env("RADDLE_CC", "clang-19").args(["cc", "-w", "-pthread", "program.c", "-o", "program"]);
    let built = finish(&mut compiler);
    if !built.status.success() {
        return Err(format!("{call}: {}", built.all()));
    }
    for strategy in ["optimal", "pdp", "dhtc"] {
        let done = place.raddle(["check", "--json", "-", "--quiet", "--strategy", strategy, "./program"]);
        let report: Value =
            serde_json::from_str(&done.stdout).map_err(|error| format!("{call}: {error}: {}", done.all()))?;
        let mut findings = report["findings"].as_array().into_iter().flatten();
        let name = |finding: &Value| finding["variable"].as_str().unwrap_or_default().starts_with("shared");
        if !findings.any(|finding| finding["kind"] == "data-race" && name(finding)) {
            return Err(format!("{call}: {strategy} does not find the race: {report:#}"));
        }
    }
    Ok(())
}

#[test]
fn races_on_buffers_of_library_calls_are_not_pruned() {
    analyser();
    // A part of the calls of each group; all of them with `--more`.
    let stride = if is_more() { 1 } else { 4 };
    let calls: Vec<&str> = CALLS.iter().copied().step_by(stride).collect();
    for_each(&calls, |call| compare(call));
}
