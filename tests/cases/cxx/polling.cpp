// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// Consumers that poll a queue under a std::mutex until there is something or they are told to stop.
#include <cassert>
#include <chrono>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>

std::mutex lock;
std::queue<int> items;
bool stopped;
int taken;

void consume()
{
    for (;;) {
        std::optional<int> item;
        {
            std::lock_guard guard(lock);
            if (!items.empty()) {
                item = items.front();
                items.pop();
                taken += *item;
            } else if (stopped) {
                return;
            }
        }
        if (!item)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int main()
{
    std::thread consumer(consume);
    for (int i = 1; i <= 2; i++) {
        std::lock_guard guard(lock);
        items.push(i);
    }
    {
        std::lock_guard guard(lock);
        stopped = true;
    }
    consumer.join();
    assert(taken == 3);
}
