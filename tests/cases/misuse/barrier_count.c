// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=barrier-count var=b line=13

// A barrier for no thread.
#include <pthread.h>

static pthread_barrier_t b;

int main(void)
{
    pthread_barrier_init(&b, NULL, 0);
    return 0;
}
