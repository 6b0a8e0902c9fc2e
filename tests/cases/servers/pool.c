// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// verdict: verified
// check: --client tcp:8080=HERE/short.script --strategy optimal
// verdict: verified
// check: --client tcp:8080=HERE/short.script --strategy stateful
// verdict: verified
// check: --client tcp:8080=HERE/short.script --strategy dpor
// verdict: verified
// check: --client tcp:8080=HERE/short.script --client tcp:8080=HERE/short.script --strategy pct --max-executions 200
// verdict: incomplete
// check: --client tcp:8080=HERE/never.script
// verdict: bug
// finding: assertion detail=script line=3
// check: --client tcp:8080=HERE/never.script
// flags: -DKEEP
// verdict: bug
// finding: deadlock detail=all-blocked line=3
// check: --client tcp:8081=HERE/ping.script
// verdict: bug
// finding: deadlock detail=all-blocked
// check: --client tcp:8081=HERE/ping.script
// flags: -DENDS
// verdict: bug
// finding: assertion detail=script
// check: --client tcp:8080=HERE/ping.script
// flags: -DENDS
// verdict: bug
// finding: assertion detail=script
// finding: assertion detail=script line=3
// findings: 2
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DWRONG
// verdict: bug
// finding: assertion detail=script line=3
// check: --client unix:/tmp/raddle-pool.socket=HERE/ping.script
// flags: -DLOCAL
// verdict: verified
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE -DWORKERS=2
// verdict: bug
// finding: data-race var=served

// Main accepts connections, workers serve them. KEEP: connections stay open. ENDS: the program ends without
// having accepted any. WRONG: the answer depends on how many were served before. LOCAL: in the Unix domain.
// RACE: the number of requests is not guarded.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef WORKERS
#define WORKERS 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int ready[16], first, last, served;

static void *work(void *unused)
{
    for (;;) {
        char text[16];
        pthread_mutex_lock(&lock);
        while (first == last)
            pthread_cond_wait(&filled, &lock);
        int connection = ready[first++ % 16];
#ifndef RACE
        int before = served++;
#endif
        pthread_mutex_unlock(&lock);
#ifdef RACE
        int before = served++;
#endif
        const char *answer = "pong\n";
#ifdef WRONG
        answer = before ? "pang\n" : "pong\n";
#endif
        (void)before;
        ssize_t got = read(connection, text, sizeof text);
        if (got == 5 && memcmp(text, "ping\n", 5) == 0)
            send(connection, answer, 5, MSG_NOSIGNAL);
#ifndef KEEP
        close(connection);
#endif
    }
    return unused;
}

static int open_server(void)
{
#ifdef LOCAL
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/raddle-pool.socket" };
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink(address.sun_path);
#else
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0);
#endif
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, 8);
    return server;
}

int main(void)
{
    int server = open_server();
#ifdef ENDS
    close(server);
    return 0;
#endif
    for (int i = 0; i < WORKERS; i++) {
        pthread_t worker;
        pthread_create(&worker, NULL, work, NULL);
        pthread_detach(worker);
    }
    for (;;) {
        int connection = accept(server, NULL, NULL);
        pthread_mutex_lock(&lock);
        ready[last++ % 16] = connection;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
}
