// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=mutex-destroyed var=s line=15

// A spin lock after its end; spin locks go under the words for mutexes.
#include <pthread.h>

static pthread_spinlock_t s;

int main(void)
{
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_destroy(&s);
    pthread_spin_lock(&s);
    pthread_spin_unlock(&s);
    return 0;
}
