// compilers: gcc clang
// check:
// verdict: verified
// check: --granularity access
// verdict: verified
// check:
// flags: -DREPAIR
// verdict: bug
// finding: data-race var=page[0] line=37 line2=37
// check: --granularity access
// flags: -DREPAIR
// verdict: bug
// finding: data-race var=page[0] line=37 line2=37

// An access that faults does not take place if the handler jumps out: two threads that try the same
// address do not race. It takes place if the handler makes the memory accessible and returns.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

static _Thread_local sigjmp_buf back;
static _Alignas(4096) char page[4096];
static atomic_int faults;

static void handler(int number)
{
#ifdef REPAIR
    mprotect(page, sizeof page, PROT_READ | PROT_WRITE);
#else
    siglongjmp(back, number);
#endif
}

static void store(void) { *(volatile char *)page = 1; }

static void *try_it(void *arg)
{
    if (!sigsetjmp(back, 1))
        store();
    else
        faults++;
    return arg;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    pthread_t thread;
    sigaction(SIGSEGV, &action, NULL);
    mprotect(page, sizeof page, PROT_NONE);
    pthread_create(&thread, NULL, try_it, NULL);
    try_it(NULL);
    pthread_join(thread, NULL);
    return 0;
}
