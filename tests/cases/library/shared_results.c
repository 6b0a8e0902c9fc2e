// compilers: gcc clang
// check:
// flags: -DUSE=password -DBEHIND
// verdict: bug
// finding: data-race detail=read-write line=46 line2=44
// check:
// flags: -DUSE=password
// verdict: verified
// check:
// flags: -DUSE=text -DBEHIND
// verdict: bug
// finding: data-race detail=read-write line=55 line2=53
// check:
// flags: -DUSE=text
// verdict: verified
// check:
// flags: -DUSE=option -DBEHIND
// verdict: bug
// finding: data-race detail=read-write line=65 line2=63
// check:
// flags: -DUSE=option
// verdict: verified

// Results in memory that all threads share. The calls are guarded, but with BEHIND what they leave there is
// read behind the lock, where the call of another thread may overwrite it.
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void leave(int is_behind)
{
#ifndef BEHIND
    is_behind = !is_behind;
#endif
    if (is_behind)
        pthread_mutex_unlock(&mutex);
}

static __attribute__((unused)) int password(void)
{
    struct passwd *entry = getpwnam("root");
    leave(1);
    int seen = entry && entry->pw_uid == 1;
    leave(0);
    return seen;
}

static __attribute__((unused)) int text(void)
{
    char *digits = l64a(7);
    leave(1);
    int seen = digits[0] == 'x';
    leave(0);
    return seen;
}

static __attribute__((unused)) int option(void)
{
    char *arguments[] = {"program", "-a", NULL};
    getopt(2, arguments, "a");
    leave(1);
    int seen = optind == 99;
    leave(0);
    return seen;
}

static void *use(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    return USE() ? &mutex : NULL;
}

int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, use, NULL);
    void *own = use(NULL);
    pthread_join(thread, &result);
    return own || result;
}
