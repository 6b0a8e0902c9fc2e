// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// std::thread, std::mutex, std::lock_guard.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex m;
int count;

void add()
{
    std::lock_guard<std::mutex> guard(m);
    count++;
}

int main()
{
    std::thread a(add), b(add);
    a.join();
    b.join();
    assert(count == 2);
}
