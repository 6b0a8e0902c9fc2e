// compilers: gcc clang
// check:
// verdict: bug
// findings: 4
// finding: data-race line=22 var=optind
// finding: data-race line=22 var=optarg
// finding: data-race line=23
// finding: data-race line=24
//
// Functions that share a static variable and do not guard it. strtok_r, drand48_r and the like are
// the ones for threads.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *use(void *unused)
{
    (void)unused;
    char *arguments[] = {"program", "-a", NULL};
    int (*parse)(int, char *const *, const char *) = getopt;

    parse(2, arguments, "a");
    drand48();
    l64a(7);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, use, NULL);
    use(NULL);
    pthread_join(thread, NULL);
    return 0;
}
