// check: --client tcp:8080=HERE/ping.script
// flags: -DCLIENTS=1
// verdict: verified
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE
// verdict: bug
// finding: data-race var=active
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DUNLOCKED_STOP
// verdict: bug
// finding: data-race var=stopping
// check: --client tcp:8080=HERE/ping.script
// flags: -DCLIENTS=1 -DDEADLOCK
// verdict: bug
// finding: deadlock detail=cycle
// check: --until-exit --client tcp:8080=HERE/ping.script
// flags: -DCLIENTS=1 -DNO_BYTE
// verdict: bug
// finding: deadlock

// A thread for each connection. The one that serves the last client stops the server by a byte in a pipe;
// main sees it in poll(), accepts no more, and waits for all threads. RACE: the threads count themselves
// without the lock. UNLOCKED_STOP: main asks a plain flag, too. DEADLOCK: main joins the threads while it
// holds the lock that they need. NO_BYTE: the pipe is forgotten, so main waits for ever; with --until-idle that
// is a server without clients.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLIENTS
#define CLIENTS 2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t quiet = PTHREAD_COND_INITIALIZER;
static int active, served, stopping, stop[2];

static void *serve(void *argument)
{
    int connection = (int)(long)argument;
    char text[16];
    ssize_t got = recv(connection, text, sizeof text, 0);
    if (got == 5 && memcmp(text, "ping\n", 5) == 0)
        send(connection, "pong\n", 5, MSG_NOSIGNAL);
    shutdown(connection, SHUT_RDWR);
    close(connection);
#ifdef RACE
    active--;
#endif
    pthread_mutex_lock(&lock);
#ifndef RACE
    active--;
#endif
    int is_last = ++served == CLIENTS;
#ifdef UNLOCKED_STOP
    stopping = is_last;
#endif
    pthread_cond_signal(&quiet);
    pthread_mutex_unlock(&lock);
#ifndef NO_BYTE
    if (is_last && write(stop[1], "", 1) != 1)
        return argument;
#endif
#ifdef DEADLOCK
    pthread_mutex_lock(&lock);
    served++;
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1, started = 0;
    pthread_t threads[CLIENTS];
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 8) != 0 || pipe(stop) != 0)
        return 1;
    for (;;) {
        struct pollfd watched[] = { { .fd = server, .events = POLLIN }, { .fd = stop[0], .events = POLLIN } };
        if (poll(watched, 2, -1) < 0 || watched[1].revents != 0)
            break;
#ifdef UNLOCKED_STOP
        if (stopping)
            break;
#endif
        long connection = accept(server, NULL, NULL);
        if (started == CLIENTS) {
            close((int)connection);
            continue;
        }
        pthread_mutex_lock(&lock);
        active++;
        pthread_mutex_unlock(&lock);
        pthread_create(&threads[started++], NULL, serve, (void *)connection);
    }
    close(server);
    pthread_mutex_lock(&lock);
#ifdef DEADLOCK
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
#endif
    while (active > 0)
        pthread_cond_wait(&quiet, &lock);
    pthread_mutex_unlock(&lock);
#ifndef DEADLOCK
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
#endif
    return 0;
}
