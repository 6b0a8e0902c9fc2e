// A question and its answer between two threads.
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <pthread.h>
#include <string.h>

static void *answer(void *argument) {
    nng_socket *socket = argument;
    char text[8];
    size_t bytes = sizeof text;
    if (nng_recv(*socket, text, &bytes, 0) == 0)
        nng_send(*socket, "pong", 5, 0);
    return 0;
}

int main(void) {
    nng_socket server, client;
    if (nng_pair0_open(&server) || nng_pair0_open(&client) || nng_listen(server, "inproc://bench", 0, 0)
        || nng_dial(client, "inproc://bench", 0, 0))
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, answer, &server);
    char text[8];
    size_t bytes = sizeof text;
    int fails = nng_send(client, "ping", 5, 0) || nng_recv(client, text, &bytes, 0);
    pthread_join(thread, 0);
    nng_close(client);
    nng_close(server);
    return fails || strcmp(text, "pong");
}
