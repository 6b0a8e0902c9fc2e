// status: 1
// says: data-race: write write of table[30001] (T0 at
// says: data-race: read write of heap#1+50 (T0 at
// Neighbouring accesses of one place are one record: the race with one of its bytes is there, whether the
// bytes are accessed upwards or downwards. A block that is freed and made again is another one.
#include <pthread.h>
#include <stdlib.h>

static char table[40000];
static char *block;

static void *fill(void *argument) {
    for (int i = 0; i < 40000; i++)
        table[i] = 1;
    for (int i = 99; i >= 0; i--)
        block[i] = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    block = malloc(100);
    for (int i = 0; i < 100; i++)
        block[i] = 0;
    pthread_create(&thread, 0, fill, 0);
    table[30001] = 2;
    char seen = block[50];
    pthread_join(thread, 0);
    free(block);
    return seen == 9;
}
