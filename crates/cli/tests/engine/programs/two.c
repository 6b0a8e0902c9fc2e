// Two threads that print under a lock. With -DFIXED they take the lock once instead of three times.
// status: 0
// prints: done 6
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *add(void *name) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    count += 3;
    pthread_mutex_unlock(&lock);
#else
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        count++;
        printf("%s %d\n", (char *)name, count);
        pthread_mutex_unlock(&lock);
    }
#endif
    return name;
}

int main(int arguments, char **argument) {
    pthread_t a, b;
    (void)argument;
    pthread_create(&a, 0, add, "a");
    pthread_create(&b, 0, add, "b");
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf("done %d\n", count);
    return arguments > 1 ? 7 : 0;
}
