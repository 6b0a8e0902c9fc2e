// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free line=25 line2=15

// realloc gives the old block up while another thread reads it.
#include <pthread.h>
#include <stdlib.h>

int *numbers, *grown, copy;

static void *reader(void *arg)
{
    int *p = arg;
    copy = p[0];
    return NULL;
}

int main(void)
{
    pthread_t t;
    numbers = malloc(4 * sizeof *numbers);
    numbers[0] = 1;
    pthread_create(&t, NULL, reader, numbers);
    grown = realloc(numbers, 4096 * sizeof *numbers);
    pthread_join(t, NULL);
    free(grown);
    return 0;
}
