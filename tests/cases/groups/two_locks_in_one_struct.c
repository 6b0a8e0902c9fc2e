// check:
// verdict: bug
// finding: data-race var=s.in
// finding: data-race var=s.out
// findings: 4
// groups: 2

// Two fields with a lock each, and a place that forgets both: two disciplines, two causes.
#include <pthread.h>

static struct {
    int in, out;
} s;
static pthread_mutex_t of_in = PTHREAD_MUTEX_INITIALIZER, of_out = PTHREAD_MUTEX_INITIALIZER;
static int seen;

static void *work(void *arg) {
    pthread_mutex_lock(&of_in);
    s.in++;
    pthread_mutex_unlock(&of_in);
    pthread_mutex_lock(&of_out);
    s.out++;
    pthread_mutex_unlock(&of_out);
    return arg;
}

static void *forget(void *arg) {
    seen = s.in;
    s.in = seen - 1;
    seen = s.out;
    s.out = seen - 1;
    return arg;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, forget, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
