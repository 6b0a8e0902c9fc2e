/* A control program: each task reads a sensor, takes part in the common state under a lock, and
 * raises the alarm, under a lock of its own, if a limit is exceeded. */
#include <pthread.h>

#ifndef TASKS
#define TASKS 2
#endif

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER, alarm_lock = PTHREAD_MUTEX_INITIALIZER;
static int pressure, cycles, alarms;
static int sensors[TASKS];

static void *task(void *arg)
{
    int reading = *(const int *)arg;
    pthread_mutex_lock(&state_lock);
    pressure += reading;
    cycles++;
    int now = pressure;
    pthread_mutex_unlock(&state_lock);
    if (now > 100) {
        pthread_mutex_lock(&alarm_lock);
        alarms++;
        pthread_mutex_unlock(&alarm_lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[TASKS];
    for (int i = 0; i < TASKS; i++)
        sensors[i] = 30 + 10 * i;
    for (int i = 0; i < TASKS; i++)
        pthread_create(&threads[i], NULL, task, &sensors[i]);
    for (int i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    return cycles == TASKS ? 0 : 1;
}
