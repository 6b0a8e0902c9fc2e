// compilers: gcc clang
// check:
// verdict: verified
// executions: 2

// Both threads are inside a catch block when they wait for the lock: each keeps its own exception.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

std::mutex m;
int handled;

void work(std::string text)
{
    try {
        throw std::runtime_error(text);
    } catch (const std::runtime_error &e) {
        std::lock_guard guard(m);
        handled++;
        assert(text == e.what());
        try {
            throw handled;
        } catch (int n) {
            assert(n == 1 || n == 2);
        }
        assert(text == e.what());
    }
}

int main()
{
    std::thread a(work, "first"), b(work, "second");
    a.join();
    b.join();
    assert(handled == 2);
}
