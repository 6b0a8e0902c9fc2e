// check:
// verdict: verified
// executions: 1
// A handler runs wherever the stack pointer stands within a page. The frame that the kernel writes
// may begin on the page below, which the program has not touched in this run.
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

static volatile int handled;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void *work(void *arg)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    size_t size = (frame & 4095) + (size_t)arg + 1;
    volatile char *bytes = alloca(size);
    bytes[size - 1] = 1;
    raise(SIGUSR1);
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handle);
    for (size_t offset = 0; offset < 4096; offset += 512) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)offset);
        pthread_join(thread, NULL);
    }
    assert(handled == 8);
    return 0;
}
