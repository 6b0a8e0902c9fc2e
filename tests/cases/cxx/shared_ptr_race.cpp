// check:
// verdict: bug
// findings: at-least
// finding: data-race

// The same shared_ptr object is read and replaced: its count is atomic, the pointer is not.
#include <memory>
#include <thread>

std::shared_ptr<int> shared = std::make_shared<int>(1);

int main()
{
    std::thread a([] { auto copy = shared; });
    std::thread b([] { shared = std::make_shared<int>(2); });
    a.join();
    b.join();
}
