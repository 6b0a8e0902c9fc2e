// compilers: gcc clang
// check: --strategy stateful
// verdict: bug
// finding: assertion

// The threads leave nothing behind but bytes in a pipe and in a pair of sockets: states differ by their order only.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], pair[2];

static void *puts_letter(void *arg)
{
    return write(ends[1], arg, 1) == 1 && write(pair[1], arg, 1) == 1 ? arg : NULL;
}

int main(void)
{
    pthread_t threads[3];
    char in_pipe[4] = "", in_pair[4] = "";
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 2;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, puts_letter, &"abc"[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (read(ends[0], in_pipe, 3) != 3 || read(pair[0], in_pair, 3) != 3)
        return 2;
    assert(!(in_pipe[0] == 'c' && in_pipe[1] == 'a' && in_pair[0] == 'b' && in_pair[1] == 'c'));
    return 0;
}
