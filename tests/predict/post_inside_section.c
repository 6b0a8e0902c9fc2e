// race: x
// The thread that posts still holds the lock that the writer needs next: to bring both to x, the
// section has to be left first.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
int x;

static void *poster(void *arg)
{
    pthread_mutex_lock(&m);
    sem_post(&s);
    pthread_mutex_unlock(&m);
    return arg;
}

static void *writer(void *arg)
{
    sem_wait(&s);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    x = 1;
    return arg;
}

static void *other(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    x = 2;
    return arg;
}

int main(void)
{
    pthread_t a, b, c;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, poster, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_create(&c, NULL, other, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    sem_destroy(&s);
    return 0;
}
