// check:
// verdict: bug
// executions: 1
// finding: deadlock detail=relock line=15

// An initialiser that asks for its own once waits for itself.
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
int value;

static void init(void)
{
    if (value == 0)
        pthread_once(&once, init);
    value = 1;
}

int main(void)
{
    pthread_once(&once, init);
    return 0;
}
