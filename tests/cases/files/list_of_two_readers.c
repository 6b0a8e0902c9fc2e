// check: --strategy optimal
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DORDER
// verdict: bug
// finding: assertion detail=assert line=49

// Two threads read one list, two entries each. Each entry goes to one of them: a thread that reads
// the first does not begin again what the other has begun.
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static DIR *list;

static void *reader(void *arg)
{
    int *found = arg;
    for (int i = 0; i < 2; i++) {
        struct dirent *entry = readdir(list);
        found[i] = entry ? (int)entry->d_off : -1;
    }
    return NULL;
}

int main(void)
{
    int one[2], two[2];
    pthread_t t;
    if (mkdir("own", 0700) != 0)
        return 1;
    close(open("own/first", O_CREAT | O_WRONLY, 0600));
    close(open("own/second", O_CREAT | O_WRONLY, 0600));
    list = opendir("own");
    if (!list)
        return 1;
    pthread_create(&t, NULL, reader, one);
    reader(two);
    pthread_join(t, NULL);
    for (int i = 0; i < 2; i++)
        assert(one[i] != two[0] && one[i] != two[1]);
    closedir(list);
#ifdef ORDER
    assert(one[0] < two[0]);
#endif
    return 0;
}
