// check:
// verdict: bug
// finding: deadlock detail=relock line=15
// findings: at-least

// A timer that would only kill the program does not make it go on.
#include <pthread.h>
#include <unistd.h>

int main(void)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    alarm(60);
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
    return 0;
}
