// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: assertion detail=assert line=27
// check: --strategy dpor
// verdict: bug
// finding: assertion detail=assert line=27

// One thread reads a file that the other writes. The lookup comes before the file is created
// (nothing to read), or after it. Then the read comes before the write, or after it: three
// executions, of which one finds the letter.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *reader(void *arg)
{
    char letter = 0;
    int file = open("letter.txt", O_RDONLY);
    if (file >= 0) {
        if (read(file, &letter, 1) < 0)
            return arg;
        close(file);
    }
    assert(letter != 'x');
    return arg;
}

static void *writer(void *arg)
{
    int file = open("letter.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (write(file, "x", 1) != 1)
        return arg;
    close(file);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    unlink("letter.txt");
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("letter.txt");
    return 0;
}
