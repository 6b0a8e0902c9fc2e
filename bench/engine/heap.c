// As small.c, in a process with BYTES of heap that were written before the threads start and are not touched by them.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef BYTES
#define BYTES (100 << 20)
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int total;
static char *heap;

__attribute__((constructor)) static void fill(void)
{
	heap = malloc(BYTES);
	memset(heap, 1, BYTES);
}

static void *work(void *argument)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		total++;
		pthread_mutex_unlock(&mutex);
	}
	return argument;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	return total != 4;
}
