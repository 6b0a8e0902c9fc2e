// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// finding: data-race var=stop line=17 line2=24
/* The loop waits for another thread and makes no operation that is a scheduling point. It writes in every round, so it
   is not folded. */
#include <pthread.h>

static volatile int stop;
static volatile unsigned rounds;

static void *works(void *unused)
{
    unsigned done = 0;
    (void)unused;
    while (!stop)
        rounds = ++done;
    return 0;
}

static void *stops(void *unused)
{
    stop = 1;
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, works, 0);
    pthread_create(&b, 0, stops, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
