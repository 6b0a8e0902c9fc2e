// compilers: gcc clang
// check:
// verdict: verified
// executions: 4
// blocked: 0

// std::shared_mutex: two readers and a writer; as rwlock/readers_and_writer.c.
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

std::shared_mutex m;
int low, high;

void look()
{
    std::shared_lock lock(m);
    assert(low == high);
}

void change()
{
    std::unique_lock lock(m);
    low++;
    high++;
}

int main()
{
    std::thread a(look), b(look), c(change);
    a.join();
    b.join();
    c.join();
}
