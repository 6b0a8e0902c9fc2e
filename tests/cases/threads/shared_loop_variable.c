// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=read-write line=19 line2=11

// The address of the loop counter goes to each thread, while main counts on.
#include <pthread.h>

static void *work(void *arg)
{
    int mine = *(int *)arg;
    return mine == 5 ? arg : NULL;
}

int main(void)
{
    pthread_t t[2];
    int i;
    for (i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &i);
    for (int k = 0; k < 2; k++)
        pthread_join(t[k], NULL);
    return 0;
}
