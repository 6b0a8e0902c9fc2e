// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check:
// flags: -DLATE
// verdict: incomplete
//
// What a function leaves in memory is restored between runs, so that it matters only if there is a
// second thread that may look at it meanwhile.
#include <locale.h>
#include <pthread.h>
#include <stddef.h>

static void *work(void *unused)
{
    (void)unused;
#ifdef LATE
    setlocale(LC_ALL, "C");
#endif
    return NULL;
}

int main(void)
{
    setlocale(LC_ALL, "C");
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
