// compilers: gcc clang
// check:
// verdict: verified

// std::async and std::future carry a value.
#include <cassert>
#include <future>

int main()
{
    auto a = std::async(std::launch::async, [] { return 40; });
    auto b = std::async(std::launch::async, [] { return 2; });
    assert(a.get() + b.get() == 42);
}
