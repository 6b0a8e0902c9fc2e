// check:
// verdict: verified

// condition_variable_any with a shared lock.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

std::shared_mutex m;
std::condition_variable_any c;
int value;

void receive()
{
    std::shared_lock lock(m);
    c.wait(lock, [] { return value != 0; });
    assert(value == 1);
}

void deliver()
{
    std::unique_lock lock(m);
    value = 1;
    c.notify_all();
}

int main()
{
    std::thread a(receive), b(deliver);
    a.join();
    b.join();
}
