// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=34
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion line=34
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=34

// Three variables with an address in one frame. A pointer to one leads to that one only, but `kept` is reached by
// a pointer to the end of an array inside of it, and by one that another thread has.

#include <cassert>
#include <mutex>
#include <thread>

static std::mutex lock, other;
static int x;

struct Pair {
    int first;
    int rest[3];
};

static const int *place;

__attribute__((noinline)) static void judge(const int *end) {
    std::lock_guard<std::mutex> guard(other);
    assert(end[-1] + *place == 0);
}

static void get() {
    Pair kept{};
    int shown = 0;
    place = &shown;
    {
        std::unique_lock<std::mutex> guard(lock);
        kept.rest[2] = x;
    }
    for (int round = 0; round < 2; round++) {
        judge(kept.rest + 3);
        kept.rest[2] = 0;
    }
}

static void set() {
    {
        std::lock_guard<std::mutex> guard(lock);
        x = 1;
    }
    std::lock_guard<std::mutex> guard(other);
}

int main() {
    std::thread first(get), second(set);
    first.join();
    second.join();
}
