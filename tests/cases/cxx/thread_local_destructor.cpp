// compilers: gcc clang
// check:
// verdict: verified
// executions: 2

// thread_local objects with constructor and destructor, which takes a lock.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex m;
int sum;

struct Local {
    int value = 0;
    ~Local()
    {
        std::lock_guard guard(m);
        sum += value;
    }
};

thread_local Local local;

int main()
{
    std::thread a([] { local.value = 40; });
    std::thread b([] { local.value = 2; });
    a.join();
    b.join();
    assert(sum == 42);
}
