// check: --peer tcp:192.0.2.1:80=HERE/answers.script
// args: 192.0.2.1 80
// verdict: verified

// Connects to a host and a port, asks, and prints the answer. A test of recordings runs it with a real server.
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    if (getaddrinfo(arguments[1], arguments[2], &hints, &found))
        return 1;
    int connection = socket(found->ai_family, found->ai_socktype, 0);
    if (connect(connection, found->ai_addr, found->ai_addrlen))
        return 2;
    freeaddrinfo(found);
    char text[64];
    if (write(connection, "ask\0x\n", 6) != 6)
        return 3;
    ssize_t bytes = read(connection, text, sizeof text);
    if (bytes > 0)
        fwrite(text, 1, bytes, stdout);
    close(connection);
    return 0;
}
