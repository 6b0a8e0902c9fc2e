// Waits in the kernel for what another thread would write: not modelled, but no fault of the program.
// options: --hang-timeout 0.5
// status: 3
// says: a thread waited in the kernel
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *nothing) {
    return write(ends[1], "x", 1) == 1 ? nothing : 0;
}

int main(void) {
    if (pipe(ends) != 0)
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int more[2];
    if (pipe(more) != 0)
        return 1;
    splice(ends[0], 0, more[1], 0, 1, 0);
    pthread_join(thread, 0);
    return 0;
}
