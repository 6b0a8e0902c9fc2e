// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=descriptor line=37 line2=29
// check:
// flags: -DTWICE
// verdict: bug
// findings: at-least
// finding: data-race detail=descriptor line=35 line2=29
// check:
// flags: -DREPLACED
// verdict: bug
// findings: at-least
// finding: data-race detail=descriptor line=33 line2=29

// A descriptor is closed while another thread uses it, closes it as well, or puts another file in
// its place. The flag orders no memory, so it changes nothing: whichever comes first, the number may
// belong to another file by then. Closing the other end first does not order anything either.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static int ends[2];

static void *closer(void *arg)
{
    close(ends[0]);
    return close(ends[1]) == 0 ? NULL : arg;
}

#ifdef REPLACED
static void use(void) { dup2(2, ends[1]); }
#elif defined TWICE
static void use(void) { close(ends[1]); }
#else
static void use(void) { (void)!write(ends[1], "x", 1); }
#endif

static atomic_int used;

static void *user(void *arg)
{
    use();
    atomic_store_explicit(&used, 1, memory_order_relaxed);
    return arg;
}

int main(void)
{
    if (pipe(ends) != 0)
        return 1;
    pthread_t t, u;
    pthread_create(&u, NULL, user, NULL);
    while (!atomic_load_explicit(&used, memory_order_relaxed))
        ;
    pthread_create(&t, NULL, closer, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
