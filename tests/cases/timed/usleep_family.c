// check:
// args: sleep
// verdict: verified
// executions: 1

// An hour of sleeping costs nothing. (Without its argument the program does not sleep.)
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void *work(void *arg)
{
    if (arg) {
        sleep(3000);
        usleep(999999);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 600, 0 }, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, argc > 1 ? argv : NULL);
    pthread_create(&b, NULL, work, argc > 1 ? argv : NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
