// check:
// verdict: verified
// executions: 2

// Unwinding unlocks.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex m;
int count;

void work()
{
    try {
        std::lock_guard guard(m);
        count++;
        throw 1;
    } catch (int) {
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(count == 2);
}
