// Compresses small blocks with several worker threads of the library's own, and checks what comes
// out; block boundaries do not depend on the schedule, so the hash of the compressed bytes does not
// either.
#include <lzma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 20000, BLOCK = 4096, THREADS = 3 };

static unsigned char input[SIZE], packed[2 * SIZE], output[SIZE];

static void check(lzma_ret code, lzma_ret wanted, const char *what) {
    if (code != wanted) {
        fprintf(stderr, "%s: %d\n", what, code);
        exit(20);
    }
}

__attribute__((no_sanitize("thread"))) static void fill(void) {
    uint32_t seed = 1;
    for (int at = 0; at < SIZE; at++) {
        if (at % 50 == 0)
            seed = seed * 1664525u + 1013904223u;
        input[at] = (unsigned char)('a' + (seed >> (at % 24)) % 26);
    }
}

__attribute__((no_sanitize("thread"))) static uint64_t hash(const unsigned char *bytes, size_t size) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t at = 0; at < size; at++)
        sum = (sum ^ bytes[at]) * 0x100000001b3u;
    return sum;
}

int main(void) {
    fill();
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_options_lzma parameters;
    lzma_lzma_preset(&parameters, 0);
    parameters.dict_size = 4096;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &parameters}, {LZMA_VLI_UNKNOWN, 0}};
    // With a time-out the coder waits with a deadline.
    lzma_mt many = {.threads = THREADS, .block_size = BLOCK, .timeout = 10, .filters = filters, .check = LZMA_CHECK_CRC32};
    check(lzma_stream_encoder_mt(&stream, &many), LZMA_OK, "encoder");
    stream.next_in = input;
    stream.avail_in = SIZE;
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    lzma_ret code;
    while ((code = lzma_code(&stream, LZMA_FINISH)) == LZMA_OK)
        ;
    check(code, LZMA_STREAM_END, "compress");
    size_t length = (size_t)stream.total_out, from = 0, to = 0;
    lzma_end(&stream);
    uint64_t limit = UINT64_MAX;
    check(lzma_stream_buffer_decode(&limit, 0, 0, packed, &from, length, output, &to, SIZE), LZMA_OK, "decompress");
    if (to != SIZE || memcmp(input, output, SIZE)) {
        fprintf(stderr, "the bytes differ\n");
        return 21;
    }
    printf("%zu bytes, %016llx\n", length, (unsigned long long)hash(packed, length));
    return 0;
}
