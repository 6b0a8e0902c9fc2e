// Every run may use as many processors as the command line says, whatever the others asked for.
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

static void *worker(void *unused)
{
    cpu_set_t set, none;
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == expected && processors() == expected);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    CPU_ZERO(&none);
    assert(sched_setaffinity(0, sizeof none, &none) == -1);
    assert(sched_setaffinity(0, sizeof set, &set) == 0);
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
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], 0);
    return 0;
}
