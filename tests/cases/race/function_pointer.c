// check:
// verdict: bug
// finding: data-race var=handler detail=read-write line=14 line2=20

// A handler is replaced while it may be called.
#include <pthread.h>

static void quiet(void) {}
static void loud(void) {}
void (*handler)(void) = quiet;

static void *one(void *arg)
{
    handler = loud;
    return NULL;
}

static void *two(void *arg)
{
    handler();
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
