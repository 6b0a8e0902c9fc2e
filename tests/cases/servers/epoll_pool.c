// check: --client tcp:8080=HERE/ping.script
// verdict: verified
// check: --strategy optimal --client tcp:8080=HERE/ping.script
// verdict: verified
// executions: 32
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DWORKERS=2
// verdict: verified
// most-runs: 4000
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE -DWORKERS=2
// verdict: bug
// finding: data-race var=served
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DDEADLOCK -DWORKERS=2
// verdict: bug
// finding: deadlock detail=cycle
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE -DWORKERS=2
// verdict: bug
// finding: data-race var=served
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DDEADLOCK -DWORKERS=2
// verdict: bug
// finding: deadlock detail=cycle
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DLOST
// verdict: bug
// finding: deadlock detail=all-blocked
// check: --until-exit --client tcp:8080=HERE/ping.script
// verdict: bug
// finding: deadlock

// A server as textbooks have it: main accepts connections and waits for their bytes by an epoll queue; what
// can be read goes to workers by a queue with a mutex and a condition variable. It never ends by itself:
// when the clients are done, every thread waits for more. RACE: the number of requests is not guarded.
// DEADLOCK: two locks in two orders. LOST: a worker looks at the queue and sleeps without holding the lock
// in between, so that a connection can be put there unnoticed; the client waits for its answer for ever.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef WORKERS
#define WORKERS 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int ready[16], first, last, served;

static void hand_out(int connection)
{
    pthread_mutex_lock(&lock);
    ready[last++ % 16] = connection;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (first == last) {
#ifdef LOST
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
#endif
        pthread_cond_wait(&filled, &lock);
    }
    int connection = ready[first++ % 16];
    pthread_mutex_unlock(&lock);
    return connection;
}

static void count(int worker)
{
#ifdef RACE
    (void)worker;
    served++;
#elif defined DEADLOCK
    pthread_mutex_t *locks[2] = { worker ? &lock : &count_lock, worker ? &count_lock : &lock };
    pthread_mutex_lock(locks[0]);
    pthread_mutex_lock(locks[1]);
    served++;
    pthread_mutex_unlock(locks[1]);
    pthread_mutex_unlock(locks[0]);
#else
    (void)worker;
    pthread_mutex_lock(&count_lock);
    served++;
    pthread_mutex_unlock(&count_lock);
#endif
}

static void *work(void *number)
{
    for (;;) {
        char text[16];
        int connection = take();
        ssize_t got = read(connection, text, sizeof text);
        if (got == 5 && memcmp(text, "ping\n", 5) == 0)
            send(connection, "pong\n", 5, MSG_NOSIGNAL);
        count(number != NULL);
        close(connection);
    }
    return NULL;
}

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0), queue = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = server };
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, 8);
    epoll_ctl(queue, EPOLL_CTL_ADD, server, &event);
    for (long i = 0; i < WORKERS; i++) {
        pthread_t worker;
        pthread_create(&worker, NULL, work, (void *)i);
        pthread_detach(worker);
    }
    for (;;) {
        struct epoll_event found[4];
        int count = epoll_wait(queue, found, 4, -1);
        for (int i = 0; i < count; i++) {
            if (found[i].data.fd == server) {
                event.data.fd = accept(server, NULL, NULL);
                event.events = EPOLLIN | EPOLLONESHOT;
                epoll_ctl(queue, EPOLL_CTL_ADD, event.data.fd, &event);
            } else {
                hand_out(found[i].data.fd);
            }
        }
    }
}
