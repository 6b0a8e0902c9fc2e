// compilers: gcc clang
// check:
// verdict: verified

// std::call_once: one of the two runs it.
#include <cassert>
#include <mutex>
#include <thread>

std::once_flag flag;
int runs;

void work()
{
    std::call_once(flag, [] { runs++; });
    assert(runs == 1);
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
}
