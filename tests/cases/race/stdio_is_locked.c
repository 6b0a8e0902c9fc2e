// check:
// verdict: verified

// Two threads print to one stream, which has its own lock: no race in the program.
#include <pthread.h>
#include <stdio.h>

static void *greet(void *arg)
{
    printf("hello from %s\n", (char *)arg);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, greet, "one");
    pthread_create(&b, NULL, greet, "two");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
