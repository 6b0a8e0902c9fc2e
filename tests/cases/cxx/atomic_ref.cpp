// compilers: gcc clang
// check:
// verdict: verified
// executions: 2

// std::atomic_ref on a plain int in both threads: no race.
#include <atomic>
#include <cassert>
#include <thread>

int count;

void add()
{
    std::atomic_ref<int> r(count);
    r.fetch_add(1);
}

int main()
{
    std::thread a(add), b(add);
    a.join();
    b.join();
    assert(count == 2);
}
