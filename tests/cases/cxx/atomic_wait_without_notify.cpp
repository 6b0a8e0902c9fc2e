// check:
// verdict: bug
// findings: at-least
// finding: deadlock

// The value changes, but nobody notifies the one who waits. (An implementation may look a few times before it sleeps.)
#include <atomic>
#include <thread>

std::atomic<int> stage;

int main()
{
    std::thread t([] { stage.wait(0); });
    stage = 1;
    t.join();
}
