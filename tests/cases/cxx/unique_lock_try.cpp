// check:
// verdict: verified
// executions: 4
// blocked: 0

// std::unique_lock with try_to_lock; as mutex/trylock_both.c.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex m;
int count;

void attempt()
{
    std::unique_lock lock(m, std::try_to_lock);
    if (lock.owns_lock())
        count++;
}

int main()
{
    std::thread a(attempt), b(attempt);
    a.join();
    b.join();
    assert(count == 1 || count == 2);
}
