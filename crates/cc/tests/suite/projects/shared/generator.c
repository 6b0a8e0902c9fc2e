/* Runs at build time, under the wrapper's runtime but without raddle: prints a header with ten squares, made by
 * two threads. */
#include <pthread.h>
#include <stdio.h>

static int squares[10];

static void *fill(void *argument) {
    int first = *(int *)argument;
    for (int i = first; i < 10; i += 2)
        squares[i] = i * i;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int first[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, fill, &first[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("static const int generated_table[] = {");
    for (int i = 0; i < 10; i++)
        printf("%d, ", squares[i]);
    printf("};\n");
    return 0;
}
