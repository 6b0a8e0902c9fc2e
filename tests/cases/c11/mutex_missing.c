// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=count line=13 line2=13

// The same without the mutex.
#include <threads.h>

int count;

static int add(void *arg)
{
    count++;
    return 0;
}

int main(void)
{
    thrd_t a, b;
    thrd_create(&a, add, NULL);
    thrd_create(&b, add, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    return 0;
}
