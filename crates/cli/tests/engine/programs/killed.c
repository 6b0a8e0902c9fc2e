// status: 1
// says: SIGKILL
#include <signal.h>
#include <unistd.h>

int main(void) {
    kill(getpid(), SIGKILL);
    pause();
    return 0;
}
