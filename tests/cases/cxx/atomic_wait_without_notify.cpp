// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: deadlock

// The value changes, but nobody notifies the one who waits. It changes before he looks, between that and his sleeping, or when he sleeps;
// that the library looks 16 times before it sleeps makes no difference.
#include <atomic>
#include <thread>

std::atomic<int> stage;

int main()
{
    std::thread t([] { stage.wait(0); });
    stage = 1;
    t.join();
}
