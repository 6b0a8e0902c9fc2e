// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=lost-wakeup

// The flag is atomic and set without the mutex: the notification can fall between look and wait.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex m;
std::condition_variable c;
std::atomic<bool> ready;

void receive()
{
    std::unique_lock lock(m);
    c.wait(lock, [] { return ready.load(); });
}

void deliver()
{
    ready = true;
    c.notify_one();
}

int main()
{
    std::thread a(receive), b(deliver);
    a.join();
    b.join();
}
