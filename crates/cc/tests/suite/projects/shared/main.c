/* Sums the table with two threads; prints 285 and ends with status 3. */
#include "config.h"
#include "locked.h"
#include "table.h"
#include <pthread.h>
#include <stdio.h>

#if !HAVE_PTHREAD_H || !HAVE_MEMCPY || HAVE_NO_SUCH_FUNCTION || SIZEOF_LONG != 8 || CHECKED_AT_RUN_TIME != 7
#error "the checks went wrong"
#endif

static void *half(void *argument) {
    int middle = table_size() / 2;
    int upper = argument != NULL;
    locked_add(table_sum(upper ? middle : 0, upper ? table_size() : middle));
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int marker = 0;
    pthread_create(&threads[0], NULL, half, NULL);
    pthread_create(&threads[1], NULL, half, &marker);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("sum %d\n", locked_add(0));
    return 3;
}
