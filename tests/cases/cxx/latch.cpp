// compilers: gcc clang
// check:
// verdict: verified

// std::latch: no thread passes before both have arrived.
#include <cassert>
#include <latch>
#include <thread>

std::latch ready(2);
int cell[2];

void work(int i)
{
    cell[i] = 1;
    ready.arrive_and_wait();
    assert(cell[1 - i] == 1);
}

int main()
{
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}
