// Leaves a process behind in a session of its own.
// says: a child process was started
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            sleep(1000);
        _exit(0);
    }
    waitpid(child, 0, 0);
    return 0;
}
