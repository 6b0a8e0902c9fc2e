// check: --client tcp:8080=HERE/ping.script --strategy optimal --max-executions 40
// verdict: incomplete
// executions: 40
// check: --client tcp:8080=HERE/ping.script --strategy stateful --max-executions 40
// verdict: incomplete
// check: --client tcp:8080=HERE/ping.script --strategy pct --max-executions 40
// verdict: incomplete
// executions: 40
// check: --stop-at-first --client tcp:8080=HERE/ping.script --client tcp:8080=HERE/ping.script
// flags: -DRACE
// verdict: bug
// finding: data-race var=ticks

// A server that also does something as time passes: main counts time-outs of its wait for the queue, and
// another thread sleeps and counts. They never come back to a state that they were in. Each run ends in
// order all the same, a few rounds after the client is done, and the report says that they would go on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int ticks, rounds;

static void *maintain(void *unused)
{
    for (;;) {
        usleep(1000);
        rounds++;
#ifdef RACE
        ticks++;
#endif
    }
    return unused;
}

static void serve(int connection)
{
    char text[16];
    ssize_t got = read(connection, text, sizeof text);
    if (got == 5 && memcmp(text, "ping\n", 5) == 0)
        send(connection, "pong\n", 5, MSG_NOSIGNAL);
    close(connection);
}

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
    int server = socket(AF_INET, SOCK_STREAM, 0), queue = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = server };
    pthread_t thread;
    pthread_create(&thread, NULL, maintain, NULL);
    pthread_detach(thread);
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, 8);
    epoll_ctl(queue, EPOLL_CTL_ADD, server, &event);
    for (;;) {
        struct epoll_event found[4];
        int count = epoll_wait(queue, found, 4, 100);
        if (count == 0)
            ticks++;
        for (int i = 0; i < count; i++) {
            if (found[i].data.fd == server) {
                event.data.fd = accept(server, NULL, NULL);
                epoll_ctl(queue, EPOLL_CTL_ADD, event.data.fd, &event);
            } else {
                serve(found[i].data.fd);
            }
        }
    }
}
