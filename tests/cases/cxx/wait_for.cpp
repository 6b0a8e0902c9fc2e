// compilers: gcc clang
// check:
// verdict: verified

// wait_for with a predicate returns what the predicate says at last.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex m;
std::condition_variable c;
bool ready;

void receive()
{
    std::unique_lock lock(m);
    bool seen = c.wait_for(lock, std::chrono::milliseconds(100), [] { return ready; });
    assert(seen == ready);
}

void deliver()
{
    std::lock_guard lock(m);
    ready = true;
    c.notify_one();
}

int main()
{
    std::thread a(receive), b(deliver);
    a.join();
    b.join();
}
