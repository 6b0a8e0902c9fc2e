// check:
// verdict: bug
// finding: data-race detail=read-write line=14 line2=20

// strcpy against strlen, inside the C library.
#include <pthread.h>
#include <string.h>

char name[32] = "nobody";
size_t length;

static void *one(void *arg)
{
    strcpy(name, "somebody else");
    return NULL;
}

static void *two(void *arg)
{
    length = strlen(name);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
