// check:
// verdict: bug
// finding: data-race line=15 line2=15

// The address is used again later: the report names the block that was there when the threads
// raced.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static long *cells;

static void *count(void *arg)
{
    cells[0]++;
    return arg;
}

int main(void)
{
    pthread_t a, b;
    cells = calloc(4, sizeof *cells);
    pthread_create(&a, NULL, count, NULL);
    pthread_create(&b, NULL, count, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(cells);
    char *text = malloc(32);
    strcpy(text, "other");
    free(text);
    return 0;
}
