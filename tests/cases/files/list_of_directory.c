// check:
// verdict: incomplete

// A list of a directory does not show what the run has made there, which is named.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    close(open("listed.tmp", O_CREAT | O_RDWR, 0600));
    DIR *list = opendir(".");
    while (readdir(list))
        ;
    closedir(list);
    unlink("listed.tmp");
    return 0;
}
