// check: --granularity access
// verdict: bug
// finding: data-race var=total line=18 line2=18
// finding: assertion detail=assert line=29
// finding: assertion detail=assert line=30
// findings: 3
// groups: 2

// An update is lost in some orders, and the first assertion fails: main reads what the race has
// spoilt. The second one has a cause of its own: it fails in the very first execution.
#include <assert.h>
#include <pthread.h>

static int total;
static const int two = 2;

static void *add(void *arg) {
    total++;
    return arg;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    int seen = total;
    assert(seen == two);
    assert(two == 3);
    return 0;
}
