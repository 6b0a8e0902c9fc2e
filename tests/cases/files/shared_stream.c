// compilers: gcc clang
// check:
// verdict: bug
// executions: 6
// finding: assertion detail=assert line=47
// check: --strategy dfs
// verdict: bug
// finding: assertion detail=assert line=47

// Three threads take a line each from one stream, by three functions of the C library: 3! orders.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE *stream;
static int got[3];

static void *work(void *arg)
{
    long own = (long)arg;
    char text[10], *line = NULL;
    size_t size = 0;
    if (own == 0 && fgets(text, sizeof text, stream))
        got[0] = atoi(text);
    else if (own == 1 && fscanf(stream, "%d\n", &got[1]) != 1)
        return arg;
    else if (own == 2 && getline(&line, &size, stream) > 0)
        got[2] = atoi(line);
    free(line);
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    stream = fopen("lines.txt", "w+");
    fprintf(stream, "%d\n%d\n%d\n", 1, 2, 3);
    rewind(stream);
    for (long i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert(got[0] + got[1] + got[2] == 6);
    assert(!(got[2] == 1 && got[0] == 2 && got[1] == 3));
    fclose(stream);
    unlink("lines.txt");
    return 0;
}
