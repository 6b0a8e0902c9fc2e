// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: deadlock

// The value changes, but no thread notifies the waiter. It changes before the waiter's read,
// between that and its sleep, or during its sleep. That the library polls 16 times before it sleeps
// makes no difference.
#include <atomic>
#include <thread>

std::atomic<int> stage;

int main()
{
    std::thread t([] { stage.wait(0); });
    stage = 1;
    t.join();
}
