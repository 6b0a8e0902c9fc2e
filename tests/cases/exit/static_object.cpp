// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=21
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=21
// check:
// flags: -DJOINED
// verdict: verified

// The destructor of a static object runs in the thread that ends the process.
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <thread>

static std::atomic<bool> is_set;

struct Log {
    ~Log() { assert(is_set); }
};

static Log log_;

int main()
{
#ifdef JOINED
    std::thread other([] {});
    other.join();
    is_set = true;
#else
    std::thread other([] { std::exit(0); });
    is_set = true;
    other.join();
#endif
}
