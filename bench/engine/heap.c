// As small.c, in a process whose heap a library has filled (heap_library.c) and that no run
// touches.
#include <pthread.h>

extern char *heap_of_library;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int total;

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
	return total != 4 || !heap_of_library;
}
