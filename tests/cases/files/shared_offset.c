// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=38

// Two threads read from one descriptor: the first one gets the first letter. Reading the same byte
// again (pread) commutes.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;
static char got[2];

static void *reader(void *arg)
{
    char again;
    if (read(file, &got[(long)arg], 1) != 1 || pread(file, &again, 1, 0) != 1)
        return arg;
    assert(again == 'a');
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    file = open("letters.txt", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(file, "ab", 2) != 2 || lseek(file, 0, SEEK_SET) != 0)
        return 1;
    unlink("letters.txt");
    pthread_create(&a, NULL, reader, (void *)0);
    pthread_create(&b, NULL, reader, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(file);
    assert(got[0] + got[1] == 'a' + 'b');
    assert(got[0] == 'a');
    return 0;
}
