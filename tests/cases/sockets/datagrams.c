// compilers: gcc clang
// check: --self-check 10
// verdict: verified
// check:
// flags: -DLOST
// verdict: bug
// finding: deadlock
// check: --self-check 10
// flags: -DUNIX
// verdict: verified
// check:
// flags: -DUNIX -DORDER
// verdict: bug
// finding: assertion

// Datagrams of two threads. They keep their bounds, and who sent them is known. LOST: one that is sent
// before the socket has its address is lost, and the receiver waits for ever. ORDER: which of two comes
// first is not known.
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef UNIX
static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0raddle" };
#define DOMAIN AF_UNIX
#define LENGTH (offsetof(struct sockaddr_un, sun_path) + 7)
#else
static struct sockaddr_in address = { .sin_family = AF_INET };
#define DOMAIN AF_INET
#define LENGTH sizeof address
#endif

static void *sender(void *text)
{
    int socket_ = socket(DOMAIN, SOCK_DGRAM, 0);
    ssize_t length = strlen(text);
    assert(sendto(socket_, text, length, 0, (struct sockaddr *)&address, LENGTH) == length);
    close(socket_);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    char text[8] = "";
    int receiver = socket(DOMAIN, SOCK_DGRAM, 0);
#ifndef UNIX
    address.sin_port = htons(5353);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
#endif
#ifdef LOST
    pthread_create(&threads[0], NULL, sender, "one");
#endif
    assert(bind(receiver, (struct sockaddr *)&address, LENGTH) == 0);
#ifndef LOST
    pthread_create(&threads[0], NULL, sender, "one");
#endif
    pthread_create(&threads[1], NULL, sender, "three");
    ssize_t first = recv(receiver, text, sizeof text, 0);
    assert(first == 3 || first == 5);
#ifdef ORDER
    assert(first == 3);
#endif
    assert(recv(receiver, text, 2, MSG_TRUNC) == 8 - first && text[0] == (first == 3 ? 't' : 'o'));
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    close(receiver);
    return 0;
}
