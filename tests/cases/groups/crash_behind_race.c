// compilers: gcc clang
// check: --granularity access
// verdict: bug
// finding: data-race var=config line=22 line2=27
// finding: crash detail=SIGSEGV line=27
// findings: at-least
// groups: 1
// check: --granularity access --jobs 2
// verdict: bug
// finding: data-race var=config line=22 line2=27
// finding: crash detail=SIGSEGV line=27
// findings: at-least
// groups: 1

// The reader takes the pointer before or after the writer has put it away. Only after, it crashes.
#include <pthread.h>
#include <stddef.h>

static int value = 5, *config = &value, seen;

static void *drop(void *arg) {
    config = NULL;
    return arg;
}

static void *use(void *arg) {
    seen = *config;
    return arg;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, drop, NULL);
    pthread_create(&other, NULL, use, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
