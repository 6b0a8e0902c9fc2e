// check:
// flags: -DROUNDS=1
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DROUNDS=2
// verdict: verified
// executions: 8
// blocked: 0
// check:
// flags: -DROUNDS=3
// verdict: verified
// executions: 32
// blocked: 0

// Two threads take turns. At each of the 2n-1 changes of turn, the next thread is asleep already or
// not. Executions differ only in that.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int turn;

static void *play(void *arg)
{
    int me = *(int *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&m);
        while (turn != me)
            pthread_cond_wait(&c, &m);
        turn = 1 - me;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2] = { 0, 1 };
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, play, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
