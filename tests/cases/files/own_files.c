// check:
// verdict: verified
// executions: 1

// Each thread has a file of its own: their operations commute.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void *work(void *arg)
{
    char name[20], text[4] = "";
    struct stat about;
    snprintf(name, sizeof name, "own-%ld.txt", (long)arg);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    assert(write(file, "abc", 3) == 3);
    assert(lseek(file, 0, SEEK_SET) == 0);
    assert(read(file, text, 3) == 3 && text[2] == 'c');
    assert(fstat(file, &about) == 0 && about.st_size == 3);
    close(file);
    FILE *stream = fopen(name, "a+");
    assert(fprintf(stream, "%d%s\n", 4, "five") == 6);
    assert(fclose(stream) == 0);
    assert(stat(name, &about) == 0 && about.st_size == 9);
    assert(unlink(name) == 0);
    // A stream in memory has no descriptor, and nothing is wrong with that.
    char number[] = "12";
    int value = 0;
    stream = fmemopen(number, 2, "r");
    errno = 0;
    assert(fscanf(stream, "%d", &value) == 1 && value == 12 && errno == 0);
    fclose(stream);
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, work, (void *)1);
    pthread_create(&b, NULL, work, (void *)2);
    pthread_create(&c, NULL, work, (void *)3);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
