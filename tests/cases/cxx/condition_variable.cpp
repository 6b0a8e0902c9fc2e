// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// wait with a predicate, notify under the lock; as cond/handoff.c.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex m;
std::condition_variable c;
bool ready;
int data;

void receive()
{
    std::unique_lock lock(m);
    c.wait(lock, [] { return ready; });
    assert(data == 42);
}

void deliver()
{
    std::lock_guard lock(m);
    data = 42;
    ready = true;
    c.notify_one();
}

int main()
{
    std::thread a(receive), b(deliver);
    a.join();
    b.join();
}
