// compilers: gcc clang
// flags: -D_GNU_SOURCE
// check:
// verdict: bug
// findings: 9
// finding: data-race var=a[3] line=40 line2=26
// finding: data-race var=b[3] line=41 line2=27
// finding: data-race var=c[3] line=42 line2=28
// finding: data-race var=d[1] line=43 line2=29
// finding: data-race var=e[0] line=44 line2=30
// finding: data-race var=f[0] line=45 line2=31
// finding: data-race var=g[0] line=46 line2=32
// finding: data-race var=h[0] line=47 line2=33
// finding: data-race var=i[0] line=48 line2=34

// The less common functions of the C library read and write the program's memory, too.
#include <pthread.h>
#include <string.h>
#include <strings.h>

char a[16], b[16], c[16], d[16] = "x", e[16], f[16], g[16] = "x", h[16], i[16];
char zero[16];
volatile int length;
static void *touch(void *arg)
{
    a[3] = 1;
    b[3] = 1;
    c[3] = 1;
    d[1] = 1;
    e[0] = 1;
    f[0] = 1;
    g[0] = 1;
    h[0] = 1;
    i[0] = 1;
    return NULL;
}

static int use(void)
{
    int n = bcmp(a, zero, 8 + length);
    bzero(b, 8 + length);
    n += mempcpy(c, zero, 8 + length) == c;
    n += strncat(d, zero, 8 + length) == d;
    n += stpcpy(e, zero) == e;
    n += memchr(f, 'x', 8 + length) == f;
    n += strrchr(g, 'x') == g;
    n += strnlen(h, 8 + length) == 0;
    n += strstr(i, "xy") == i;
    return n;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, touch, NULL);
    int n = use();
    pthread_join(t, NULL);
    return n < 0;
}
