// check:
// verdict: verified
// executions: 2
// blocked: 0

// std::recursive_mutex taken twice by its owner.
#include <cassert>
#include <mutex>
#include <thread>

std::recursive_mutex m;
int count;

void inner()
{
    std::lock_guard guard(m);
    count++;
}

void outer()
{
    std::lock_guard guard(m);
    inner();
    inner();
}

int main()
{
    std::thread a(outer), b(outer);
    a.join();
    b.join();
    assert(count == 4);
}
