// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free line=25 line2=42
// check:
// flags: -DORDERED
// verdict: bug
// finding: memory detail=use-after-free line=25
// check:
// flags: -DJOINED
// verdict: verified

// The list of a directory is closed by one thread and read by another. A closed list is gone: reading it is a
// use of freed memory, in which the C library would wait for a lock for ever.
#include <dirent.h>
#include <pthread.h>

static DIR *list;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *arg)
{
    pthread_mutex_lock(&m);
    while (readdir(list))
        ;
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t t;
    list = opendir(".");
    if (!list)
        return 1;
#ifdef ORDERED
    closedir(list);
#endif
    pthread_create(&t, NULL, reader, NULL);
#if !defined ORDERED && !defined JOINED
    closedir(list);
#endif
    pthread_join(t, NULL);
#ifdef JOINED
    closedir(list);
#endif
    return 0;
}
