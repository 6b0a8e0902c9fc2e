// check: --share-files
// verdict: incomplete
// findings: 0

// The assertion fails in the first run only, as later runs find the file. What cannot be shown
// again is no error.
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    int file = open("not_twice.seen", O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert(file < 0);
    return 0;
}
