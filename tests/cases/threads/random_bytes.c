// check:
// verdict: verified
// executions: 4
// check: --jobs 2
// verdict: verified
// executions: 4
// check: --strategy dpor
// verdict: verified
// executions: 4

// The kernel's random bytes are the same in every run: otherwise the number of additions would
// differ from run to run. a and b additions can be ordered in (a+b)! / a! b! ways; here it is 1 and
// 3.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int sum;

static void *worker(void *into)
{
    unsigned char bytes[11] = {0}, again[11] = {0}, raw[11] = {0};
    assert(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    assert(getentropy(again, sizeof again) == 0);
    assert(syscall(SYS_getrandom, raw, sizeof raw, GRND_NONBLOCK) == sizeof raw);
    assert(memcmp(bytes, again, sizeof bytes) && memcmp(again, raw, sizeof raw));
    memcpy(into, bytes, sizeof bytes);
    for (int i = 0; i < bytes[0] % 4 + 1; i++)
        sum++;
    return into;
}

int main(void)
{
    unsigned char bytes[2][11], large[257];
    assert(getrandom(large, 1, ~0u) == -1 && errno == EINVAL);
    assert(getentropy(large, sizeof large) == -1 && errno == EIO);
    pthread_t thread;
    pthread_create(&thread, 0, worker, bytes[0]);
    worker(bytes[1]);
    pthread_join(thread, 0);
    assert(memcmp(bytes[0], bytes[1], sizeof bytes[0]));
    return 0;
}
