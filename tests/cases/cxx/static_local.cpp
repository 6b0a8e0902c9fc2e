// compilers: gcc clang
// check:
// verdict: verified
// executions: 4
// check: --strategy dpor
// verdict: verified
// executions: 4

// A static local variable is initialised once, by the first thread. The other one reads the guard
// before or after that: 2 * 2.
#include <cassert>
#include <thread>

int constructed;

struct Config {
    int value;
    Config() : value(42) { constructed++; }
};

Config &config()
{
    static Config instance;
    return instance;
}

void work()
{
    assert(config().value == 42);
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(constructed == 1);
}
