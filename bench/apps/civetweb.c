// A web server with two worker threads that count requests.
#include <civetweb.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int answer(struct mg_connection *connection) {
    pthread_mutex_lock(&mutex);
    int number = ++count;
    pthread_mutex_unlock(&mutex);
    mg_printf(connection, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n%d\n", number);
    return 200;
}

int main(void) {
    const char *options[] = { "listening_ports", "8080", "num_threads", "2", 0 };
    // A handler that is set behind `mg_start` may come too late for the first client.
    struct mg_callbacks callbacks = { .begin_request = answer };
    struct mg_context *server = mg_start(&callbacks, 0, options);
    if (!server)
        return 1;
    pause();
    return 0;
}
