/* A file is fetched in segments by several threads, which add what they got to a shared total. */
#include <pthread.h>

#ifndef THREADS
#define THREADS 3
#endif
#define PIECES 3

struct segment {
    int from, to;
};

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static struct segment segments[THREADS];

/* Stands for the network: how much comes depends on the place only. */
static int fetch(int position, int wanted)
{
    int got = 100 + position % 7;
    return got < wanted ? got : wanted;
}

static void *download(void *arg)
{
    const struct segment *segment = arg;
    for (int at = segment->from; at < segment->to;) {
        int got = fetch(at, segment->to - at);
        at += got;
        pthread_mutex_lock(&total_lock);
        total += got;
        pthread_mutex_unlock(&total_lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        segments[i].from = i * PIECES * 100;
        segments[i].to = (i + 1) * PIECES * 100;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, download, &segments[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return total == THREADS * PIECES * 100 ? 0 : 1;
}
