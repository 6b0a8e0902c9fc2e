// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion
// check:
// flags: -DORDERED
// verdict: verified

// The room of a pipe is changed while another thread asks for it.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *smaller(void *unused) {
    (void)unused;
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    return NULL;
}

int main(void) {
    assert(pipe(ends) == 0);
    int before = fcntl(ends[0], F_GETPIPE_SZ);
    pthread_t thread;
    pthread_create(&thread, NULL, smaller, NULL);
#ifdef ORDERED
    pthread_join(thread, NULL);
    assert(fcntl(ends[0], F_GETPIPE_SZ) < before);
#else
    int after = fcntl(ends[0], F_GETPIPE_SZ);
    pthread_join(thread, NULL);
    assert(after == before);
#endif
    return 0;
}
