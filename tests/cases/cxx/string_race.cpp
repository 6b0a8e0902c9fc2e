// compilers: gcc clang
// flags: -std=c++17
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -O2
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DLOCKED
// verdict: verified
// check:
// flags: -DLOCKED -O2 -std=c++11
// verdict: verified

// Before C++20 the functions of std::string are compiled in the C++ library, where they have no hooks.
#include <mutex>
#include <string>
#include <thread>

static std::string text;
#ifdef LOCKED
static std::mutex lock;
#endif

static void append()
{
#ifdef LOCKED
    std::lock_guard<std::mutex> guard(lock);
#endif
    text += "a";
}

int main()
{
    std::thread first(append), second(append);
    first.join();
    second.join();
    return text.size() == 2 ? 0 : 1;
}
