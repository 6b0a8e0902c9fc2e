// Ten million accesses in one thread while another exists: the price of an access.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define ACCESSES 10000000
static volatile int cells[64];

static void *idle(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_t thread;
	struct timespec before, after;
	pthread_create(&thread, 0, idle, 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < ACCESSES / 2; i++)
		cells[i & 63]++;
	clock_gettime(CLOCK_MONOTONIC, &after);
	pthread_join(thread, 0);
	printf("%.3f\n", ((after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec)) / ACCESSES);
	return 0;
}
