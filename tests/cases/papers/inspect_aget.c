// check:
// verdict: bug
// executions: 6
// finding: data-race var=bwritten line=25 line2=17

// The shape of the race that Inspect found in aget: downloaders add up the bytes written under a
// lock, the thread that saves the state reads the sum without it.
#include <pthread.h>

static pthread_mutex_t bwritten_mutex = PTHREAD_MUTEX_INITIALIZER;
long bwritten, saved;

static void *download(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&bwritten_mutex);
        bwritten += 512;
        pthread_mutex_unlock(&bwritten_mutex);
    }
    return NULL;
}

static void *save_state(void *arg)
{
    saved = bwritten;
    return NULL;
}

int main(void)
{
    pthread_t a, b, s;
    pthread_create(&a, NULL, download, NULL);
    pthread_create(&b, NULL, download, NULL);
    pthread_create(&s, NULL, save_state, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(s, NULL);
    return 0;
}
