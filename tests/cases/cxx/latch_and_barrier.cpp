// compilers: gcc clang
// check:
// verdict: verified

// std::latch, then std::barrier.
#include <barrier>
#include <cassert>
#include <latch>
#include <thread>

std::latch ready(2);
std::barrier step(2);
int cell[2];

void work(int i)
{
    cell[i] = 1;
    ready.arrive_and_wait();
    assert(cell[1 - i] == 1);
    step.arrive_and_wait();
    cell[i] = 2;
    step.arrive_and_wait();
    assert(cell[1 - i] == 2);
}

int main()
{
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}
