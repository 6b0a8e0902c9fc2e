// compilers: gcc clang
// check:
// verdict: verified
// findings: 0
// check:
// flags: -O2
// verdict: verified
// findings: 0

// Blocks that the program could still free when it ends, each by one pointer alone: on the stack and in
// registers of threads that run, in thread-local storage, by a key, as an argument of a thread, in an
// epoll queue, in mappings and the data segment, in a stream, in the environment, and to the middle of
// a block.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static __thread void *own;
static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void wait_for_ever(void)
{
    pthread_mutex_lock(&lock);
    ready++;
    pthread_cond_broadcast(&changed);
    for (;;)
        pthread_cond_wait(&changed, &lock);
}

static void *body(void *arg)
{
    own = malloc(11);
    char *local = malloc(12);
    pthread_setspecific(key, malloc(13));
    local[0] = 0;
    wait_for_ever();
    free(local);
    return arg;
}

static char *middle;

int main(void)
{
    pthread_t threads[2];
    pthread_key_create(&key, free);
    pthread_create(&threads[0], NULL, body, malloc(14));
    pthread_create(&threads[1], NULL, body, malloc(15));
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = malloc(16) };
    if (epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, eventfd(0, 0), &event) != 0)
        return 1;
    memset(&event, 0, sizeof event);
    void **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[3] = malloc(17);
    void **data = sbrk(4096);
    data[5] = malloc(18);
    own = malloc(19);
    pthread_setspecific(key, malloc(20));
    setvbuf(fopen("/dev/null", "w"), malloc(4096), _IOFBF, 4096);
    putenv(strdup("NAME=value"));
    void *aligned;
    if (posix_memalign(&aligned, 256, 100) != 0)
        return 1;
    middle = (char *)aligned + 50;
    pthread_mutex_lock(&lock);
    while (ready < 2)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    exit(0);
}
