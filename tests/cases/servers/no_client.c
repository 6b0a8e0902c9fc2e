// check:
// verdict: bug
// finding: deadlock detail=all-blocked
// check: --client tcp:18099=HERE/short.script
// verdict: verified

// Nothing connects to a program from outside but scripts: without one, a server that waits for its first
// client waits for ever.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(18099)};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int door = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (void *)&here, sizeof here) || listen(door, 1))
        return 1;
    for (;;) {
        char text[5];
        int visitor = accept(door, 0, 0);
        if (read(visitor, text, 5) != 5 || send(visitor, "pong\n", 5, MSG_NOSIGNAL) != 5)
            return 1;
        close(visitor);
    }
}
