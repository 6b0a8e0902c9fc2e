// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=text line=25 line2=25
// check:
// flags: -DKNOWN
// verdict: verified

// The GNU variant of strerror_r writes to the buffer only if it has no text of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

#ifdef KNOWN
#define NUMBER ERANGE
#else
#define NUMBER -1
#endif

static char text[100];

static void *describe(void *arg)
{
    return strerror_r(NUMBER, text, sizeof text) == NULL ? arg : NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, describe, NULL);
    describe(NULL);
    pthread_join(t, NULL);
    return 0;
}
