// check:
// verdict: bug
// finding: assertion detail=assert line=20

// A long time-out is no guarantee.
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
    bool seen = c.wait_for(lock, std::chrono::hours(1), [] { return ready; });
    assert(seen);
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
