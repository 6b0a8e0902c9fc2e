/* A counter with a lock, for the shared library. */
#include "locked.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

int locked_add(int amount) {
    pthread_mutex_lock(&lock);
    int result = value += amount;
    pthread_mutex_unlock(&lock);
    return result;
}
