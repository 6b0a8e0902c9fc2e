// compilers: gcc clang
// check:
// verdict: verified

// A global object starts a thread before main and joins it after main.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex m;
int count;

struct Background {
    std::thread worker;
    Background() : worker([] {
        std::lock_guard guard(m);
        count++;
    }) {}
    ~Background()
    {
        worker.join();
        std::lock_guard guard(m);
        assert(count == 2);
    }
};

Background background;

int main()
{
    std::lock_guard guard(m);
    count++;
}
