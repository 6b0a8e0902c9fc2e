// compilers: clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=27 line2=35
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=27 line2=35

// Three doubles are passed as a copy in memory. At -O2 no instruction of the caller reads them.
#include <pthread.h>

struct Point {
    double x, y, z;
};

static Point position{0, 0, 0};

__attribute__((noinline)) static double sum(Point point)
{
    return point.x + point.y + point.z;
}

static void *move(void *)
{
    position.y = 3;
    return nullptr;
}

int main()
{
    pthread_t a;
    pthread_create(&a, nullptr, move, nullptr);
    volatile double all = sum(position);
    (void)all;
    pthread_join(a, nullptr);
}
