// check: --client tcp:8080=HERE/ping.script
// verdict: verified
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE -DWORKERS=2
// verdict: bug
// finding: data-race var=answered
// check: --stop-at-first --client tcp:8080=HERE/ping.script
// flags: -DSHARED_SET
// verdict: bug
// finding: data-race var=watched[0]
// check: --stop-at-first --client tcp:8080=HERE/ping.script
// flags: -DNOT_TOLD
// verdict: bug
// finding: deadlock detail=all-blocked line=3

// A loop of select() owns all connections. A request that it has read goes to a worker by a queue; the
// worker gives the answer back and wakes the loop by a byte in a pipe, and the loop sends it. RACE: workers
// count without the lock. SHARED_SET: workers take the connection out of the loop's set, too.
// NOT_TOLD: the worker forgets the byte, so the answer is never sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef WORKERS
#define WORKERS 1
#endif

struct queue {
    int items[8], first, last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct queue requests, answers;
static int wake[2], answered;
static fd_set watched;

static void put(struct queue *queue, int item)
{
    queue->items[queue->last++ % 8] = item;
}

static int take(struct queue *queue)
{
    return queue->first == queue->last ? -1 : queue->items[queue->first++ % 8];
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        int connection;
        while ((connection = take(&requests)) < 0)
            pthread_cond_wait(&filled, &lock);
        put(&answers, connection);
#ifndef RACE
        answered++;
#endif
        pthread_mutex_unlock(&lock);
#ifdef RACE
        answered++;
#endif
#ifdef SHARED_SET
        FD_CLR(connection, &watched);
#endif
#ifndef NOT_TOLD
        if (write(wake[1], "", 1) != 1)
            return NULL;
#endif
    }
}

static void answer_all(void)
{
    char bytes[8];
    if (read(wake[0], bytes, sizeof bytes) <= 0)
        return;
    for (;;) {
        pthread_mutex_lock(&lock);
        int connection = take(&answers);
        pthread_mutex_unlock(&lock);
        if (connection < 0)
            return;
        send(connection, "pong\n", 5, MSG_NOSIGNAL);
        close(connection);
    }
}

static void request(int connection)
{
    char text[16];
    FD_CLR(connection, &watched);
    ssize_t got = read(connection, text, sizeof text);
    if (got != 5 || memcmp(text, "ping\n", 5) != 0) {
        close(connection);
        return;
    }
    pthread_mutex_lock(&lock);
    put(&requests, connection);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0);
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, 8);
    if (pipe(wake) != 0)
        return 1;
    FD_SET(server, &watched);
    FD_SET(wake[0], &watched);
    for (long i = 0; i < WORKERS; i++) {
        pthread_t worker;
        pthread_create(&worker, NULL, work, NULL);
        pthread_detach(worker);
    }
    for (;;) {
        fd_set ready = watched;
        if (select(64, &ready, NULL, NULL, NULL) < 0)
            continue;
        for (int i = 0; i < 64; i++) {
            if (!FD_ISSET(i, &ready))
                continue;
            if (i == server) {
                int connection = accept(server, NULL, NULL);
                FD_SET(connection, &watched);
            } else if (i == wake[0]) {
                answer_all();
            } else {
                request(i);
            }
        }
    }
}
