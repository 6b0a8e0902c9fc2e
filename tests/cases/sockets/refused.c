// compilers: gcc clang
// check: --self-check 10
// verdict: verified
// check:
// flags: -DHASTE
// verdict: bug
// finding: assertion

// A port at which no thread listens refuses a connection. HASTE: the client may come before the server
// listens.
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = { .sin_family = AF_INET };

static void *client(void *unused)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(client, (struct sockaddr *)&address, sizeof address);
#ifdef HASTE
    assert(result == 0);
#else
    assert(result == 0 || errno == ECONNREFUSED);
    int later = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
    socklen_t length = sizeof error;
    address.sin_port = htons(2);
    assert(connect(later, (struct sockaddr *)&address, sizeof address) == -1 && errno == EINPROGRESS);
    struct pollfd entry = { .fd = later, .events = POLLOUT };
    assert(poll(&entry, 1, -1) == 1 && entry.revents & POLLERR);
    assert(getsockopt(later, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == ECONNREFUSED);
    close(later);
#endif
    close(client);
    return unused;
}

int main(void)
{
    pthread_t thread;
    address.sin_port = htons(8080);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_in own = address;
    pthread_create(&thread, NULL, client, NULL);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(server, (struct sockaddr *)&own, sizeof own) == 0);
    assert(listen(server, 1) == 0);
    pthread_join(thread, NULL);
    close(server);
    return 0;
}
