// Threads that talk through pipes and an event counter.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <poll.h>
#include <unistd.h>
#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); exit(9); } } while (0)

static int there[2], back[2], counter;

static void *echo(void *argument) {
    char letter;
    while (read(there[0], &letter, 1) == 1) {
        letter = (char)(letter - 'a' + 'A');
        CHECK(write(back[1], &letter, 1) == 1);
    }
    CHECK(close(back[1]) == 0);
    uint64_t one = 1;
    CHECK(write(counter, &one, 8) == 8);
    return argument;
}

int main(void) {
    pthread_t a, b;
    char text[10];
    CHECK(pipe(there) == 0 && pipe(back) == 0 && (counter = eventfd(0, 0)) >= 0);
    pthread_create(&a, 0, echo, 0);
    CHECK(write(there[1], "abc", 3) == 3);
    for (int i = 0; i < 3; i++)
        CHECK(read(back[0], &text[i], 1) == 1);
    CHECK(!memcmp(text, "ABC", 3));
    CHECK(close(there[1]) == 0);
    CHECK(read(back[0], text, 1) == 0);
    uint64_t value;
    CHECK(read(counter, &value, 8) == 8 && value == 1);
    pthread_join(a, 0);
    (void)b;
    return 0;
}
