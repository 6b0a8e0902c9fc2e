// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// Mode, owner and times of a file that the run has made are those of its private copy.
#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

int main(void)
{
    struct stat about;
    struct utimbuf times = { 1000, 2000 };
    int fd = open("attributes.tmp", O_CREAT | O_RDWR | O_TRUNC, 0644);
    assert(fd >= 0 && write(fd, "x", 1) == 1);
    close(fd);
    assert(chmod("attributes.tmp", 0600) == 0);
    assert(utime("attributes.tmp", &times) == 0);
    assert(chown("attributes.tmp", getuid(), getgid()) == 0);
    assert(stat("attributes.tmp", &about) == 0);
    assert((about.st_mode & 0777) == 0600 && about.st_mtime == 2000 && about.st_size == 1);
    assert(unlink("attributes.tmp") == 0);
    assert(utime("attributes.tmp", &times) != 0);
    return 0;
}
