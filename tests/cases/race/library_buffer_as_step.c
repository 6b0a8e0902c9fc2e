// compilers: gcc clang
// check: --granularity access
// verdict: bug
// executions: 2
// finding: data-race var=text[0] line=17 line2=25

// At access granularity the write of snprintf is a scheduling point: the reader comes before or
// after it.
#include <pthread.h>
#include <stdio.h>

char text[8];
int seen;

static void *reader(void *arg)
{
    seen = text[0];
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    snprintf(text, sizeof text, "%d", 12);
    pthread_join(t, NULL);
    return 0;
}
