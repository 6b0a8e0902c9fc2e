// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=buffer line=15 line2=21

// memcpy into a buffer that another thread clears with memset.
#include <pthread.h>
#include <string.h>

char buffer[64];
static const char text[64] = "text";

static void *one(void *arg)
{
    memcpy(buffer, text, sizeof buffer);
    return NULL;
}

static void *two(void *arg)
{
    memset(buffer, 0, sizeof buffer);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
