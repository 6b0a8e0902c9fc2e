// check:
// verdict: incomplete
// executions: 1

// Commands of the shell: their status, and what a pipe of one says.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

int main(void)
{
    char text[16] = "";
    assert(WEXITSTATUS(system("exit 4")) == 4);
    FILE *stream = popen("echo pear | tr e o", "r");
    assert(stream && fgets(text, sizeof text, stream) && strcmp(text, "poar\n") == 0);
    assert(pclose(stream) == 0);
    return 0;
}
