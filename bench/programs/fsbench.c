// Block allocation of a file system: N threads, 32 inodes and 26 blocks, each with its lock.
// Expected executions: 1 up to N = 13, then 2^(N-13): 8, 32, 128, 512, 2048, 8192 for N = 16, 18,
// 20, 22, 24, 26.
#include <pthread.h>

#ifndef N
#define N 26
#endif
#define BLOCKS 26
#define INODES 32

pthread_mutex_t inode_lock[INODES], block_lock[BLOCKS];
int inode[INODES];
int busy[BLOCKS];
int id[N];

void *allocate(void *arg)
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
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < INODES; i++)
        pthread_mutex_init(&inode_lock[i], 0);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_init(&block_lock[i], 0);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, allocate, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < INODES; i++)
        pthread_mutex_destroy(&inode_lock[i]);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_destroy(&block_lock[i]);
    return 0;
}
