// check:
// verdict: verified
// executions: 1

// tss_create with a destructor, thrd_exit, thread_local.
#include <assert.h>
#include <threads.h>

static tss_t key;
static thread_local int own = 3;
int destroyed[2];

static void destroy(void *value)
{
    *(int *)value = 1;
}

static int work(void *arg)
{
    tss_set(key, arg);
    assert(tss_get(key) == arg);
    own++;
    assert(own == 4);
    thrd_exit(5);
}

int main(void)
{
    thrd_t t[2];
    int value;
    tss_create(&key, destroy);
    for (int i = 0; i < 2; i++)
        thrd_create(&t[i], work, &destroyed[i]);
    for (int i = 0; i < 2; i++) {
        thrd_join(t[i], &value);
        assert(value == 5);
    }
    assert(destroyed[0] && destroyed[1] && own == 3);
    tss_delete(key);
    return 0;
}
