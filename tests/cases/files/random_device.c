// check:
// verdict: verified
// executions: 4
// check:
// flags: -DSTREAM
// verdict: verified
// executions: 4
// check: --strategy dpor --jobs 2
// flags: -DRANDOM
// verdict: verified
// executions: 4

// The devices give the same bytes in every run: otherwise the number of additions would differ from run to
// run. a and b additions can be ordered in (a+b)! / a! b! ways; here it is 1 and 3. STREAM: by a stream.
// RANDOM: by the other device, and descriptors are closed.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int sum;

static unsigned char byte(void)
{
    unsigned char bytes[8], again[8];
#ifdef STREAM
    FILE *stream = fopen("/dev/urandom", "rb");
    assert(stream != NULL && fread(bytes, sizeof bytes, 1, stream) == 1);
    assert(fread(again, sizeof again, 1, stream) == 1);
    fclose(stream);
#else
#ifdef RANDOM
    int device = open("/dev/random", O_RDONLY | O_CLOEXEC);
#else
    int device = open("/dev/urandom", O_RDWR);
#endif
    assert(read(device, bytes, sizeof bytes) == sizeof bytes);
    assert(read(device, again, sizeof again) == sizeof again);
    close(device);
#endif
    assert(bytes[0] != again[0] || bytes[1] != again[1] || bytes[2] != again[2]);
    return bytes[0];
}

static void *worker(void *more)
{
    for (int i = byte() % 4; i >= 0; i--)
        sum++;
    return more;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
