// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race var=shared line=19 line2=30
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=shared line=19 line2=30

// Memory operands of inline assembly are accesses. Fences and empty assembly are none, and neither
// are operands of the thread's own.
#include <pthread.h>

static int shared;

static void *set(void *arg)
{
    __asm__("movl $1, %0" : "=m"(shared));
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, set, NULL);
    unsigned short control;
    int value;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(shared));
    __asm__ volatile("mfence" ::: "memory");
    __asm__ volatile("" ::: "memory");
    pthread_join(a, NULL);
    return 0;
}
