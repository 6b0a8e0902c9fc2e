// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DTEMPORARY
// verdict: bug
// executions: 2
// finding: assertion

// Two threads write to one stream, in memory or in a temporary file: in either order.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *stream;

static void *writer(void *arg)
{
    fputs(arg, stream);
    return NULL;
}

int main(void)
{
    char *text = NULL;
    size_t bytes = 0;
#ifdef TEMPORARY
    stream = tmpfile();
#else
    stream = open_memstream(&text, &bytes);
#endif
    pthread_t t, u;
    pthread_create(&t, NULL, writer, "a");
    pthread_create(&u, NULL, writer, "b");
    pthread_join(t, NULL);
    pthread_join(u, NULL);
#ifdef TEMPORARY
    rewind(stream);
    text = calloc(1, 3);
    bytes = fread(text, 1, 2, stream);
#endif
    fclose(stream);
    int in_order = bytes == 2 && strcmp(text, "ab") == 0;
    free(text);
    assert(in_order);
    return 0;
}
