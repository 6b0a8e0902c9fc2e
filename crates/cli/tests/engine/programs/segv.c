// A thread writes to the null page; the others come to rest.
// status: 1
// says: crash: SIGSEGV (T1 at
#include <pthread.h>
#include <stdio.h>

static void *crash(void *argument) {
    *(volatile int *)0 = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, crash, 0);
    pthread_join(thread, 0);
    puts("never printed");
    return 0;
}
