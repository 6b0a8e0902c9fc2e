// check:
// verdict: bug
// finding: data-race
// check:
// flags: -O2
// verdict: bug
// finding: data-race

// As read_while_waiting, but what both access is a variable of main's.
#include <pthread.h>
#include <stdatomic.h>

struct job {
    atomic_int done, slow;
    int progress;
};

static void *work(void *argument)
{
    struct job *job = argument;
    job->progress += 10;
    atomic_store(&job->done, 1);
    return 0;
}

int main(void)
{
    struct job job = {0, 0, 0};
    pthread_t worker;
    pthread_create(&worker, 0, work, &job);
    while (!atomic_load(&job.done))
        if (job.progress > 15)
            atomic_store(&job.slow, 1);
    pthread_join(worker, 0);
    return 0;
}
