// Every run may use as many processors as the command line says, whatever the others asked for; and every thread those that it or
// its creator asked for.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int expected;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int processors(void)
{
    cpu_set_t set;
    assert(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_COUNT(&set);
}

static void *bound(void *processor)
{
    cpu_set_t set;
    assert(processors() == 1 && sched_getaffinity(0, sizeof set, &set) == 0);
    assert(CPU_ISSET(*(int *)processor, &set));
    return processor;
}

// Binds the thread that runs to one processor, and frees it again.
static void bind(void)
{
    cpu_set_t all, one, seen;
    int first = 0;
    assert(sched_getaffinity(0, sizeof all, &all) == 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert(sched_setaffinity(0, sizeof one, &one) == 0 && processors() == 1);
    assert(pthread_getaffinity_np(pthread_self(), sizeof seen, &seen) == 0 && CPU_EQUAL(&seen, &one));
    pthread_t heir;
    pthread_create(&heir, 0, bound, &first);
    pthread_join(heir, 0);
    // A processor that does not exist is left out.
    CPU_SET(CPU_SETSIZE - 1, &all);
    assert(pthread_setaffinity_np(pthread_self(), sizeof all, &all) == 0 && processors() == expected);
}

static void *worker(void *unused)
{
    cpu_set_t set, none, one;
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == expected && processors() == expected);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    CPU_ZERO(&none);
    assert(sched_setaffinity(0, sizeof none, &none) == -1);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &set))
            CPU_SET(i, &one);
    assert(sched_setaffinity(0, sizeof one, &one) == 0 && processors() == 1);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf("%d\n", processors());
        return 0;
    }
    expected = atoi(argv[1]);
    unsigned long raw[128] = {0};
    long written = syscall(SYS_sched_getaffinity, 0, sizeof raw, raw);
    assert(written > 0 && CPU_COUNT_S(sizeof raw, (cpu_set_t *)raw) == expected);
    bind();
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], 0);
    assert(processors() == expected);
    return 0;
}
