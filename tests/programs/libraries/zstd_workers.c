// Compresses with several worker threads of the library's own, in two streams at once, and checks
// what comes out. The compressed bytes depend on the input and the job size only, never on the
// schedule: their hash is printed.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { SIZE = 1200 * 1024, CHUNK = 96 * 1024, WORKERS = 3, JOB = 512 * 1024 };

static void check(size_t code, const char *what) {
    if (ZSTD_isError(code)) {
        fprintf(stderr, "%s: %s\n", what, ZSTD_getErrorName(code));
        exit(20);
    }
}

// One page of text over and over, each time a little different: long matches keep the run short.
__attribute__((no_sanitize("thread"))) static void fill(unsigned char *bytes, size_t size, uint32_t seed) {
    for (size_t at = 0; at < size; at++) {
        if (at % 1024 == 0)
            seed = seed * 1664525u + 1013904223u;
        bytes[at] = (unsigned char)('a' + (at % 1000 == seed % 1000 ? seed >> 8 : at % 1000 * 7919u) % 26);
    }
}

__attribute__((no_sanitize("thread"))) static uint64_t hash(const unsigned char *bytes, size_t size) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t at = 0; at < size; at++)
        sum = (sum ^ bytes[at]) * 0x100000001b3u;
    return sum;
}

struct work {
    uint32_t seed;
    size_t packed;
    uint64_t sum;
};

static void *compress(void *argument) {
    struct work *work = argument;
    unsigned char *input = malloc(SIZE), *packed = malloc(ZSTD_compressBound(SIZE)), *output = malloc(SIZE);
    fill(input, SIZE, work->seed);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1), "level");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1), "checksum");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, WORKERS), "workers");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_jobSize, JOB), "job size");
    ZSTD_outBuffer out = {packed, ZSTD_compressBound(SIZE), 0};
    for (size_t from = 0; from < SIZE; from += CHUNK) {
        size_t length = SIZE - from < CHUNK ? SIZE - from : CHUNK;
        ZSTD_inBuffer in = {input + from, length, 0};
        while (in.pos < in.size)
            check(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue), "compress");
    }
    ZSTD_inBuffer none = {0, 0, 0};
    size_t left;
    do
        check(left = ZSTD_compressStream2(context, &out, &none, ZSTD_e_end), "end");
    while (left);
    work->packed = out.pos;
    work->sum = hash(packed, out.pos);
    ZSTD_freeCCtx(context);
    size_t length = ZSTD_decompress(output, SIZE, packed, out.pos);
    check(length, "decompress");
    if (length != SIZE || memcmp(input, output, SIZE)) {
        fprintf(stderr, "the bytes differ\n");
        exit(21);
    }
    free(input);
    free(packed);
    free(output);
    return 0;
}

int main(int count, char **arguments) {
    struct work work[2] = {{.seed = 1}, {.seed = 2}};
    int streams = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t threads[2];
    for (int i = 0; i < streams; i++)
        pthread_create(&threads[i], 0, compress, &work[i]);
    for (int i = 0; i < streams; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < streams; i++)
        printf("%zu bytes, %016llx\n", work[i].packed, (unsigned long long)work[i].sum);
    return 0;
}
