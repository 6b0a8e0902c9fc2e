// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check:
// flags: -DRESTARTS -DFORGETS
// verdict: verified
// check:
// flags: -DFORGETS
// verdict: bug
// finding: assertion detail=assert

// A handler that runs while its thread waits for a connection, or for bytes, ends the call with EINTR,
// unless it was installed with SA_RESTART.
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static struct sockaddr_in address;

static void handle(int number)
{
}

static int fails(int result)
{
#ifdef FORGETS
    assert(result >= 0);
#endif
    return result < 0 && errno == EINTR;
}

static void *server(void *arg)
{
    int connection;
    do {
        connection = accept(listener, NULL, NULL);
    } while (fails(connection));
    assert(connection >= 0);
    char byte = 0;
    int got;
    do {
        got = (int)recv(connection, &byte, 1, 0);
    } while (fails(got));
    assert(got == 1 && byte == 'x');
    close(connection);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = handle };
#ifdef RESTARTS
    action.sa_flags = SA_RESTART;
#endif
    sigaction(SIGUSR1, &action, NULL);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(7711);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    pthread_create(&t, NULL, server, NULL);
    pthread_kill(t, SIGUSR1);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    assert(send(client, "x", 1, 0) == 1);
    pthread_join(t, NULL);
    close(client);
    close(listener);
    return 0;
}
