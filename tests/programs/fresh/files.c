// Files: a run works on copies of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); exit(9); } } while (0)

static int size_of(const char *path) {
    struct stat about;
    return stat(path, &about) < 0 ? -1 : (int)about.st_size;
}

static void *append(void *name) {
    FILE *file = fopen("log.txt", "a");
    CHECK(file);
    for (int i = 0; i < 3; i++)
        CHECK(fprintf(file, "%s %d\n", (char *)name, i) > 0);
    CHECK(fclose(file) == 0);
    return 0;
}

int main(void) {
    pthread_t a, b;
    char text[200];
    int file, other;
    CHECK(size_of("log.txt") == 6);
    int before = open("log.txt", O_RDONLY);
    CHECK(read(before, text, 4) == 4);
    pthread_create(&a, 0, append, "a");
    pthread_create(&b, 0, append, "b");
    pthread_join(a, 0);
    pthread_join(b, 0);
    CHECK(size_of("log.txt") == 6 + 6 * 4);
    // An earlier descriptor sees what is added, from its own offset.
    CHECK(read(before, text, sizeof text) == 2 + 6 * 4 && close(before) == 0);
    // A file of its own, seen under each of its names.
    CHECK((file = open("new.txt", O_CREAT | O_EXCL | O_RDWR, 0640)) >= 0);
    CHECK(open("new.txt", O_CREAT | O_EXCL | O_RDWR, 0640) == -1 && errno == EEXIST);
    CHECK(write(file, "hello world", 11) == 11);
    CHECK(size_of("./new.txt") == 11);
    CHECK((other = open("./new.txt", O_RDONLY)) >= 0);
    CHECK(read(other, text, 5) == 5 && !memcmp(text, "hello", 5));
    CHECK(lseek(file, 0, SEEK_CUR) == 11);
    CHECK(ftruncate(file, 5) == 0 && size_of("new.txt") == 5);
    struct stat about;
    CHECK(fstat(file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 0777) == 0640);
    CHECK(stat("new.txt", &about) == 0 && (about.st_mode & 0777) == 0640);
    CHECK(rename("new.txt", "moved.txt") == 0 && size_of("new.txt") == -1 && size_of("moved.txt") == 5);
    CHECK(rename("moved.txt", "log.txt") == 0 && size_of("log.txt") == 5);
    CHECK(unlink("log.txt") == 0 && size_of("log.txt") == -1);
    CHECK(unlink("log.txt") == -1 && errno == ENOENT);
    CHECK((other = open("log.txt", O_CREAT | O_WRONLY, 0600)) >= 0 && size_of("log.txt") == 0);
    CHECK(close(other) == 0);
    char name[] = "tempXXXXXX";
    CHECK((other = mkstemp(name)) >= 0 && strcmp(name, "tempXXXXXX") && size_of(name) == 0);
    CHECK(close(other) == 0 && unlink(name) == 0);
    FILE *stream = tmpfile();
    CHECK(stream && fputs("x", stream) >= 0);
    CHECK(fclose(stream) == 0);
    // Memory that is a file.
    CHECK((file = open("map.txt", O_RDWR)) >= 0);
    char *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(map != MAP_FAILED && !memcmp(map, "mapped", 6));
    memcpy(map, "MAPPED", 6);
    CHECK(pread(file, text, 6, 0) == 6 && !memcmp(text, "MAPPED", 6));
    CHECK(munmap(map, 4096) == 0);
    CHECK((map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0)) != MAP_FAILED);
    memcpy(map, "again!", 6);
    CHECK(pread(file, text, 6, 0) == 6 && !memcmp(text, "MAPPED", 6));
    CHECK(truncate("map.txt", 3) == 0 && size_of("map.txt") == 3);
    return 0;
}
