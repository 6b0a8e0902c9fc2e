// check: --granularity access
// verdict: bug
// findings: 2
// finding: data-race var=x detail=write-write line=18 line2=25
// finding: data-race var=y detail=write-write line=19 line2=26
// check:
// verdict: bug
// findings: at-least
// finding: data-race var=x detail=write-write line=18 line2=25

// Two races in one program; the search finds both where every access is a scheduling point.
#include <pthread.h>

int x, y;

static void *one(void *arg)
{
    x = 1;
    y = 1;
    return NULL;
}

static void *two(void *arg)
{
    x = 2;
    y = 2;
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
