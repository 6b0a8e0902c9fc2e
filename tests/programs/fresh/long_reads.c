#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); failed++; } } while (0)
__attribute__((aligned(4096))) static char own[4 * 4096];
int main(int n, char **a) {
    int failed = 0;
    (void)n;
    FILE *file = fopen(a[0], "r");
    long count = 0, sum = 0;
    int c;
    while ((c = fgetc(file)) != EOF) { count++; sum += c; }
    CHECK(!ferror(file) && count > 20000);
    fseek(file, 0, SEEK_END);
    CHECK(ftell(file) == count);
    fclose(file);
    file = fopen(a[0], "r");
    setvbuf(file, own, _IOFBF, sizeof own);
    long again = 0;
    while ((c = fgetc(file)) != EOF) again++;
    CHECK(again == count);
    fclose(file);
    DIR *d = opendir("many");
    int names = 0;
    while (readdir(d)) names++;
    closedir(d);
    CHECK(names > 200);
    struct dirent **list;
    CHECK(scandir("many", &list, 0, alphasort) == names);
    char *line = 0; size_t room = 0; long lines = 0;
    file = popen("ls many", "r");
    while (getline(&line, &room, file) > 0) lines++;
    CHECK(pclose(file) == 0);
    CHECK(lines == names - 2);
    return failed ? 9 : 0;
}
