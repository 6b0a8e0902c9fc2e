// compilers: gcc clang
// check:
// verdict: incomplete

// Another machine is not part of the search.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static void *ask(void *unused)
{
    // A network for documentation: no machine is there.
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9) };
    inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(client, (struct sockaddr *)&address, sizeof address);
    close(client);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    return 0;
}
