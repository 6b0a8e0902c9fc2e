// Checks that the process is in the state of a new one, and then changes it: descriptors,
// directory, mask, handlers, mappings, files, environment.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); exit(9); } } while (0)

static char start[4096];
static int global = 7, zero;
static _Thread_local int local = 8;
static int early = -1;

// Before main, but inside the run.
__attribute__((constructor)) static void open_early(void) {
    early = open("early.txt", O_RDONLY);
}

static void handle(int signal) {
    (void)signal;
}

static void *look(void *argument) {
    CHECK(local == 8);
    local = 9;
    return argument;
}

static void is_fresh(void) {
    char here[4096], text[10];
    struct sigaction action;
    sigset_t blocked;
    int file;
    CHECK(global == 7 && zero == 0 && local == 8 && start[0] == 0);
    CHECK(early == 3);
    CHECK(read(early, text, 5) == 5 && !memcmp(text, "early", 5));
    CHECK((file = open("/dev/null", O_RDONLY)) == 4);
    CHECK(close(file) == 0);
    CHECK(getcwd(here, sizeof here) && getenv("PWD") && !strcmp(here, getenv("PWD")));
    CHECK(umask(022) == 022);
    CHECK(sigaction(SIGUSR1, 0, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGSEGV, 0, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGPIPE, 0, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigprocmask(SIG_BLOCK, 0, &blocked) == 0 && !sigismember(&blocked, SIGUSR2) && !sigismember(&blocked, SIGSEGV));
    CHECK(access("made.txt", F_OK) == -1 && errno == ENOENT);
    CHECK(access("early.txt", F_OK) == 0);
    CHECK((file = open("grown.txt", O_RDONLY)) == 4 && read(file, text, 10) == 4 && !memcmp(text, "four", 4));
    CHECK(close(file) == 0);
    CHECK(!getenv("MESS"));
    CHECK(!strcmp(setlocale(LC_ALL, 0), "C"));
    CHECK(read(0, text, 3) == 3 && !memcmp(text, "abc", 3));
}

static void make_a_mess(void) {
    int file;
    memset(start, 1, sizeof start);
    global = 1;
    zero = 1;
    local = 1;
    for (int i = 0; i < 20; i++)
        CHECK(open("/dev/null", O_RDONLY) >= 4);
    CHECK(close(early) == 0);
    CHECK(chdir("/") == 0);
    umask(077);
    struct sigaction action = {.sa_handler = handle};
    CHECK(sigaction(SIGUSR1, &action, 0) == 0);
    CHECK(sigaction(SIGSEGV, &action, 0) == 0);
    CHECK(signal(SIGPIPE, SIG_IGN) == SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_SETMASK, &all, 0) == 0);
    CHECK(setenv("MESS", "1", 1) == 0);
    CHECK(setlocale(LC_ALL, "C.UTF-8"));
    CHECK(chdir(getenv("PWD")) == 0);
    CHECK((file = open("made.txt", O_CREAT | O_WRONLY, 0666)) >= 0 && write(file, "made", 4) == 4);
    CHECK((file = open("grown.txt", O_WRONLY | O_APPEND)) >= 0 && write(file, "five", 4) == 4);
    CHECK(unlink("early.txt") == 0);
    CHECK(access("early.txt", F_OK) == -1);
    char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED && map[0] == 0 && map[8191] == 0);
    memset(map, 5, 8192);
    CHECK(lseek(0, 0, SEEK_END) >= 3);
    dup2(1, 30);
    close(2);
    close(1);
}

int main(void) {
    pthread_t thread;
    is_fresh();
    pthread_create(&thread, 0, look, 0);
    pthread_join(thread, 0);
    make_a_mess();
    return 0;
}
