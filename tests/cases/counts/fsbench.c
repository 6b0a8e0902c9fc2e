// check:
// flags: -DN=13
// verdict: verified
// executions: 1
// blocked: 0
// check:
// flags: -DN=16
// verdict: verified
// executions: 8
// blocked: 0
// check: --strategy dpor
// flags: -DN=16
// verdict: verified
// executions: 8
// check:
// flags: -DN=18
// verdict: verified
// executions: 32
// blocked: 0
// check:
// flags: -DN=20
// verdict: verified
// executions: 128
// blocked: 0
// check:
// flags: -DN=22
// verdict: verified
// executions: 512
// blocked: 0
// check:
// flags: -DN=24
// verdict: verified
// executions: 2048
// blocked: 0
// check:
// flags: -DN=26
// verdict: verified
// executions: 8192
// blocked: 0

// The fsbench of the Inspect paper's Table 1: block allocation under inode locks and block locks. Thread 13 + k starts at
// the block that thread k takes, so each thread above 13 doubles the number of executions.
#include <pthread.h>

#define BLOCKS 26
#define INODES 32

static pthread_mutex_t inode_lock[INODES], block_lock[BLOCKS];
int inode[INODES];
int busy[BLOCKS];

static void *allocate(void *arg)
{
    int i = *(int *)arg % INODES;
    pthread_mutex_lock(&inode_lock[i]);
    if (inode[i] == 0) {
        int b = (i * 2) % BLOCKS;
        for (;;) {
            pthread_mutex_lock(&block_lock[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[i] = b + 1;
                pthread_mutex_unlock(&block_lock[b]);
                break;
            }
            pthread_mutex_unlock(&block_lock[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&inode_lock[i]);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int id[N];
    for (int i = 0; i < INODES; i++)
        pthread_mutex_init(&inode_lock[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_init(&block_lock[i], NULL);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, allocate, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < INODES; i++)
        pthread_mutex_destroy(&inode_lock[i]);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_destroy(&block_lock[i]);
    return 0;
}
