// compilers: gcc clang
// flags: -mavx
// check:
// flags: -O0
// verdict: incomplete
// check:
// flags: -O2
// verdict: incomplete

// Which elements an intrinsic under a mask accesses is not followed: its use is named.
#include <immintrin.h>
#include <pthread.h>

static float shared[8];

static void *set_last(void *arg)
{
    shared[7] = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, set_last, NULL);
    if (__builtin_cpu_supports("avx")) {
        volatile int bit = -1;
        volatile float first = _mm256_cvtss_f32(_mm256_maskload_ps(shared, _mm256_set1_epi32(bit)));
        (void)first;
    }
    pthread_join(a, NULL);
    return 0;
}
