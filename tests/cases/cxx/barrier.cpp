// compilers: gcc clang
// check:
// verdict: verified

// std::barrier, used twice.
#include <barrier>
#include <cassert>
#include <thread>

std::barrier step(2);
int cell[2];

void work(int i)
{
    cell[i] = 1;
    step.arrive_and_wait();
    assert(cell[1 - i] == 1);
    step.arrive_and_wait();
    cell[i] = 2;
}

int main()
{
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
    assert(cell[0] == 2 && cell[1] == 2);
}
