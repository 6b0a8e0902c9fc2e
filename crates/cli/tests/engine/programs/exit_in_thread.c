// status: 5
// says: exit status 5
#include <pthread.h>
#include <stdlib.h>

static void *leave(void *argument) {
    (void)argument;
    exit(5);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, leave, 0);
    pthread_join(thread, 0);
    return 0;
}
