// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// A list of a directory shows what the run has made there, and not what it has removed.
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int names(const char *path, const char *wanted)
{
    int count = 0;
    struct dirent *entry;
    DIR *list = opendir(path);
    assert(list);
    while ((entry = readdir(list)))
        count += strcmp(entry->d_name, wanted) == 0;
    rewinddir(list);
    assert(readdir(list));
    closedir(list);
    return count;
}

int main(void)
{
    close(open("listed.tmp", O_CREAT | O_RDWR, 0600));
    assert(names(".", "listed.tmp") == 1);
    assert(mkdir("listed.dir", 0755) == 0 && mkdir("listed.dir", 0755) != 0);
    assert(rename("listed.tmp", "listed.dir/renamed") == 0);
    assert(names(".", "listed.tmp") == 0 && names("listed.dir", "renamed") == 1);
    assert(rmdir("listed.dir") != 0);
    assert(unlink("listed.dir/renamed") == 0 && rmdir("listed.dir") == 0);
    assert(access("listed.dir", F_OK) != 0 && names(".", "listed.dir") == 0);
    return 0;
}
