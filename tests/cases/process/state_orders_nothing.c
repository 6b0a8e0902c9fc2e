// check:
// verdict: bug
// findings: at-least
// finding: data-race var=x

// The file mode mask carries a message, but orders no memory.
#include <pthread.h>
#include <sys/stat.h>

static int x;

static void *writer(void *arg)
{
    x = 1;
    umask(0123);
    return NULL;
}

int main(void)
{
    umask(022);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    int seen = umask(022) == 0123 ? x : 1;
    pthread_join(t, NULL);
    return seen - 1;
}
