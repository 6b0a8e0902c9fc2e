// compilers: gcc clang
// check:
// verdict: bug
// finding: misuse detail=cond-uninitialised var=overwritten line=16

// A condition variable whose bytes are not those of a static initialiser, wherever they differ.
#include <pthread.h>
#include <string.h>

static pthread_cond_t fresh, overwritten;

int main(void)
{
    pthread_cond_signal(&fresh);
    memset((char *)&overwritten + sizeof overwritten - 1, 1, 1);
    pthread_cond_signal(&overwritten);
    return 0;
}
