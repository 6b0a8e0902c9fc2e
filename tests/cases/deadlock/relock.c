// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// finding: deadlock detail=relock line=15

// A normal mutex locked again by its owner, through a helper.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;

static void helper(void)
{
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
}

int main(void)
{
    pthread_mutex_lock(&m);
    helper();
    pthread_mutex_unlock(&m);
    return 0;
}
