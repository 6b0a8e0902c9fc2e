// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion
// check:
// flags: -DORDERED
// verdict: verified

// An option of a socket is set while another thread asks for it.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>

static int ends[2];

static void *sets(void *unused) {
    (void)unused;
    int on = 1;
    assert(setsockopt(ends[0], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0);
    return NULL;
}

static int is_set(void) {
    int value = 0;
    socklen_t bytes = sizeof value;
    assert(getsockopt(ends[0], SOL_SOCKET, SO_KEEPALIVE, &value, &bytes) == 0);
    return value != 0;
}

int main(void) {
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, sets, NULL);
#ifdef ORDERED
    pthread_join(thread, NULL);
    assert(is_set());
#else
    int value = is_set();
    pthread_join(thread, NULL);
    assert(!value);
#endif
    return 0;
}
