// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=44
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion line=44
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=44

// Two ways lead out of a scope, and its destructor is there once. What was read inside is dead on one of
// them only. A number that says where to go on may be changed by another function, which has a
// pointer to it: then the way that seemed impossible is taken.

#include <cassert>
#include <mutex>
#include <thread>

static std::mutex lock, other;
static int x, y;

__attribute__((noinline)) static void decide(int *way) {
    std::lock_guard<std::mutex> guard(other);
    if (y) *way = 1;
}

static void get() {
    int seen = 0;
    int way = 0;
    {
        std::lock_guard<std::mutex> guard(lock);
        seen = x;
    }
    decide(&way);
    {
        std::lock_guard<std::mutex> guard(other);
        if (y == 2) return;
    }
    if (way == 1)
        assert(seen == 0);
}

static void set() {
    {
        std::lock_guard<std::mutex> guard(lock);
        x = 1;
    }
    {
        std::lock_guard<std::mutex> guard(other);
        y = 1;
    }
}

int main() {
    std::thread first(get), second(set);
    first.join();
    second.join();
}
