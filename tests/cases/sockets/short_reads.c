// compilers: gcc clang
// check:
// verdict: verified
// check: --partial-io
// verdict: bug
// finding: assertion
// check: --partial-io
// flags: -DLOOP
// verdict: verified
// check:
// flags: -DPIPE
// verdict: verified
// check: --partial-io
// flags: -DPIPE
// verdict: bug
// finding: assertion
// check: --partial-io
// flags: -DPIPE -DLOOP
// verdict: verified

// A stream may give fewer bytes than were sent. LOOP: the reader goes on until it has all.
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0raddle" };

static void *sender(void *descriptor)
{
    int out;
#ifdef PIPE
    out = *(int *)descriptor;
#else
    (void)descriptor;
    out = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(connect(out, (struct sockaddr *)&address, sizeof address) == 0);
#endif
    assert(write(out, "four", 4) == 4);
    close(out);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char text[8] = "";
    int got = 0, ends[2];
#ifdef PIPE
    assert(pipe(ends) == 0);
    pthread_create(&thread, NULL, sender, &ends[1]);
    int in = ends[0];
#else
    (void)ends;
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    pthread_create(&thread, NULL, sender, NULL);
    int in = accept(server, NULL, NULL);
#endif
#ifdef LOOP
    for (int part; (part = read(in, text + got, sizeof text - got)) > 0;)
        got += part;
#else
    got = read(in, text, sizeof text);
#endif
    assert(got == 4 && memcmp(text, "four", 4) == 0);
    pthread_join(thread, NULL);
    return 0;
}
