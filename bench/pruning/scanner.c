/* Files are scanned for a word by threads that take them from a locked queue. With BUG, the
 * number of matches is updated outside of the lock by whoever finds the queue empty. */
#include <pthread.h>
#include <string.h>

#ifndef SCANNERS
#define SCANNERS 2
#endif
#define FILES 3

static const char *const files[FILES] = { "one needle here", "nothing", "a needle, another needle" };
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, match_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_file, matches, idle;

static int scan(const char *text)
{
    int found = 0;
    for (int at = 0; text[at]; at++)
        if (strncmp(text + at, "needle", 6) == 0)
            found++;
    return found;
}

static void *scanner(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        int mine = next_file < FILES ? next_file++ : -1;
        pthread_mutex_unlock(&queue_lock);
        if (mine < 0) {
#ifdef BUG
            idle++;
#else
            pthread_mutex_lock(&match_lock);
            idle++;
            pthread_mutex_unlock(&match_lock);
#endif
            return arg;
        }
        int found = scan(files[mine]);
        pthread_mutex_lock(&match_lock);
        matches += found;
        pthread_mutex_unlock(&match_lock);
    }
}

int main(void)
{
    pthread_t threads[SCANNERS];
    for (int i = 0; i < SCANNERS; i++)
        pthread_create(&threads[i], NULL, scanner, NULL);
    for (int i = 0; i < SCANNERS; i++)
        pthread_join(threads[i], NULL);
    return matches == 3 ? 0 : 1;
}
