// Work for a thread pool of two, and a thread that wakes the loop.
#include <stdlib.h>
#include <uv.h>

static uv_async_t wake;
static uv_mutex_t mutex;
static int worked, done, woken;

static void work(uv_work_t *request) {
    uv_mutex_lock(&mutex);
    worked++;
    uv_mutex_unlock(&mutex);
}

static void after(uv_work_t *request, int status) {
    done++;
}

static void on_wake(uv_async_t *handle) {
    woken = 1;
    uv_close((uv_handle_t *)handle, 0);
}

static void waker(void *argument) {
    uv_async_send(&wake);
}

int main(void) {
    setenv("UV_THREADPOOL_SIZE", "2", 1);
    uv_loop_t *loop = uv_default_loop();
    uv_mutex_init(&mutex);
    uv_async_init(loop, &wake, on_wake);
    uv_work_t requests[2];
    for (int i = 0; i < 2; i++)
        uv_queue_work(loop, &requests[i], work, after);
    uv_thread_t thread;
    uv_thread_create(&thread, waker, 0);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_thread_join(&thread);
    return !(worked == 2 && done == 2 && woken);
}
