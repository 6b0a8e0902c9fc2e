// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race

// push_back from two threads.
#include <thread>
#include <vector>

std::vector<int> numbers;

int main()
{
    numbers.reserve(8);
    std::thread a([] { numbers.push_back(1); }), b([] { numbers.push_back(2); });
    a.join();
    b.join();
}
