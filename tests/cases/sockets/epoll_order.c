// check: --strategy optimal
// verdict: bug
// executions: 6
// finding: assertion detail=assert line=42
// finding: assertion detail=assert line=44
// finding: assertion detail=assert line=46
// finding: assertion detail=assert line=48
// check: --strategy dfs
// verdict: bug
// finding: assertion detail=assert line=42
// finding: assertion detail=assert line=44
// finding: assertion detail=assert line=46
// finding: assertion detail=assert line=48
// check: --strategy optimal
// flags: -DEDGE=EPOLLET
// verdict: bug
// executions: 4
// finding: assertion detail=assert line=42
// finding: assertion detail=assert line=44
// finding: assertion detail=assert line=46
// finding: assertion detail=assert line=48

// Two threads write to one pipe each, main waits for both by a queue and reads. Each write makes a
// descriptor ready, so it changes the queue; main waits once it is ready. Either both writes come before the
// wait, in two orders; or the first comes before it, and the other one before or after main has read from
// the first pipe, by which that is no longer ready: 2 + 2 * 2. If the queue is edge-triggered, reading does
// not change it: what was reported is no longer listed. So 2 + 2.
#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#ifndef EDGE
#define EDGE 0
#endif

static int pipes[2][2];

static void finish(int batches, int first)
{
    if (batches == 1 && first == 0)
        assert(!"both, the first pipe comes first");
    if (batches == 1 && first == 1)
        assert(!"both, the second pipe comes first");
    if (batches == 2 && first == 0)
        assert(!"one after the other, the first pipe comes first");
    if (batches == 2 && first == 1)
        assert(!"one after the other, the second pipe comes first");
}

static void *write_one(void *number)
{
    char byte = 'x';
    if (write(pipes[(long)number][1], &byte, 1) != 1)
        assert(!"there is room");
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int queue = epoll_create1(0), batches = 0, first = -1;
    for (long i = 0; i < 2; i++) {
        struct epoll_event event = { .events = EPOLLIN | EDGE, .data.u32 = i };
        if (pipe(pipes[i]) != 0)
            return 1;
        epoll_ctl(queue, EPOLL_CTL_ADD, pipes[i][0], &event);
    }
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, write_one, (void *)i);
    for (int seen = 0; seen < 2; batches++) {
        struct epoll_event found[2];
        int count = epoll_wait(queue, found, 2, -1);
        for (int i = 0; i < count; i++, seen++) {
            char byte;
            if (first < 0)
                first = found[i].data.u32;
            if (read(pipes[found[i].data.u32][0], &byte, 1) != 1)
                assert(!"it is ready");
        }
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    finish(batches, first);
    return 0;
}
