// compilers: gcc clang
// check: --max-executions 3000
// verdict: bug
// findings: at-least
// finding: data-race line=18 line2=17

// Only one of the two phases is ended by the barrier.
#include <barrier>
#include <thread>

std::barrier step(2);
int cell[2], sum[2];

void work(int i)
{
    step.arrive_and_wait();
    cell[i] = 1;
    sum[i] = cell[1 - i];
}

int main()
{
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}
