// compilers: gcc clang
// check:
// flags: -DMAKE_TWICE
// verdict: verified
// executions: 2
// check:
// flags: -DMAKE_AND_LIST
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DMOVE_AND_OPEN
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DREMOVE_AND_MAKE_INSIDE
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DMOVE_DIRECTORY_ABOVE
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DLINK_LEADS_ELSEWHERE
// verdict: bug
// executions: 3
// finding: assertion
// check:
// flags: -DREMOVE_BEHIND_LINK
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DCHANGE_DIRECTORY
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DLINKS_ARE_COUNTED
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DLIST_TWICE
// verdict: verified
// executions: 1
// check:
// flags: -DMAKE_APART
// verdict: verified
// executions: 1

// Two threads do something with names in one directory. Where one sees what the other does, both
// orders are explored. Two lists commute, and so do two new names.
//
// LINK_LEADS_ELSEWHERE removes a link and makes it anew: the other thread finds the old one, none,
// or the new one.
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    return file < 0 ? -1 : close(file);
}

#if defined MAKE_AND_LIST || defined LIST_TWICE
static int names(const char *path)
{
    int count = 0;
    DIR *list = opendir(path);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}
#endif

static int first(void)
{
#if defined MAKE_TWICE
    return mkdir("d", 0755);
#elif defined MAKE_AND_LIST
    return make("dir/new");
#elif defined MOVE_AND_OPEN
    return rename("file", "moved");
#elif defined REMOVE_AND_MAKE_INSIDE
    return rmdir("dir");
#elif defined MOVE_DIRECTORY_ABOVE
    return rename("dir", "moved");
#elif defined LINK_LEADS_ELSEWHERE
    return unlink("link") || symlink("nowhere", "link");
#elif defined REMOVE_BEHIND_LINK
    return unlink("file");
#elif defined CHANGE_DIRECTORY
    return chdir("dir");
#elif defined LINKS_ARE_COUNTED
    return link("file", "other");
#elif defined LIST_TWICE
    return names("dir") != 2;
#else
    return make("a");
#endif
}

static int second(void)
{
    struct stat about;
    (void)about;
#if defined MAKE_TWICE
    return mkdir("d", 0755);
#elif defined MAKE_AND_LIST
    return names("dir") != 2;
#elif defined MOVE_AND_OPEN
    return access("file", F_OK);
#elif defined REMOVE_AND_MAKE_INSIDE
    return make("dir/inside");
#elif defined MOVE_DIRECTORY_ABOVE
    return access("dir/sub/file", F_OK);
#elif defined LINK_LEADS_ELSEWHERE || defined REMOVE_BEHIND_LINK
    return access("link", F_OK);
#elif defined CHANGE_DIRECTORY
    return access("file", F_OK);
#elif defined LINKS_ARE_COUNTED
    return stat("file", &about) || about.st_nlink != 1;
#elif defined LIST_TWICE
    return names("dir") != 2;
#else
    return make("b");
#endif
}

static int done;

static void *body(void *arg)
{
    done = first() == 0;
    return arg;
}

int main(void)
{
    assert(mkdir("dir", 0755) == 0 && make("file") == 0);
#ifdef MOVE_DIRECTORY_ABOVE
    assert(mkdir("dir/sub", 0755) == 0 && make("dir/sub/file") == 0);
#endif
    assert(symlink("file", "link") == 0);
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    int good = second() == 0;
    pthread_join(t, NULL);
#ifdef MAKE_TWICE
    assert(good + done == 1);
#else
    assert(good);
#endif
    return 0;
}
