// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
//
// Both threads hold the same mutex where they use unguarded state of the C library.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *use(void *unused)
{
    (void)unused;
    char text[] = "a b";
    pthread_mutex_lock(&lock);
    strtok(text, " ");
    drand48();
    pthread_mutex_unlock(&lock);
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
