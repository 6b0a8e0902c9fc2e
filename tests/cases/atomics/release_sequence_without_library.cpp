// compilers: gcc clang
// flags: -std=c++20
// check:
// verdict: bug
// finding: data-race var=message
// check: --memory rc11
// verdict: bug
// finding: data-race var=message

// In C++20 a relaxed store ends the release sequence that its own thread began, also in a program that uses nothing
// of the C++ library, and so is not linked with it.
#include <atomic>
#include <pthread.h>

static int message;
static std::atomic<int> flag;

static void *reader(void *arg) {
    if (flag.load(std::memory_order_acquire) == 2)
        return message == 1 ? arg : &message;
    return arg;
}

int main() {
    pthread_t thread;
    pthread_create(&thread, nullptr, reader, nullptr);
    message = 1;
    flag.store(1, std::memory_order_release);
    flag.store(2, std::memory_order_relaxed);
    pthread_join(thread, nullptr);
    return 0;
}
