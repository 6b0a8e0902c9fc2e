// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DUMASK
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DACTION
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DNAME
// verdict: bug
// executions: 2
// finding: assertion

// What one thread changes of the process, another sees or does not see: working directory, file
// mode mask, action of a signal, name of a thread.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_t first;

static void change(void)
{
#if defined UMASK
    umask(0123);
#elif defined ACTION
    signal(SIGUSR1, SIG_IGN);
#elif defined NAME
    pthread_setname_np(first, "other");
#else
    if (chdir("/") != 0)
        _exit(1);
#endif
}

static int is_changed(void)
{
#if defined UMASK
    return umask(022) == 0123;
#elif defined ACTION
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    return now.sa_handler == SIG_IGN;
#elif defined NAME
    char name[16];
    pthread_getname_np(first, name, sizeof name);
    return strcmp(name, "other") == 0;
#else
    char path[4096];
    return getcwd(path, sizeof path) != NULL && strcmp(path, "/") == 0;
#endif
}

static void *changer(void *arg)
{
    change();
    return NULL;
}

int main(void)
{
    first = pthread_self();
    pthread_t t;
    pthread_create(&t, NULL, changer, NULL);
    int changed = is_changed();
    pthread_join(t, NULL);
    assert(!changed);
    return 0;
}
