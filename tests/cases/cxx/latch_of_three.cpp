// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DTOO_MANY=1
// verdict: bug
// finding: deadlock detail=lost-wakeup

// main waits at a std::latch for what three threads have made; and for one more than there are.
#include <cassert>
#include <latch>
#include <thread>

#ifndef TOO_MANY
#define TOO_MANY 0
#endif

std::latch made(3 + TOO_MANY);
int part[3];

int main()
{
    std::thread threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = std::thread([i] {
            part[i] = i + 1;
            made.count_down();
        });
    made.wait();
    assert(part[0] + part[1] + part[2] == 6);
    for (std::thread &thread : threads)
        thread.join();
}
