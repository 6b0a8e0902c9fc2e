// check:
// verdict: verified

// A template queue with two condition variables, one producer, one consumer, two items.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

template <typename T>
class Slot {
public:
    void put(T value)
    {
        std::unique_lock lock(m);
        empty.wait(lock, [&] { return !content; });
        content = value;
        full.notify_one();
    }
    T take()
    {
        std::unique_lock lock(m);
        full.wait(lock, [&] { return content.has_value(); });
        T value = *content;
        content.reset();
        empty.notify_one();
        return value;
    }

private:
    std::mutex m;
    std::condition_variable empty, full;
    std::optional<T> content;
};

int main()
{
    Slot<int> slot;
    std::thread producer([&] {
        slot.put(1);
        slot.put(2);
    });
    assert(slot.take() == 1);
    assert(slot.take() == 2);
    producer.join();
}
