// check:
// verdict: incomplete
// executions: 1

// A child process that would outlive the run is ended with it.
#include <unistd.h>

int main(void)
{
    if (fork() == 0) {
        sleep(1000);
        _exit(0);
    }
    return 0;
}
