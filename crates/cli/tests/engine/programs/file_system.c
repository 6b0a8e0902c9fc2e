// Random operations on files, by a seed. Prints what each gives: run natively and under raddle, in
// equal directories, it prints the same. Arguments: seed, steps, directory to work in.
// status: 0
// prints: done
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static unsigned long long state;
static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static char top[4096];
static int descriptors[6] = { -1, -1, -1, -1, -1, -1 };

// The first open descriptor of the same file. Numbers of files that are not open may be used again.
static int opened(unsigned long inode)
{
    struct stat about;
    for (int i = 0; i < 6; i++)
        if (descriptors[i] >= 0 && fstat(descriptors[i], &about) == 0 && about.st_ino == inode)
            return i;
    return -1;
}

static const char *path(char *into)
{
    static const char *const parts[] = { "a", "b", "c", "d", "real", "file", "link", "sub", ".", ".." };
    int ups = 0;
    into[0] = 0;
    if (draw(12) == 0)
        strcat(strcpy(into, top), "/");
    int count = 1 + draw(3) * draw(2);
    for (int i = 0; i < count; i++) {
        const char *part = parts[draw(8 + (i > 0 ? 2 : draw(8) == 0 ? 2 : 0))];
        if (!strcmp(part, "..") && ups++ > 1)
            part = ".";
        strcat(into, part);
        if (i + 1 < count || draw(10) == 0)
            strcat(into, draw(15) ? "/" : "//");
    }
    return into;
}

static void say(const char *what, const char *about, long result)
{
    printf("%s %s = %ld", what, about, result);
    if (result == -1)
        printf(" %s", strerrorname_np(errno));
    putchar('\n');
}

static void show(const char *what, const char *about, int result, const struct stat *s)
{
    if (result < 0) {
        say(what, about, result);
        return;
    }
    printf("%s %s: %o links %ld open %d", what, about, s->st_mode, (long)s->st_nlink, opened(s->st_ino));
    if (!S_ISDIR(s->st_mode))
        printf(" bytes %ld", (long)s->st_size);
    printf(" %d", s->st_mtim.tv_sec < 100000 ? (int)s->st_mtim.tv_sec : 1);
    putchar('\n');
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const char *what, DIR *stream)
{
    char *names[64];
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(stream)) && count < 64) {
        char text[300];
        snprintf(text, sizeof text, "%s:%d", entry->d_name, entry->d_type);
        names[count++] = strdup(text);
    }
    qsort(names, count, sizeof *names, by_name);
    printf("%s:", what);
    for (int i = 0; i < count; i++) {
        printf(" %s", names[i]);
        free(names[i]);
    }
    putchar('\n');
}

static int some_directory(void)
{
    int descriptor = descriptors[draw(6)];
    return draw(3) ? AT_FDCWD : descriptor;
}

static void step(void)
{
    char one[5000], two[5000], text[5000] = "";
    struct stat about;
    struct statx more;
    int slot = draw(6), at, other;
    switch (draw(34)) {
    case 0: case 1: case 2: {
        static const int flags[] = { O_RDONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_EXCL, O_RDWR | O_TRUNC,
            O_WRONLY | O_CREAT | O_APPEND, O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW, O_WRONLY | O_CREAT | O_TRUNC,
            O_PATH, O_RDWR | O_TMPFILE, O_RDONLY | O_CREAT };
        int flag = flags[draw(11)];
        at = some_directory();
        path(one);
        struct stat before;
        if (fstatat(at, one, &before, 0) == 0 && S_ISFIFO(before.st_mode))
            flag |= O_NONBLOCK;
        if (descriptors[slot] >= 0)
            close(descriptors[slot]);
        descriptors[slot] = openat(at, one, flag, 0640);
        printf("%#x ", flag);
        say("open", one, descriptors[slot]);
        break;
    }
    case 3: say("write", "", descriptors[slot] < 0 ? -2 : write(descriptors[slot], "hello world", draw(12))); break;
    case 4:
        at = read(descriptors[slot], text, sizeof text - 1);
        say("read", at > 0 ? text : "", at);
        break;
    case 5: say("pread", text, pread(descriptors[slot], text, 20, draw(8))); break;
    case 6: say("seek", "", lseek(descriptors[slot], draw(20), SEEK_SET)); break;
    case 7: path(one), say("mkdir", one, mkdirat(some_directory(), one, 0755)); break;
    case 8: path(one), say("mkdir", one, mkdir(one, 0700)); break;
    case 9: path(one), say("rmdir", one, rmdir(one)); break;
    case 10: path(one), say("unlink", one, unlink(one)); break;
    case 11: path(one), say("unlinkat", one, unlinkat(some_directory(), one, draw(2) ? AT_REMOVEDIR : 0)); break;
    case 12: case 13:
        path(one), path(two);
        printf("%s to ", one);
        say("rename", two, rename(one, two));
        break;
    case 14:
        path(one), path(two);
        at = some_directory(), other = some_directory();
        printf("%s to ", one);
        say("renameat2", two, renameat2(at, one, other, two, draw(3)));
        break;
    case 15:
        path(one), path(two);
        printf("%s to ", one);
        say("link", two, linkat(some_directory(), one, some_directory(), two, draw(2) ? AT_SYMLINK_FOLLOW : 0));
        break;
    case 16:
        path(one), path(two);
        printf("%s at ", one);
        say("symlink", two, symlinkat(one, some_directory(), two));
        break;
    case 17:
        at = readlinkat(some_directory(), path(one), text, 300);
        printf("%s ", text);
        say("readlink", one, at);
        break;
    case 18: path(one); show("stat", one, stat(one, &about), &about); break;
    case 19: path(one); show("lstat", one, lstat(one, &about), &about); break;
    case 20: path(one); show("fstatat", one, fstatat(some_directory(), one, &about, draw(2) ? AT_SYMLINK_NOFOLLOW : 0), &about); break;
    case 21: show("fstat", "", fstat(descriptors[slot], &about), &about); break;
    case 22:
        at = statx(some_directory(), path(one), draw(2) ? AT_SYMLINK_NOFOLLOW : 0, STATX_BASIC_STATS, &more);
        if (at == 0)
            printf("%o %u ", more.stx_mode, more.stx_nlink);
        say("statx", one, at);
        break;
    case 23: path(one), say("access", one, faccessat(some_directory(), one, draw(8), 0)); break;
    case 24: path(one), say("chmod", one, chmod(one, 0600 + draw(128))); break;
    case 25: {
        struct timespec times[2] = { { 1000, 0 }, { 2000 + draw(5), 0 } };
        path(one), say("utimens", one, utimensat(some_directory(), one, times, draw(2) ? AT_SYMLINK_NOFOLLOW : 0));
        break;
    }
    case 26: path(one), say("truncate", one, truncate(one, draw(30))); break;
    case 27: say("ftruncate", "", ftruncate(descriptors[slot], draw(30))); break;
    case 28:
        path(one);
        if (strstr(one, ".."))
            strcpy(one, top);
        if (draw(3) == 0)
            say("chdir", top, chdir(top));
        else
            say("chdir", one, chdir(one));
        break;
    case 29:
        if (getcwd(text, sizeof text))
            printf("getcwd %s\n", strncmp(text, top, strlen(top)) ? text : text + strlen(top));
        else
            say("getcwd", "", -1);
        break;
    case 30:
        if (realpath(path(one), text))
            printf("realpath %s: %s\n", one, strncmp(text, top, strlen(top)) ? text : text + strlen(top));
        else
            say("realpath", one, -1);
        break;
    case 31: case 32: {
        DIR *stream = opendir(draw(3) ? path(one) : strcpy(one, "."));
        if (!stream) {
            say("opendir", one, -1);
            break;
        }
        list(one, stream);
        if (draw(3) == 0) {
            rewinddir(stream);
            list("again", stream);
        }
        closedir(stream);
        break;
    }
    case 33:
        if (draw(3) == 0) {
            path(one), say("mkfifo", one, mkfifoat(some_directory(), one, 0644));
        } else if (draw(2)) {
            at = fchdir(descriptors[slot]);
            if (at == 0)
                at = chdir(top);
            say("fchdir", "", at);
        } else {
            if (descriptors[slot] >= 0) {
                other = dup(descriptors[slot]);
                say("dup", "", other);
                at = write(other, "dup", 3);
                close(other);
                say("written", "", at);
            }
        }
        break;
    }
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (int i = 0; i < 5; i++)
        draw(2);
    if (chdir(argc > 3 ? argv[3] : ".") != 0 || !getcwd(top, sizeof top))
        return 1;
    for (int i = 0; i < steps; i++)
        step();
    puts("done");
    fflush(stdout);
    return 0;
}
