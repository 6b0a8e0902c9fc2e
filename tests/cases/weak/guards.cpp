// check: --memory rc11
// verdict: verified
// executions: 4
// check: --memory tso
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DCALL_ONCE
// verdict: verified
// executions: 2

// Two threads use a static variable of a function. Either one initialises it; the other one finds by its first look
// or behind the lock that it is done. CALL_ONCE: either one calls the function.
#include <atomic>
#include <cassert>
#include <mutex>
#include <pthread.h>

static std::atomic<int> made;

struct Made {
    int value;
    Made() : value(7) { made.fetch_add(1, std::memory_order_relaxed); }
};

#ifdef CALL_ONCE
static std::once_flag flag;
static int value;

static int get() {
    std::call_once(flag, [] { value = 7; });
    return value;
}
#else
static int get() {
    static Made only;
    return only.value;
}
#endif

static void *use(void *arg) {
    assert(get() == 7);
    return arg;
}

int main() {
    pthread_t one, other;
    pthread_create(&one, nullptr, use, nullptr);
    pthread_create(&other, nullptr, use, nullptr);
    pthread_join(one, nullptr);
    pthread_join(other, nullptr);
    assert(made.load(std::memory_order_relaxed) <= 1);
    return 0;
}
