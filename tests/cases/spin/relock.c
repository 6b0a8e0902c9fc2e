// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=relock line=15

// Taking one's own spin lock again spins for ever.
#include <pthread.h>

static pthread_spinlock_t s;

int main(void)
{
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&s);
    pthread_spin_lock(&s);
    pthread_spin_unlock(&s);
    pthread_spin_unlock(&s);
    pthread_spin_destroy(&s);
    return 0;
}
