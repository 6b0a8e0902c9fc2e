// compilers: gcc clang
// check:
// verdict: bug
// findings: 16
// finding: data-race detail=read-write var=random_bytes[0]
// finding: data-race detail=read-write var=entropy[0]
// finding: data-race detail=read-write var=timer
// finding: data-race detail=read-write var=left.it_interval.tv_sec
// finding: data-race detail=read-write var=interval.it_interval.tv_sec
// finding: data-race detail=read-write var=cancel_state
// finding: data-race detail=read-write var=cancel_type
// finding: data-race detail=read-write var=stack_before.ss_sp
// finding: data-race detail=read-write var=paths.gl_pathc
// finding: data-race detail=read-write var=entries
// finding: data-race detail=read-write var=pages[0]
// finding: data-race detail=read-write var=slice.tv_sec
// finding: data-race detail=read-write var=digits[0]
// finding: data-race detail=read-write var=point
// finding: data-race detail=read-write var=words
// finding: data-race detail=read-write var=spawn

// Functions of the C library and system calls that fill what the caller says.
#define _GNU_SOURCE
#include <argz.h>
#include <dirent.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char random_bytes[8], entropy[8], digits[32], copy[32];
static timer_t timer;
static struct itimerspec left;
static struct itimerval interval;
static int cancel_state, cancel_type, point, sign;
static stack_t stack_before;
static glob_t paths;
static struct dirent **entries;
static unsigned char pages[4];
static struct timespec slice;
static char *words;
static size_t words_bytes;
static posix_spawnattr_t spawn;

static int none(const struct dirent *entry)
{
    return entry == NULL;
}

static void *fill(void *arg)
{
    static _Alignas(4096) char page[4096];
    int results = getrandom(random_bytes, sizeof random_bytes, 0) != 8;
    results += getentropy(entropy, sizeof entropy);
    results += timer_create(CLOCK_MONOTONIC, NULL, &timer);
    results += timer_gettime(timer, &left);
    timer_delete(timer);
    results += getitimer(ITIMER_REAL, &interval);
    results += pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
    results += pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &cancel_type);
    results += sigaltstack(NULL, &stack_before);
    glob("/", 0, NULL, &paths);
    results += scandir("/", &entries, none, NULL);
    results += mincore(page, sizeof page, pages);
    results += sched_rr_get_interval(0, &slice);
    gcvt(1.5, 5, digits);
    results += ecvt_r(1.5, 5, &point, &sign, copy, sizeof copy);
    argz_add(&words, &words_bytes, "text");
    results += posix_spawnattr_init(&spawn);
    return results == 99 ? arg : NULL;
}

// Reads a byte, whatever compilers know of it.
static int at(const void *object)
{
    return *(const volatile char *)object;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fill, NULL);
    int sum = at(random_bytes);
    sum += at(entropy);
    sum += at(&timer);
    sum += at(&left);
    sum += at(&interval);
    sum += at(&cancel_state);
    sum += at(&cancel_type);
    sum += at(&stack_before);
    sum += at(&paths);
    sum += at(&entries);
    sum += at(pages);
    sum += at(&slice);
    sum += at(digits);
    sum += at(&point);
    sum += at(&words);
    sum += at(&spawn);
    pthread_join(thread, NULL);
    globfree(&paths);
    free(entries);
    free(words);
    return sum == 12345;
}
