/* A reader cuts input into blocks, workers compress them, a writer takes the results.
   Blocks are copied under the queue's lock; with POINTERS they are handed over instead. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef WORKERS
#define WORKERS 2
#endif
#define BLOCKS 2
#define SIZE 8

struct block {
    int number, length;
    char data[SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int taken, finished;
#ifdef POINTERS
static struct block *input[BLOCKS], *output[BLOCKS];
#else
static struct block input[BLOCKS], output[BLOCKS];
#endif
static int ready, written;

/* Run lengths, in place. */
static int compress(char *data, int length)
{
    int out = 0;
    for (int at = 0; at < length; at++)
        if (out == 0 || data[out - 1] != data[at])
            data[out++] = data[at];
    return out;
}

static void *read_input(void *arg)
{
    for (int number = 0; number < BLOCKS; number++) {
        pthread_mutex_lock(&lock);
#ifdef POINTERS
        struct block *block = malloc(sizeof *block);
        input[number] = block;
#else
        struct block *block = &input[number];
#endif
        block->number = number;
        block->length = SIZE;
        memset(block->data, 'a' + number, SIZE);
        ready = number + 1;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *work(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        if (taken >= ready) {
            pthread_mutex_unlock(&lock);
            return arg;
        }
#ifdef POINTERS
        struct block *mine = input[taken++];
        pthread_mutex_unlock(&lock);
        mine->length = compress(mine->data, mine->length);
        pthread_mutex_lock(&lock);
        output[mine->number] = mine;
#else
        struct block mine;
        memcpy(&mine, &input[taken++], sizeof mine);
        pthread_mutex_unlock(&lock);
        mine.length = compress(mine.data, mine.length);
        pthread_mutex_lock(&lock);
        memcpy(&output[mine.number], &mine, sizeof mine);
#endif
        finished++;
        pthread_mutex_unlock(&lock);
    }
}

static void *write_output(void *arg)
{
    pthread_mutex_lock(&lock);
    written += finished;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t reader, writer, workers[WORKERS];
    pthread_create(&reader, NULL, read_input, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    pthread_create(&writer, NULL, write_output, NULL);
    pthread_join(reader, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_join(writer, NULL);
    return 0;
}
