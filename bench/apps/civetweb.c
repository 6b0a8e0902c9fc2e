// A web server with two worker threads that count requests.
#include <civetweb.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int answer(struct mg_connection *connection, void *data) {
    pthread_mutex_lock(&mutex);
    int number = ++count;
    pthread_mutex_unlock(&mutex);
    mg_printf(connection, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n%d\n", number);
    return 200;
}

int main(void) {
    const char *options[] = { "listening_ports", "8080", "num_threads", "2", 0 };
    struct mg_callbacks callbacks = { 0 };
    struct mg_context *server = mg_start(&callbacks, 0, options);
    if (!server)
        return 1;
    mg_set_request_handler(server, "/count", answer, 0);
    pause();
    return 0;
}
