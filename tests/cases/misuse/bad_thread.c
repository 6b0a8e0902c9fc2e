// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=bad-thread line=13

// A handle that no create ever filled in.
#include <pthread.h>

static pthread_t nobody;

int main(void)
{
    pthread_join(nobody, NULL);
    return 0;
}
