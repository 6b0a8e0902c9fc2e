// check: --client tcp:8080=HERE/ping.script
// verdict: verified
// executions: 2
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// verdict: verified
// executions: 16
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script --strategy dpor
// verdict: verified
// executions: 16
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script --granularity access
// verdict: verified
// executions: 16
// check: --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DBACKLOG=0
// verdict: verified
// executions: 8
// check: --client tcp:8080=HERE/reset.script
// flags: -DSIGNALS
// verdict: verified

// One thread serves one client after the other. Of one client, two operations are in no fixed order: it
// takes the answer before or after the server closes the connection. Of two, also which one connects first,
// and whether the second connects before the first is accepted: 2 * 2 * 2 * 2. With room for no more than
// one connection that waits, the second connects when the first is accepted: half as many. SIGNALS: main
// waits for a signal that never comes, and another thread serves; the client resets its connection.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef BACKLOG
#define BACKLOG 4
#endif

static void *serve(void *unused)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0);
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, BACKLOG);
    for (;;) {
        char text[64];
        int connection = accept(server, NULL, NULL);
        ssize_t got = read(connection, text, sizeof text);
        if (got == 5 && memcmp(text, "ping\n", 5) == 0)
            send(connection, "pong\n", 5, MSG_NOSIGNAL);
        close(connection);
    }
    return unused;
}

int main(void)
{
#ifdef SIGNALS
    pthread_t server;
    sigset_t end;
    int signal;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    pthread_create(&server, NULL, serve, NULL);
    sigwait(&end, &signal);
#else
    serve(NULL);
#endif
    return 0;
}
