// status: 0
// Neighbouring accesses of one place are one record. Those of two threads touch, but do not overlap, and
// all of them are inside of live blocks: nothing is wrong.
#include <pthread.h>
#include <stdlib.h>

static char table[1001];

static void *fill(void *argument) {
    long half = (long)argument;
    for (int i = 0; i < 500; i++)
        table[half * 501 + i] = 1;
    for (int round = 0; round < 20; round++) {
        char *block = malloc(64);
        for (int i = 63; i >= 0; i--)
            block[i] = 1;
        free(block);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, fill, (void *)i);
    table[500] = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return table[500] != 1;
}
