// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DUNREAD
// verdict: bug
// finding: deadlock
// check:
// flags: -DPIPE
// verdict: verified
// check:
// flags: -DPIPE -DUNREAD
// verdict: bug
// finding: deadlock

// A thread that writes more than there is room for waits until another one reads. UNREAD: none does.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0raddle" };
static char sent[300000], received[300000];

static void *writer(void *descriptor)
{
    int out;
#ifdef PIPE
    out = *(int *)descriptor;
#else
    (void)descriptor;
    out = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(connect(out, (struct sockaddr *)&address, sizeof address) == 0);
#endif
    sent[sizeof sent - 1] = 'z';
    assert(write(out, sent, sizeof sent) == sizeof sent);
    close(out);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int ends[2];
#ifdef PIPE
    assert(pipe(ends) == 0);
    pthread_create(&thread, NULL, writer, &ends[1]);
    int in = ends[0];
#else
    (void)ends;
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    pthread_create(&thread, NULL, writer, NULL);
    int in = accept(server, NULL, NULL);
#endif
    size_t got = 0;
#ifndef UNREAD
    for (ssize_t part; (part = read(in, received + got, sizeof received - got)) > 0;)
        got += part;
    assert(got == sizeof received && received[got - 1] == 'z');
#endif
    pthread_join(thread, NULL);
    (void)got;
    (void)in;
    return 0;
}
