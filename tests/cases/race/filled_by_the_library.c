// compilers: gcc clang
// check:
// verdict: bug
// findings: 10
// finding: data-race detail=read-write var=block
// finding: data-race detail=read-write var=name[0]
// finding: data-race detail=read-write var=processors[0]
// finding: data-race detail=read-write var=attributes
// finding: data-race detail=read-write var=position
// finding: data-race detail=read-write var=option
// finding: data-race detail=read-write var=about.dli_fname
// finding: data-race detail=read-write var=numbers[0]
// finding: data-race detail=read-write var=copied[0]
// finding: data-race detail=read-write var=clock_of_thread

// Functions that fill what the caller says, and what ThreadSanitizer does not know of all of them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *block;
static char name[16], numbers[64], copied[8];
static cpu_set_t processors;
static pthread_attr_t attributes;
static fpos_t position;
static char *option;
static Dl_info about;
static clockid_t clock_of_thread;

static void *fill(void *arg)
{
    static struct random_data random;
    static char options[] = "size=1";
    static char *const known[] = {"size", NULL};
    char *rest = options;
    FILE *stream = tmpfile();
    int results = posix_memalign(&block, 64, 64);
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_getaffinity_np(pthread_self(), sizeof processors, &processors);
    pthread_getattr_np(pthread_self(), &attributes);
    fgetpos(stream, &position);
    fclose(stream);
    getsubopt(&rest, known, &option);
    results += dladdr(&position, &about);
    initstate_r(1, numbers, sizeof numbers, &random);
    memccpy(copied, "text", 'x', 4);
    pthread_getcpuclockid(pthread_self(), &clock_of_thread);
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
    int sum = at(&block);
    sum += at(name);
    sum += at(&processors);
    sum += at(&attributes);
    sum += at(&position);
    sum += at(&option);
    sum += at(&about);
    sum += at(numbers);
    sum += at(copied);
    sum += at(&clock_of_thread);
    pthread_join(thread, NULL);
    free(block);
    return sum == 12345;
}
