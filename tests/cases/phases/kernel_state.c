// check:
// verdict: verified
// executions: 6
// A first phase that leaves state in the kernel: an open file, its content and offset, directory,
// mask, a mapping, a handler. Every run must find the state of its own first phase. Then three
// threads lock once each: 3!.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int file, signals, turns;
static char *map;

static void handle(int signal)
{
    signals += signal == SIGUSR1;
}

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    turns++;
    map[0]++;
    assert(write(file, arg, 1) == 1);
    raise(SIGUSR1);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void)
{
    pthread_t t[3];
    char text[8], here[64];
    pthread_mutex_lock(&m);
    file = open("/tmp/raddle_phases", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert(file >= 0 && write(file, "ab", 2) == 2);
    assert(chdir("/usr") == 0);
    umask(0123);
    map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGUSR1, handle);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, "x");
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    assert(turns == 3 && map[0] == 3 && signals == 3);
    assert(lseek(file, 0, SEEK_CUR) == 5 && pread(file, text, 8, 0) == 5 && memcmp(text, "abxxx", 5) == 0);
    assert(getcwd(here, sizeof here) && strcmp(here, "/usr") == 0);
    assert(umask(0) == 0123);
    return 0;
}
