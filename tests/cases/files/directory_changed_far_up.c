// check: --strategy optimal --allow-exit 3,4
// verdict: incomplete
// check: --strategy optimal --allow-exit 3,4
// flags: -DRENAME
// verdict: incomplete
// check: --strategy optimal
// flags: -DOWN
// verdict: verified

// A path goes through a directory that another thread changes, in a call that touches too much for one
// transition. `mkdir("d/e")` succeeds if it comes before `chdir("d")`, and fails if it comes behind; a file is moved
// into a directory, or the directory is removed, whichever comes first. Not all orders are tried, which the report
// says. OWN: what a thread does with its own directories, and main before and behind, has one order.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int result;

static void *worker(void *arg)
{
#ifdef RENAME
    result = rename("file", "d/file");
#elif defined OWN
    assert(mkdir("d/own", 0700) == 0 && rename("file", "d/own/file") == 0);
    assert(rename("d/own/file", "other") == 0 && rmdir("d/own") == 0);
#else
    result = mkdir("d/e", 0700);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    int changed = 0;
    close(open("file", O_CREAT | O_WRONLY, 0600));
    mkdir("d", 0700);
    pthread_create(&t, NULL, worker, NULL);
#ifdef RENAME
    changed = rmdir("d");
#elif defined OWN
    mkdir("b", 0700);
#else
    changed = chdir("d");
#endif
    pthread_join(t, NULL);
#ifdef OWN
    assert(rmdir("d") == 0 && rmdir("b") == 0);
    return 0;
#endif
    return 3 + (result != 0 && changed != 0);
}
