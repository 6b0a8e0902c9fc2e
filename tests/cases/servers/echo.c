// check: --peers HERE/recorded
// args: 8080 2
// verdict: verified
// check: --peers HERE/recorded
// flags: -DRACE
// args: 8080 2
// verdict: bug
// finding: data-race var=served

// A server with a thread for each connection that sends back what it gets. Its arguments: the port, and
// after how many connections it takes no more. Tests of recordings run it with real clients.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int served;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *argument) {
    int connection = (int)(long)argument;
    char text[64];
    ssize_t bytes;
    while ((bytes = read(connection, text, sizeof text)) > 0)
        send(connection, text, bytes, MSG_NOSIGNAL);
#ifdef RACE
    served++;
#else
    pthread_mutex_lock(&mutex);
    served++;
    pthread_mutex_unlock(&mutex);
#endif
    close(connection);
    return 0;
}

int main(int count, char **arguments) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])) };
    int server = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(server, (struct sockaddr *)&address, sizeof address) || listen(server, 8)) {
        perror("bind");
        return 1;
    }
    for (int left = atoi(arguments[2]); left > 0; left--) {
        long connection = accept(server, 0, 0);
        pthread_t thread;
        pthread_create(&thread, 0, serve, (void *)connection);
        pthread_detach(thread);
    }
    pthread_exit(0);
}
