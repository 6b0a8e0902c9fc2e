// compilers: gcc clang
// check:
// verdict: verified
// check: --stop-at-first
// flags: -DRACE -DCLIENTS=2
// verdict: bug
// finding: data-race var=served
// check: --stop-at-first
// flags: -DDEADLOCK
// verdict: bug
// finding: deadlock
// check: --stop-at-first
// flags: -DLEVEL
// verdict: bug
// findings: at-least
// finding: assertion

// An event loop with a pool of workers. The loop accepts connections and hands those that can be read to
// the workers by a queue; each connection is wanted once (EPOLLONESHOT), so that one worker at a time has
// it. When all clients are served, a worker wakes the loop by an event counter. RACE: the number of
// requests served is not guarded. DEADLOCK: the last worker forgets the event counter. LEVEL: without
// EPOLLONESHOT the loop hands a connection out twice.
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLIENTS
#define CLIENTS 1
#endif
#define WORKERS 2
#ifdef LEVEL
#define ONCE 0
#else
#define ONCE EPOLLONESHOT
#endif

static struct sockaddr_in address = { .sin_family = AF_INET };
static int queue, stop, served;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int waiting[16], first, last, ended;

static void hand_out(int connection)
{
    pthread_mutex_lock(&lock);
    waiting[last++ % 16] = connection;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void serve(int connection)
{
    char byte;
    ssize_t got = recv(connection, &byte, 1, MSG_DONTWAIT);
    assert(got == 1);
    byte++;
    assert(send(connection, &byte, 1, MSG_NOSIGNAL) == 1);
    close(connection);
#ifndef RACE
    pthread_mutex_lock(&lock);
#endif
    int is_last = ++served == CLIENTS;
#ifndef RACE
    pthread_mutex_unlock(&lock);
#endif
#ifdef DEADLOCK
    is_last = 0;
#endif
    if (is_last)
        assert(eventfd_write(stop, 1) == 0);
}

static void *worker(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (first == last && !ended)
            pthread_cond_wait(&filled, &lock);
        if (first == last) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        int connection = waiting[first++ % 16];
        pthread_mutex_unlock(&lock);
        serve(connection);
    }
}

static void *client(void *unused)
{
    char byte = 'a';
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(connection, (struct sockaddr *)&address, sizeof address) == 0);
    assert(write(connection, &byte, 1) == 1);
    assert(read(connection, &byte, 1) == 1 && byte == 'b');
    close(connection);
    return unused;
}

static void add(int descriptor, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = descriptor };
    assert(epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

int main(void)
{
    pthread_t workers[WORKERS], clients[CLIENTS];
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0);
    assert(getsockname(server, (struct sockaddr *)&address, &length) == 0);
    assert(listen(server, 4) == 0);
    queue = epoll_create1(0);
    stop = eventfd(0, 0);
    add(server, EPOLLIN);
    add(stop, EPOLLIN);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, client, NULL);
    for (int running = 1; running;) {
        struct epoll_event events[4];
        int count = epoll_wait(queue, events, 4, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == stop) {
                running = 0;
            } else if (events[i].data.fd == server) {
                int connection = accept(server, NULL, NULL);
                assert(connection >= 0);
                add(connection, EPOLLIN | ONCE);
            } else {
                hand_out(events[i].data.fd);
            }
        }
    }
    pthread_mutex_lock(&lock);
    ended = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    close(server);
    close(stop);
    close(queue);
    return 0;
}
