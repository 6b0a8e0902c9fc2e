// check:
// verdict: bug
// finding: data-race var=hits line=15 line2=15
// finding: data-race var=misses line=16 line2=16
// findings: 2
// groups: 2

// Two variables without a lock are two causes, although the same threads use both.
#include <pthread.h>

static int hits, misses;

static void *count(void *arg) {
    if (arg != NULL) {
        hits++;
        misses++;
    }
    return arg;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, &threads[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
