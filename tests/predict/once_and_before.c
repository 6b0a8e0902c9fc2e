// What the initialiser writes is safe, what is written before the call is not. It takes the second
// thread to run the initialiser, which the observed run does not show: the second round does.
// options: --rounds 2
// race: hits
// safe: table
#include <pthread.h>

static int table, hits, got[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void) { table = 7; }

static void *one(void *arg) {
    hits++;
    pthread_once(&once, fill);
    got[0] = table;
    return arg;
}

static void *two(void *arg) {
    pthread_once(&once, fill);
    got[1] = table;
    hits++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
