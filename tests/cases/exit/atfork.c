// check:
// verdict: incomplete

// Handlers around fork run in the right order in the parent; the child is a process of its own,
// which the verdict says.
#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char order[10];
static int length;
static void first_before(void) { order[length++] = 'a'; }
static void second_before(void) { order[length++] = 'b'; }
static void first_after(void) { order[length++] = 'A'; }
static void second_after(void) { order[length++] = 'B'; }
static void first_child(void) { order[length++] = '1'; }
static void second_child(void) { order[length++] = '2'; }

int main(void)
{
    int status = -1;
    pthread_atfork(first_before, first_after, first_child);
    pthread_atfork(second_before, second_after, second_child);
    pid_t child = fork();
    if (child == 0)
        _exit(length == 4 && order[0] == 'b' && order[1] == 'a' && order[2] == '1' && order[3] == '2' ? 5 : 6);
    assert(child > 0 && length == 4);
    assert(order[0] == 'b' && order[1] == 'a' && order[2] == 'A' && order[3] == 'B');
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return 0;
}
