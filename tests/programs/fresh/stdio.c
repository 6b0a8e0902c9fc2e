// Streams with buffers that the C library allocates and fills itself.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "%s: %s\n", #condition, strerror(errno)); failed++; } } while (0)

int main(void) {
    int failed = 0;
    char word[100], text[2000], *line = 0;
    size_t room = 0;
    FILE *file;
    CHECK((file = fopen("/proc/self/status", "r")) && fgets(text, sizeof text, file) && !strncmp(text, "Name:", 5));
    fclose(file);
    CHECK((file = fopen("/proc/self/status", "r")) && getline(&line, &room, file) > 5);
    fclose(file);
    free(line);
    CHECK((file = fopen("/proc/self/status", "r")) && fgetc(file) == 'N');
    fclose(file);
    CHECK((file = fopen("/proc/self/status", "r")) && fscanf(file, "%99s", word) == 1 && !strcmp(word, "Name:"));
    fclose(file);
    CHECK((file = fopen("/proc/self/status", "r")) && fread(text, 1, 5, file) == 5 && !memcmp(text, "Name:", 5));
    fclose(file);
    DIR *directory;
    CHECK((directory = opendir("/proc/self")) && readdir(directory));
    closedir(directory);
    struct dirent **names;
    int count;
    CHECK((count = scandir("/proc/self", &names, 0, alphasort)) > 10);
    while (count > 0)
        free(names[--count]);
    free(names);
    CHECK(getenv("PATH"));
    char *where;
    CHECK((where = realpath("/proc/self/cwd", 0)) && *where == '/');
    free(where);
    CHECK((where = getcwd(0, 0)) && *where == '/');
    free(where);
    CHECK((where = get_current_dir_name()) && *where == '/');
    free(where);
    return failed ? 9 : 0;
}
